// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/credential"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// hearing keeps every request to a model.
type hearing struct {
	chat.Model
	// third is called at the third request.
	third    func()
	asked    atomic.Int32
	mu       sync.Mutex
	requests strings.Builder
}

func (h *hearing) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return chat.Answer{}, err
	}
	if h.asked.Add(1) == 3 {
		h.third()
	}
	h.mu.Lock()
	h.requests.Write(text)
	h.mu.Unlock()
	return h.Model.Complete(ctx, r)
}

// The values of a run's credentials, in any form, and the model's key, come out of tools, out of the model, out of a person's
// answer: no step, log line or request to the model has one of them.
func TestEngineShowsNoSecret(t *testing.T) {
	const value, modelKey, rotated = "s3cr3t/value+of=api", "model-key-0123456789", "the-value-after-it-was-rotated"
	forms := []string{
		value, base64.StdEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)), url.QueryEscape(value), modelKey,
	}
	printAll := "cat <<'END'\n" + strings.Join(forms, " ") + "\nEND\nenv"
	// The new value is put together by the program: the model cannot know it.
	printRotated := `{"command":"echo ` + rotated[:9] + "''" + rotated[9:] + `"}`
	r := newEngineRig(t, nil, mayReach("example.org"), func(run *v1alpha1.MotorRun) {
		run.Spec.Task = "use " + value
		run.Spec.Limits.MaxIterations = 3
		run.Spec.Credentials = []v1alpha1.Credential{
			{Name: "api_key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, Hosts: []v1alpha1.Domain{"example.org"}},
		}
	})
	arguments, err := json.Marshal(map[string]string{"command": printAll})
	must(t, err)
	key := func(v string) egressgrant.Credential {
		return egressgrant.Credential{Name: "api_key", Hosts: []string{"example.org"}, Slot: "Bearer", Value: secret.New([]byte(v))}
	}
	model := &hearing{third: func() { r.writeGrant(r.grantOf(1, key(rotated))) }, Model: &stubModel{answers: []chat.Answer{
		{Model: value, Content: printAll, Calls: []turn.Call{call("bash", string(arguments)), call(value, value)}},
		says("", call("ask_user", `{"question":"Is it `+value+`?"}`)),
		{Content: strings.Join(forms, ","), Calls: []turn.Call{call("read", `{"path":"`+value+`"}`), call("bash", printRotated)}},
	}}}
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1, key(value)))
	r.showEgress(proxy.address, 1, "example.org")
	log, stop := r.startEgressEngine("worker-1", func(e *engine.Engine) {
		e.Models.Default.APIKey = secret.New(modelKey)
		e.NewModel = func(cortex.Endpoint) (chat.Model, error) { return model, nil }
	})
	asked := r.pending()
	respond(r.ctx, t, r.run, asked.ID, "yes, "+value)
	r.inEffect()
	steps := r.steps(journalEnded)
	stop()

	stored, err := json.Marshal(steps)
	must(t, err)
	for i, form := range append(forms, rotated, r.token(1), r.handle("api_key")) {
		for where, text := range map[string]string{"journal": string(stored), "log": log.String(), "requests": model.requests.String()} {
			if strings.Contains(text, form) {
				t.Errorf("form %d is in the %s", i, where)
			}
		}
	}
	if !strings.Contains(string(stored), `credential:api_key`) || !strings.Contains(string(stored), `credential:model-api-key`) {
		t.Error("nothing was found to be hidden")
	}
}

func saves(arguments string) []chat.Answer {
	return []chat.Answer{
		says("", call("bash", `{"command":"printf 'tok-0123456789\\n' > token; printf short > short; printf 'a b\\nc d e f g h' > lines; head -c 5000 /dev/zero | tr '\\0' x > long"}`)),
		says("", call("save_credential", arguments)),
		says("", call("bash", `{"command":"cat token"}`)),
		says("done"),
	}
}

func maySave(run *v1alpha1.MotorRun) {
	run.Spec.Tools = append(run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSaveCredential))
}

const saveToken = `{"name":"site_token","path":"token","hosts":["api.example.org"]}`

// newSavingRig has a run that may reach *.example.org.
func newSavingRig(t *testing.T, arguments string, change ...func(*v1alpha1.MotorRun)) *engineRig {
	r := newEngineRig(t, &stubModel{answers: saves(arguments)}, append(change, mayReach("*.example.org"))...)
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "*.example.org")
	return r
}

func TestEngineSavesACredential(t *testing.T) {
	r := newSavingRig(t, saveToken, maySave)
	log, _ := r.startEgressEngine("worker-1")
	steps := r.ended(3)
	if res := resultAt(t, steps, 1, 0); !res.OK || !strings.Contains(res.Output, "motorcortex-credential-site-token") {
		t.Fatalf("the result is %+v", res)
	}
	s, err := r.secretOf("motorcortex-credential-site-token")
	must(t, err)
	if s.Type != credential.SecretType || string(s.Data["value"]) != "tok-0123456789" || s.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential ||
		s.Annotations["motorcortex.dev/hosts"] != "api.example.org" || s.Annotations["motorcortex.dev/credential-name"] != "site_token" ||
		s.Annotations["motorcortex.dev/saved-by-run"] != r.run.Name+"/"+string(r.run.UID) || len(s.OwnerReferences) != 0 {
		t.Errorf("the Secret has the labels %v and the annotations %v", s.Labels, s.Annotations)
	}
	if res := resultAt(t, steps, 2, 0); res.Output != "<credential:site_token>\n" {
		t.Error("the value is shown after it was saved")
	}
	if strings.Contains(log.String(), "tok-0123456789") {
		t.Error("the log has the value")
	}
}

func TestEngineSavesOverItsOwnOnly(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]string{"saved by the run": "itself", "saved by another run": "other/uid", "somebody's": ""} {
		own := by == "itself"
		t.Run(name, func(t *testing.T) {
			r := newSavingRig(t, saveToken, maySave)
			s := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.run.Namespace, Name: "motorcortex-credential-site-token"},
				Data:       map[string][]byte{"value": []byte("before")},
			}
			if by != "" {
				s.Type, s.Labels = credential.SecretType, map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential}
				s.Annotations = map[string]string{"motorcortex.dev/saved-by-run": by}
			}
			if own {
				s.Annotations["motorcortex.dev/saved-by-run"] = r.run.Name + "/" + string(r.run.UID)
			}
			must(t, admin.Create(r.ctx, s))
			r.startEgressEngine("worker-1")
			steps := r.ended(2)
			want, code := "tok-0123456789", ""
			if !own {
				want, code = "before", toolapi.CodeCredentialRefused
			}
			if res := resultAt(t, steps, 1, 0); res.ErrorCode != code {
				t.Errorf("the result is %+v", res)
			}
			got, err := r.secretOf(s.Name)
			must(t, err)
			if string(got.Data["value"]) != want {
				t.Error("the Secret has another value")
			}
		})
	}
}

func TestEngineSavesNoOther(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments, code string
		change          func(*v1alpha1.MotorRun)
	}{
		"not granted":    {saveToken, toolapi.CodeToolNotGranted, func(*v1alpha1.MotorRun) {}},
		"another host":   {`{"name":"site_token","path":"token","hosts":["example.com"]}`, toolapi.CodeCredentialRefused, maySave},
		"the apex":       {`{"name":"site_token","path":"token","hosts":["example.org"]}`, toolapi.CodeCredentialRefused, maySave},
		"a bad name":     {`{"name":"Site-Token","path":"token","hosts":["api.example.org"]}`, toolapi.CodeInvalidArguments, maySave},
		"no such file":   {`{"name":"site_token","path":"nowhere","hosts":["api.example.org"]}`, toolapi.CodeNotFound, maySave},
		"out of it":      {`{"name":"site_token","path":"../../etc/passwd","hosts":["api.example.org"]}`, toolapi.CodeCredentialRefused, maySave},
		"too short":      {`{"name":"site_token","path":"short","hosts":["api.example.org"]}`, toolapi.CodeCredentialRefused, maySave},
		"several lines":  {`{"name":"site_token","path":"lines","hosts":["api.example.org"]}`, toolapi.CodeCredentialRefused, maySave},
		"too long":       {`{"name":"site_token","path":"long","hosts":["api.example.org"]}`, toolapi.CodeTooLarge, maySave},
		"a lent one":     {`{"name":"site_token","path":"handle","hosts":["api.example.org"]}`, toolapi.CodeCredentialRefused, maySave},
		"no host at all": {`{"name":"site_token","path":"token","hosts":[]}`, toolapi.CodeInvalidArguments, maySave},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSavingRig(t, tt.arguments, tt.change, func(run *v1alpha1.MotorRun) {
				run.Spec.Credentials = []v1alpha1.Credential{{
					Name: "api_key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, Hosts: []v1alpha1.Domain{"api.example.org"},
				}}
			})
			r.model.answers[0].Calls = append(r.model.answers[0].Calls, call("bash", `{"command":"printf 'Bearer %s\\n' \"$API_KEY\" > handle"}`))
			r.writeGrant(r.grantOf(1, egressgrant.Credential{
				Name: "api_key", Hosts: []string{"api.example.org"}, Slot: "Bearer", Value: secret.New([]byte("sk-0123456789")),
			}))
			r.startEgressEngine("worker-1")
			steps := r.ended(2)
			if res := resultAt(t, steps, 1, 0); res.OK || res.ErrorCode != tt.code || res.Output == "" {
				t.Errorf("the result is %+v", res)
			}
			if _, err := r.secretOf("motorcortex-credential-site-token"); err == nil {
				t.Error("a Secret was written")
			}
		})
	}
}

// The manager ends when the Secret is written and the journal does not say so.
func TestEngineSavesAgainAfterACrash(t *testing.T) {
	r := newSavingRig(t, saveToken, maySave)
	var broken atomic.Bool
	broken.Store(true)
	saved := make(chan struct{})
	once := sync.OnceFunc(func() { close(saved) })
	_, stop := r.startEgressEngine("worker-1", func(e *engine.Engine) {
		e.Client = settlesThrough{e.Client, func() error {
			if _, err := r.secretOf("motorcortex-credential-site-token"); err == nil && broken.Load() {
				once()
				return errors.New("the manager is about to end")
			}
			return nil
		}}
	})
	<-saved
	stop()
	broken.Store(false)
	r.giveTo("worker-2", 2)
	r.writeGrant(r.grantOf(1))
	r.startEgressEngine("worker-2")
	steps := r.ended(3)
	if res := resultAt(t, steps, 1, 0); !res.OK {
		t.Errorf("the result is %+v", res)
	}
	s, err := r.secretOf("motorcortex-credential-site-token")
	must(t, err)
	if string(s.Data["value"]) != "tok-0123456789" {
		t.Error("the Secret has another value")
	}
	if res := resultAt(t, steps, 2, 0); res.Output != "<credential:site_token>\n" {
		t.Error("the value is shown")
	}
}

// What a former loop saved is hidden from the first answer on.
func TestEngineKnowsWhatTheRunHasSaved(t *testing.T) {
	r := newSavingRig(t, saveToken, maySave)
	model := r.model
	model.hold = nil
	_, stop := r.startEgressEngine("worker-1", func(e *engine.Engine) {
		e.NewModel = func(cortex.Endpoint) (chat.Model, error) { return stopsAt{model, 2}, nil }
	})
	r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 2 && s[1].Status.OK == "1/1" })
	stop()
	r.giveTo("worker-2", 2)
	r.startEgressEngine("worker-2")
	steps := r.ended(3)
	if res := resultAt(t, steps, 2, 0); res.Output != "<credential:site_token>\n" {
		t.Error("the value is shown")
	}
}

// stopsAt answers no more than so many times.
type stopsAt struct {
	*stubModel
	times int32
}

func (s stopsAt) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	if s.asked.Load() >= s.times {
		<-ctx.Done()
		return chat.Answer{}, fmt.Errorf("no more: %w", ctx.Err())
	}
	return s.stubModel.Complete(ctx, r)
}

// settlesThrough lets every settling of a step be decided by a function.
type settlesThrough struct {
	client.Client
	decide func() error
}

func (c settlesThrough) Status() client.SubResourceWriter {
	return settles{c.Client.Status(), c.decide}
}

type settles struct {
	client.SubResourceWriter
	decide func() error
}

func (s settles) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.decide(); err != nil {
		return err
	}
	return s.SubResourceWriter.Patch(ctx, o, p, opts...)
}
