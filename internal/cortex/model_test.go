// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
)

// reader holds the objects of the namespace ns, or fails.
type reader struct {
	client.Reader
	cortex  *v1alpha1.MotorCortex
	secrets map[string]map[string]string
	err     error
}

func (r reader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	notFound := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	switch o := o.(type) {
	case *v1alpha1.MotorCortex:
		if r.cortex == nil || key.Namespace != "ns" || key.Name != "default" {
			return errors.Join(r.err, notFound)
		}
		r.cortex.DeepCopyInto(o)
		return r.err
	case *corev1.Secret:
		if r.err != nil {
			return r.err
		}
		data, ok := r.secrets[key.Name]
		if !ok || key.Namespace != "ns" {
			return notFound
		}
		o.Data = map[string][]byte{}
		for k, v := range data {
			o.Data[k] = []byte(v)
		}
		return nil
	}
	return errors.New("not asked for")
}

func ref(name, key string) *v1alpha1.SecretKeyRef {
	return &v1alpha1.SecretKeyRef{Name: name, Key: key}
}

// plain is an Endpoint that a failing test may print.
type plain struct{ BaseURL, Model, Key string }

func TestResolve(t *testing.T) {
	t.Parallel()
	const mine, theirs = "https://manager.example.org/v1", "https://theirs.example.org/v1"
	whole := Endpoint{BaseURL: mine, Model: "model-0", APIKey: secret.New("manager-key")}
	secrets := map[string]map[string]string{"keys": {"a": " their-key\r\n", "empty": "", "blank": " \n\t"}}
	type set = v1alpha1.ModelSet
	type end = v1alpha1.ModelEndpoint
	tests := map[string]struct {
		builtIn Endpoint
		models  *set
		runs    string
		want    plain
		problem string
		says    []string
	}{
		"the manager's":                  {builtIn: whole, want: plain{mine, "model-0", "manager-key"}},
		"an empty MotorCortex":           {builtIn: whole, models: &set{}, want: plain{mine, "model-0", "manager-key"}},
		"the manager's without a key":    {builtIn: Endpoint{BaseURL: mine, Model: "m"}, want: plain{mine, "m", ""}},
		"the run's model":                {builtIn: whole, runs: "mine", want: plain{mine, "mine", "manager-key"}},
		"the run's model, none in all":   {builtIn: Endpoint{BaseURL: mine}, runs: "mine", want: plain{mine, "mine", ""}},
		"motor first":                    {builtIn: whole, models: &set{Motor: &end{Model: "m"}, Fast: &end{Model: "f"}, Default: &end{Model: "d"}}, want: plain{mine, "m", "manager-key"}},
		"then fast":                      {builtIn: whole, models: &set{Fast: &end{Model: "f"}, Default: &end{Model: "d"}}, want: plain{mine, "f", "manager-key"}},
		"then default":                   {builtIn: whole, models: &set{Default: &end{Model: "d"}}, want: plain{mine, "d", "manager-key"}},
		"another endpoint, no key":       {builtIn: whole, models: &set{Motor: &end{Model: "m", BaseURL: theirs}}, want: plain{theirs, "m", ""}},
		"the same endpoint, spelled out": {builtIn: whole, models: &set{Motor: &end{Model: "m", BaseURL: mine}}, want: plain{mine, "m", ""}},
		"another endpoint, its key": {
			builtIn: whole, models: &set{Motor: &end{Model: "m", BaseURL: theirs, APIKeySecretRef: ref("keys", "a")}}, want: plain{theirs, "m", "their-key"},
		},
		"a key for the manager's endpoint": {builtIn: whole, models: &set{Motor: &end{Model: "m", APIKeySecretRef: ref("keys", "a")}}, want: plain{mine, "m", "their-key"}},
		"another endpoint, the run's model": {
			builtIn: whole, models: &set{Motor: &end{Model: "m", BaseURL: theirs}}, runs: "mine", want: plain{theirs, "mine", ""},
		},

		"nothing at all": {problem: "ModelNotConfigured", says: []string{"No model endpoint", "motorcortex-model", "OPENAI_BASE_URL"}},
		"no model":       {builtIn: Endpoint{BaseURL: mine}, problem: "ModelNotConfigured", says: []string{"No model is configured", "spec.model.name"}},
		"no endpoint":    {models: &set{Motor: &end{Model: "m", APIKeySecretRef: ref("missing", "a")}}, problem: "ModelNotConfigured", says: []string{"No model endpoint"}},
		"no Secret": {
			builtIn: whole, models: &set{Motor: &end{Model: "m", APIKeySecretRef: ref("missing", "a")}}, problem: "ModelSecretNotFound", says: []string{"missing", "namespace ns", "key a"},
		},
		"no such key": {
			builtIn: whole, models: &set{Fast: &end{Model: "m", BaseURL: theirs, APIKeySecretRef: ref("keys", "b")}}, problem: "ModelSecretKeyMissing", says: []string{"keys", "key b"},
		},
		"an empty key":    {builtIn: whole, models: &set{Fast: &end{Model: "m", APIKeySecretRef: ref("keys", "empty")}}, problem: "ModelSecretKeyMissing"},
		"a key of blanks": {builtIn: whole, models: &set{Fast: &end{Model: "m", APIKeySecretRef: ref("keys", "blank")}}, problem: "ModelSecretKeyMissing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader{secrets: secrets}
			if tt.models != nil {
				r.cortex = &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Models: *tt.models}}
			}
			run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
			if tt.runs != "" {
				run.Spec.Model = &v1alpha1.RunModel{Name: tt.runs}
			}
			e, err := Resolver{Cortex: r, Secrets: r, Default: tt.builtIn}.Resolve(t.Context(), run)
			if tt.problem != "" {
				p, ok := AsProblem(err)
				if !ok || p.Reason != tt.problem {
					t.Fatalf("got %v, want %s", err, tt.problem)
				}
				for _, part := range tt.says {
					if !strings.Contains(p.Message, part) {
						t.Errorf("the message does not say %q: %s", part, p.Message)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Namespace != "ns" {
				t.Errorf("it is asked for namespace %q", e.Namespace)
			}
			if diff := cmp.Diff(tt.want, plain{e.BaseURL, e.Model, e.APIKey.RevealText()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestResolveFast(t *testing.T) {
	t.Parallel()
	whole := Endpoint{BaseURL: "https://manager.example.org/v1", Model: "model-0", APIKey: secret.New("manager-key")}
	motor, fast, other := &v1alpha1.ModelEndpoint{Model: "m"}, &v1alpha1.ModelEndpoint{Model: "f"}, &v1alpha1.ModelEndpoint{Model: "d"}
	for name, tt := range map[string]struct {
		models  v1alpha1.ModelSet
		want    string
		problem string
	}{
		"fast first":         {v1alpha1.ModelSet{Motor: motor, Fast: fast, Default: other}, "f", ""},
		"then default":       {v1alpha1.ModelSet{Motor: motor, Default: other}, "d", ""},
		"then motor":         {v1alpha1.ModelSet{Motor: motor}, "m", ""},
		"then the manager's": {v1alpha1.ModelSet{}, "model-0", ""},
		"its key is missing": {v1alpha1.ModelSet{Motor: motor, Fast: &v1alpha1.ModelEndpoint{Model: "f", APIKeySecretRef: ref("missing", "a")}}, "", "ModelSecretNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader{cortex: &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Models: tt.models}}}
			e, err := Resolver{Cortex: r, Secrets: r, Default: whole}.ResolveFast(t.Context(), "ns")
			if p, ok := AsProblem(err); ok != (tt.problem != "") || ok && p.Reason != tt.problem {
				t.Fatalf("got %v, want %q", err, tt.problem)
			}
			if e.Model != tt.want {
				t.Errorf("got %q, want %q", e.Model, tt.want)
			}
		})
	}
}

// The manager's key is never sent to an address that a namespace chose, whatever else it configures.
func TestManagersKeyGoesNowhereElse(t *testing.T) {
	t.Parallel()
	whole := Endpoint{BaseURL: "https://manager.example.org/v1", Model: "model-0", APIKey: secret.New("manager-key")}
	for _, motor := range []v1alpha1.ModelEndpoint{
		{Model: "m", BaseURL: "https://theirs.example.org/v1"},
		{Model: "m", BaseURL: "https://manager.example.org/v1@theirs.example.org"},
		{Model: "m", BaseURL: "https://theirs.example.org/v1", APIKeySecretRef: ref("missing", "a")},
		{Model: "m", BaseURL: "https://theirs.example.org/v1", APIKeySecretRef: ref("keys", "missing")},
	} {
		r := reader{
			cortex:  &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Models: v1alpha1.ModelSet{Motor: &motor}}},
			secrets: map[string]map[string]string{"keys": {}},
		}
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: v1alpha1.MotorRunSpec{Model: &v1alpha1.RunModel{Name: "mine"}}}
		e, _ := Resolver{Cortex: r, Secrets: r, Default: whole}.Resolve(t.Context(), run)
		if !e.APIKey.IsEmpty() {
			t.Errorf("%s gets a key", motor.BaseURL)
		}
	}
}

// A transient error is no Problem: no person has to change the configuration.
func TestResolveErrors(t *testing.T) {
	t.Parallel()
	away := errors.New("the API server is away")
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	cortex := &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Models: v1alpha1.ModelSet{
		Motor: &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://h/v1", APIKeySecretRef: ref("keys", "a")},
	}}}
	for name, r := range map[string]Resolver{
		"MotorCortex": {Cortex: reader{cortex: cortex, err: away}, Secrets: reader{}},
		"Secret":      {Cortex: reader{cortex: cortex}, Secrets: reader{err: away}},
		"forbidden":   {Cortex: reader{cortex: cortex}, Secrets: reader{err: apierrors.NewForbidden(schema.GroupResource{}, "keys", away)}},
	} {
		_, err := r.Resolve(t.Context(), run)
		if _, ok := AsProblem(err); err == nil || ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSearchKey(t *testing.T) {
	t.Parallel()
	secrets := map[string]map[string]string{"keys": {"a": " their-key\n", "empty": ""}}
	provider := func(r *v1alpha1.SecretKeyRef) *v1alpha1.SearchProvider {
		return &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, APIKeySecretRef: r}
	}
	for name, tt := range map[string]struct {
		provider      *v1alpha1.SearchProvider
		want, problem string
	}{
		"none":        {provider: provider(nil)},
		"a key":       {provider: provider(ref("keys", "a")), want: "their-key"},
		"no Secret":   {provider: provider(ref("missing", "a")), problem: "The Secret missing with the search provider's API key does not exist in namespace ns. Create it with the key a."},
		"no such key": {provider: provider(ref("keys", "b")), problem: "The Secret keys in namespace ns has no value under the key b. Put the search provider's API key there."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Resolver{Secrets: reader{secrets: secrets}}.SearchKey(t.Context(), "ns", tt.provider)
			problem := ""
			if p, ok := AsProblem(err); ok {
				problem = p.Message
			}
			if got.RevealText() != tt.want || problem != tt.problem || (err != nil) != (tt.problem != "") {
				t.Errorf("got %d bytes, %v", len(got.Reveal()), err)
			}
		})
	}
	away := errors.New("the API server is away")
	if _, err := (Resolver{Secrets: reader{err: away}}).SearchKey(t.Context(), "ns", provider(ref("keys", "a"))); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

func TestSinkSecrets(t *testing.T) {
	t.Parallel()
	r := Resolver{Secrets: reader{secrets: map[string]map[string]string{"hook": {"authorization": "Bearer abc\n", "key": "s3cret"}}}}
	for name, tt := range map[string]struct {
		sink                    v1alpha1.SignalSink
		authorization, key, say string
	}{
		"none": {},
		"both": {v1alpha1.SignalSink{AuthorizationSecretRef: ref("hook", "authorization"), SigningKeySecretRef: ref("hook", "key")}, "Bearer abc", "s3cret", ""},
		"no authorization": {
			v1alpha1.SignalSink{AuthorizationSecretRef: ref("missing", "a"), SigningKeySecretRef: ref("hook", "key")}, "", "",
			"The Secret missing with the sink's authorization does not exist in namespace ns. Create it with the key a.",
		},
		"no signing key": {
			v1alpha1.SignalSink{AuthorizationSecretRef: ref("hook", "authorization"), SigningKeySecretRef: ref("hook", "b")}, "", "",
			"The Secret hook in namespace ns has no value under the key b. Put the sink's signing key there.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authorization, key, err := r.SinkSecrets(t.Context(), "ns", &tt.sink)
			say := ""
			if p, ok := AsProblem(err); ok {
				say = p.Message
			}
			if authorization.RevealText() != tt.authorization || key.RevealText() != tt.key || say != tt.say || (err == nil) != (tt.say == "") {
				t.Errorf("got %q, %q, %v", authorization.RevealText(), key.RevealText(), err)
			}
		})
	}
}

func TestReceiverSecret(t *testing.T) {
	t.Parallel()
	r := Resolver{Secrets: reader{secrets: map[string]map[string]string{"mail": {"password": "s3cret\n"}}}}
	if v, err := r.ReceiverSecret(t.Context(), "ns", nil, "password", "smtp://mail.example.org:587"); err != nil || !v.IsEmpty() {
		t.Errorf("without a reference: %v", err)
	}
	if v, err := r.ReceiverSecret(t.Context(), "ns", ref("mail", "password"), "password", "smtp://mail.example.org:587"); err != nil || v.RevealText() != "s3cret" {
		t.Errorf("got %v", err)
	}
	_, err := r.ReceiverSecret(t.Context(), "ns", ref("mail", "user"), "user name", "smtp://mail.example.org:587")
	want := "The Secret mail in namespace ns has no value under the key user. Put the receiver's user name there."
	if p, ok := AsProblem(err); !ok || p.Message != want {
		t.Errorf("got %v", err)
	}
}

// A text ends the runs of a model for which a MotorCortex sets that, and of no other: not those of the manager's own endpoint either.
func TestTextEnds(t *testing.T) {
	t.Parallel()
	builtIn := Endpoint{BaseURL: "https://manager.example.org/v1", Model: "model-0"}
	for name, tt := range map[string]struct {
		models *v1alpha1.ModelSet
		want   bool
	}{
		"the manager's":                    {nil, false},
		"of an older object":               {&v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "m"}}, false},
		"a call":                           {&v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "m", Finish: v1alpha1.FinishCall}}, false},
		"a text, of the manager's address": {&v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "m", Finish: v1alpha1.FinishText}}, true},
	} {
		r := reader{}
		if tt.models != nil {
			r.cortex = &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Models: *tt.models}}
		}
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
		e, err := Resolver{Cortex: r, Secrets: r, Default: builtIn}.Resolve(t.Context(), run)
		if err != nil || e.TextEnds != tt.want || e.BaseURL != builtIn.BaseURL {
			t.Errorf("%s: %t, %v", name, e.TextEnds, err)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	one := Endpoint{Namespace: "a", BaseURL: "https://a.example.org", Model: "m", APIKey: secret.New("k")}
	for name, tt := range map[string]struct {
		change func(*Endpoint)
		same   bool
	}{
		"the same key in another Secret": {func(e *Endpoint) { e.APIKey = secret.New("k") }, true},
		"of another namespace":           {func(e *Endpoint) { e.Namespace = "b" }, true},
		"another address":                {func(e *Endpoint) { e.BaseURL = "https://b.example.org" }, false},
		"another model":                  {func(e *Endpoint) { e.Model = "n" }, false},
		"another key":                    {func(e *Endpoint) { e.APIKey = secret.New("l") }, false},
		"no key":                         {func(e *Endpoint) { e.APIKey = secret.Value{} }, false},
	} {
		other := one
		tt.change(&other)
		if one.Same(other) != tt.same || other.Same(one) != tt.same {
			t.Errorf("%s: Same is %t", name, one.Same(other))
		}
	}
}
