// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func hexSum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func bashCall(command string) turn.Call {
	return call("bash", fmt.Sprintf(`{"command":%q}`, command))
}

// withSaveArtifact grants the tool.
func withSaveArtifact(run *v1alpha1.MotorRun) {
	run.Spec.Tools = append(run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSaveArtifact))
}

// configMaps are the contents of the run's ConfigMaps by name. It fails the test if one is not as those of artifacts are.
func (r *engineRig) configMaps() map[string]string {
	r.t.Helper()
	var list corev1.ConfigMapList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.run.Namespace), client.MatchingLabels{
		v1alpha1.LabelRun: r.run.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelComponent: v1alpha1.ComponentArtifact,
	}))
	contents := map[string]string{}
	for _, cm := range list.Items {
		if !metav1.IsControlledBy(&cm, r.run) || cm.Immutable == nil || !*cm.Immutable || cm.Annotations[v1alpha1.AnnotationPath] == "" {
			r.t.Errorf("ConfigMap %+v", cm.ObjectMeta)
		}
		contents[cm.Name] = cm.Data["content"] + string(cm.BinaryData["content"])
	}
	return contents
}

// wantKept compares the list with path=content of what is kept, path!reason of what is not, and what is kept with the
// ConfigMaps that there are.
func (r *engineRig) wantKept(list *v1alpha1.ArtifactList, want ...string) {
	r.t.Helper()
	if list == nil {
		list = &v1alpha1.ArtifactList{}
	}
	contents, got := r.configMaps(), []string{}
	for _, a := range list.Files {
		content, found := contents[a.ConfigMapName]
		delete(contents, a.ConfigMapName)
		switch {
		case a.Skipped != "":
			got = append(got, a.Path+"!"+string(a.Skipped))
			if a.ConfigMapName != "" || a.SHA256 != "" {
				r.t.Errorf("%s is not kept, and yet has %+v", a.Path, a)
			}
			continue
		case !found || a.SHA256 != hexSum(content) || a.Size != int64(len(content)):
			r.t.Errorf("%s: %+v", a.Path, a)
		}
		got = append(got, a.Path+"="+content[:min(len(content), 20)])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	if len(contents) > 0 {
		r.t.Errorf("there are other ConfigMaps: %v", contents)
	}
}

func TestEngineCollectsArtifactsAtPauseAndEnd(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("mkdir -p artifacts/sub; echo one > artifacts/one.txt; echo same > artifacts/sub/same.md; ln -s one.txt artifacts/link; mkfifo artifacts/pipe; echo extra > result.csv"),
			call("save_artifact", `{"path":"result.csv"}`)),
		says("", call("ask_user", `{"question":"Is that right?"}`)),
		says("", bashCall("echo two > artifacts/one.txt; rm artifacts/link artifacts/pipe")),
		says("That was all."),
	}}, withSaveArtifact)
	r.startEngine("worker-1", nil)
	steps := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 2 && s[1].Status.Artifacts != nil })
	atPause := steps[1].Status.Artifacts
	r.wantKept(atPause, "artifacts/link!NotRegular", "artifacts/one.txt=one\n", "artifacts/pipe!NotRegular", "artifacts/sub/same.md=same\n", "result.csv=extra\n")
	p := runpolicy.ReadJournal(r.run, steps)
	if p.Pending == nil || p.Artifacts != atPause {
		t.Fatalf("the journal says %+v", p)
	}
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.PendingInputs = v1alpha1.PendingList(p.Pending) })
	respond(r.ctx, t, r.run, p.Pending.ID, "yes")

	steps = r.ended(4)
	if diff := cmp.Diff(atPause, steps[1].Status.Artifacts); diff != "" || resultAt(t, steps, 1, 0).Output != "The person replied: yes" {
		t.Errorf("the answer changed what was noted: %s", diff)
	}
	list := steps[3].Status.Artifacts
	r.waitFor(func() bool { return len(r.configMaps()) == 3 })
	r.wantKept(list, "artifacts/one.txt=two\n", "artifacts/sub/same.md=same\n", "result.csv=extra\n")
	same := func(a v1alpha1.Artifact) bool { return a.Path == "artifacts/sub/same.md" }
	was, is := atPause.Files[slices.IndexFunc(atPause.Files, same)], list.Files[slices.IndexFunc(list.Files, same)]
	if was != is || is.MediaType != "text/markdown" || is.Provenance != "Internal" {
		t.Errorf("what did not change was %+v and is %+v", was, is)
	}
}

func TestEngineCollectsNothingWhereThereIsNothing(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall("mkdir node_modules; echo x > node_modules/file")), says("done")}})
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	if steps[1].Status.Artifacts != nil || runpolicy.ReadJournal(r.run, steps).Artifacts != nil {
		t.Errorf("the step has %+v", steps[1].Status.Artifacts)
	}
}

func TestEngineCollectsWhatAFailedAttemptLeaves(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("mkdir artifacts; echo half > artifacts/report.txt")),
		says("", bashCall("true")),
	}}, func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 2 })
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	last := steps[len(steps)-1]
	if last.Spec.Outcome == nil || last.Spec.Outcome.Reason != outcome.ReasonMaxIterations {
		t.Fatalf("the journal ends with %+v", last)
	}
	r.wantKept(last.Status.Artifacts, "artifacts/report.txt=half\n")
}

// A sandbox that is gone leaves what was collected before.
func TestEngineKeepsWhatItHasOfALostSandbox(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("mkdir artifacts; echo first > artifacts/a"), call("ask_user", `{"question":"Go on?"}`)),
		says("", bashCall("echo second > artifacts/a; touch ready; sleep 60")),
	}})
	r.startEngineWith("worker-1", func(e *engine.Engine) {
		// It holds while the clock runs fast.
		e.Config.Sandbox.ConnectTimeout, e.Config.LeaseDuration = 500*time.Millisecond, 100*time.Hour
	})
	steps := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 1 && s[0].Status.Artifacts != nil })
	respond(r.ctx, t, r.run, runpolicy.ReadJournal(r.run, steps).Pending.ID, "yes")
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "ready"))
	r.killSandbox()
	steps = r.steps(func(s []v1alpha1.MotorStep) bool {
		r.skipped.Add(int64(time.Second))
		return journalEnded(s)
	})
	if o := steps[len(steps)-1].Spec.Outcome; o == nil || o.Reason != outcome.ReasonSandboxLost {
		t.Fatalf("the journal is %+v", steps)
	}
	r.wantKept(runpolicy.ReadJournal(r.run, steps).Artifacts, "artifacts/a=first\n")
}

// leak looks like a key of AWS, and is none.
const leak = "AKIAYRWSSQ3BPTB4DX7Z"

func TestEngineKeepsNoSecrets(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall(`mkdir artifacts; printf 'a\nb\nkey = `+leak[:10]+`' > artifacts/leak.txt; printf `+leak[10:]+` >> artifacts/leak.txt; echo fine > artifacts/fine.txt`),
			call("save_artifact", `{"path":"artifacts/leak.txt"}`), call("save_artifact", `{"path":"artifacts/fine.txt"}`)),
		says("done"),
	}}, withSaveArtifact)
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	refused := resultAt(t, steps, 0, 1)
	if refused.OK || refused.ErrorCode != toolapi.CodeSecretFound || !strings.Contains(refused.Output, "aws-access-token, line 3") || strings.Contains(refused.Output, leak) {
		t.Errorf("saving a secret gives %+v", refused)
	}
	if r := resultAt(t, steps, 0, 2); !r.OK || !strings.Contains(r.Output, hexSum("fine\n")) {
		t.Errorf("saving another file gives %+v", r)
	}
	list := steps[1].Status.Artifacts
	r.wantKept(list, "artifacts/fine.txt=fine\n", "artifacts/leak.txt!SecretFound")
	if m := list.Files[1].Message; m != "aws-access-token, line 3" {
		t.Errorf("it says %q", m)
	}
}

// A model's API key is hidden wherever it turns up, so it is kept nowhere.
func TestEngineKeepsNoCredentials(t *testing.T) {
	const key = "horse-battery-staple-77"
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		// The key comes in parts, or it would be hidden in the arguments.
		says("", bashCall("mkdir artifacts; printf %s%s horse-battery -staple-77 > artifacts/key; touch artifacts/$(cat artifacts/key)")),
		says("done"),
	}})
	must(t, admin.Create(r.ctx, &corev1.Secret{ObjectMeta: meta(r.run.Namespace, "it"), StringData: map[string]string{"key": key}}))
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(r.run.Namespace, v1alpha1.CortexName)}
	cortex.Spec.Models.Motor = &v1alpha1.ModelEndpoint{
		BaseURL: "https://model.example.org/v1", Model: "m", APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "it", Key: "key"}, Finish: v1alpha1.FinishText,
	}
	must(t, admin.Create(r.ctx, cortex))
	r.startEngine("worker-1", nil)
	list := r.ended(2)[1].Status.Artifacts
	r.wantKept(list, "artifacts/<credential:model-api-key>!SecretFound", "artifacts/key!SecretFound")
	if m := list.Files[1].Message; m != "credential" {
		t.Errorf("it says %q", m)
	}
}

func TestEngineLimitsArtifacts(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("mkdir artifacts; for n in 1 2 3 4 5 6; do head -c 1048576 /dev/zero > artifacts/$n; done; head -c 1048577 /dev/zero > artifacts/7; truncate -s 10G artifacts/8; : > artifacts/9; for n in $(seq 100 140); do echo $n > artifacts/b$n; done"),
			call("save_artifact", `{"path":"artifacts/7"}`)),
		says("done"),
	}}, withSaveArtifact)
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	if res := resultAt(t, steps, 0, 1); res.ErrorCode != toolapi.CodeTooLarge || !strings.Contains(res.Output, "no bucket") {
		t.Errorf("saving what is too large gives %+v", res)
	}
	list := steps[1].Status.Artifacts
	if len(list.Files) != toolapi.MaxArtifacts || list.Omitted != 50-toolapi.MaxArtifacts {
		t.Errorf("%d are listed and %d are not", len(list.Files), list.Omitted)
	}
	zeros := strings.Repeat("\x00", 20)
	want := []string{"artifacts/1=" + zeros, "artifacts/2=" + zeros, "artifacts/3=" + zeros, "artifacts/4=" + zeros, "artifacts/5=" + zeros, "artifacts/6!LimitReached", "artifacts/7!TooLarge"}
	want = append(want, "artifacts/8!TooLarge", "artifacts/9=")
	r.wantKept(&v1alpha1.ArtifactList{Files: slices.Clone(list.Files[:len(want)])}, want...)
	if next := list.Files[len(want)]; next.Path != "artifacts/b100" || next.Skipped != v1alpha1.SkippedLimitReached {
		t.Errorf("the next is %+v", next)
	}
}

// fileBucket is a bucket in a folder.
func fileBucket(t *testing.T) (*bucket.Bucket, string) {
	t.Helper()
	folder := t.TempDir()
	b, err := bucket.Open(t.Context(), "file://"+folder)
	must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b, folder
}

func TestEngineKeepsLargeArtifactsInTheBucket(t *testing.T) {
	store, folder := fileBucket(t)
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall(`mkdir artifacts; echo small > artifacts/small; seq 300000 > artifacts/large; (seq 200000; printf 'key = `+leak[:10]+`%s' `+leak[10:]+`) > artifacts/leak`)),
		says("done"),
	}})
	r.startEngineWith("worker-1", func(e *engine.Engine) { e.Artifacts = store })
	list := r.ended(2)[1].Status.Artifacts
	if len(list.Files) != 3 {
		t.Fatalf("%+v", list)
	}
	large, leaks := list.Files[0], list.Files[1]
	content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(large.ObjectKey)))
	must(t, err)
	if want := "_artifacts/" + r.run.Namespace + "/" + string(r.run.UID) + "/" + hexSum(string(content)); large.ObjectKey != want || large.Size != int64(len(content)) || large.SHA256 != hexSum(string(content)) {
		t.Errorf("the large one is %+v", large)
	}
	if leaks.Skipped != v1alpha1.SkippedSecretFound || leaks.Message != "aws-access-token, line 200001" {
		t.Errorf("the one with a secret is %+v", leaks)
	}
	kept, err := filepath.Glob(filepath.Join(folder, "_artifacts", "*", "*", "*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the bucket has %v (%v)", kept, err)
	}
	r.wantKept(&v1alpha1.ArtifactList{Files: list.Files[2:]}, "artifacts/small=small\n")
}

// The manager is killed between the record of the end and that of what the run leaves behind.
func TestEngineCollectsAgainAfterARestart(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall("mkdir artifacts; echo x > artifacts/a")), says("done")}})
	r.await(r.startDoomed("worker-1", attempt.AfterIntent, 2))
	if s := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 2 }); s[1].Status.Closed != nil || len(r.configMaps()) != 0 {
		t.Fatalf("kept before the end is recorded: %v", r.configMaps())
	}
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	steps := r.ended(2)
	r.wantKept(steps[1].Status.Artifacts, "artifacts/a=x\n")
}

// A foreign ConfigMap of the name is neither believed nor touched, and a quota ends no run.
func TestEngineGoesOnWhereTheClusterTakesNothing(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall("mkdir artifacts; echo x > artifacts/a; echo y > artifacts/b")), says("done")}})
	var creates atomic.Int32
	r.startEngine("worker-1", func(c client.Client) client.Client {
		return configMapCreates{c, func(cm *corev1.ConfigMap) error {
			if creates.Add(1) == 1 {
				return apierrors.NewForbidden(corev1.Resource("configmaps"), cm.Name, fmt.Errorf("exceeded quota"))
			}
			foreign := &corev1.ConfigMap{ObjectMeta: meta(cm.Namespace, cm.Name), Data: cm.Data, BinaryData: cm.BinaryData}
			return admin.Create(r.ctx, foreign)
		}}
	})
	list := r.ended(2)[1].Status.Artifacts
	r.wantKept(list, "artifacts/a!NotStored", "artifacts/b!NotStored")
	if !strings.Contains(list.Files[0].Message, "exceeded quota") || !strings.Contains(list.Files[1].Message, "there is another ConfigMap") {
		t.Errorf("%+v", list.Files)
	}
}

// A store that fails at each try costs the artifact, which the list names, and not the run, whose end is recorded before.
func TestEngineEndsARunWhoseArtifactsCannotBeStored(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall("mkdir artifacts; echo x > artifacts/a")), says("All done.")}})
	var creates, early atomic.Int32
	r.startEngine("worker-1", func(c client.Client) client.Client {
		return configMapCreates{c, func(*corev1.ConfigMap) error {
			var list v1alpha1.MotorStepList
			must(t, admin.List(r.ctx, &list, client.InNamespace(r.run.Namespace)))
			if len(list.Items) < 2 {
				early.Add(1)
			}
			creates.Add(1)
			return apierrors.NewInternalError(fmt.Errorf("failed calling webhook"))
		}}
	})
	steps := r.steps(journalEnded)
	if last := steps[1]; !last.Spec.Final || last.Spec.Content != "All done." || last.Status.Phase != v1alpha1.StepSettled {
		t.Errorf("the last step is %+v", last)
	}
	list := steps[1].Status.Artifacts
	r.wantKept(list, "artifacts/a!NotStored")
	if m := list.Files[0].Message; !strings.Contains(m, "failed calling webhook") || creates.Load() < 2 || early.Load() > 0 {
		t.Errorf("it says %q after %d tries, %d of them before the end was recorded", m, creates.Load(), early.Load())
	}
}

// loops goes on until it is ended, and writes its process id.
const loops = "echo $$ > pid; while :; do sleep 0.05; done"

// What a run leaves behind is kept at every end, also at one that the controller decides while a call runs or a person is asked.
func TestEngineLooksOnceMoreAtARunThatEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer chat.Answer
		until  func([]v1alpha1.MotorStep) bool
		phase  v1alpha1.StepPhase
	}{
		"while a call runs": {
			says("", bashCall("mkdir artifacts; echo half > artifacts/a; touch ready; "+loops), bashCall("true")), nil, v1alpha1.StepClosed,
		},
		"while a person is asked": {
			says("", bashCall("mkdir artifacts; echo half > artifacts/a; touch ready"), call("ask_user", `{"question":"Go on?"}`)),
			func(s []v1alpha1.MotorStep) bool { return len(s) == 1 && s[0].Status.Artifacts != nil }, v1alpha1.StepClosed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{tt.answer}}, func(run *v1alpha1.MotorRun) { run.Spec.Keep = v1alpha1.KeepArtifacts })
			r.startEngine("worker-1", nil)
			waitForFile(r.ctx, t, filepath.Join(r.workspace, "ready"))
			if s := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 1 }); s[0].Status.Phase != v1alpha1.StepInFlight {
				t.Errorf("while it runs the step is %q", s[0].Status.Phase)
			}
			if tt.until != nil {
				r.steps(tt.until)
			}
			must(t, os.WriteFile(filepath.Join(r.workspace, "artifacts", "b"), []byte("late"), 0o644))
			r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
				st.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCancelled}
			})
			steps := r.steps(func(s []v1alpha1.MotorStep) bool { return s[0].Status.Closed != nil })
			if len(steps) != 1 || steps[0].Status.Phase != tt.phase || steps[0].Status.Closed.Problem != "" {
				t.Errorf("the journal is %+v", steps)
			}
			r.wantKept(steps[0].Status.Artifacts, "artifacts/a=half\n", "artifacts/b=late")
			if tt.until != nil {
				return
			}
			pid, err := os.ReadFile(filepath.Join(r.workspace, "pid"))
			must(t, err)
			// A process that was killed is there until its parent was told.
			must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
				stat, _ := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
				return len(stat) == 0 || strings.Contains(string(stat), ") Z "), nil
			}))
		})
	}
}

// configMapCreates does something before each ConfigMap that is created through it.
type configMapCreates struct {
	client.Client
	before func(*corev1.ConfigMap) error
}

func (c configMapCreates) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if cm, ok := o.(*corev1.ConfigMap); ok {
		if err := c.before(cm); err != nil {
			return err
		}
	}
	return c.Client.Create(ctx, o, opts...)
}
