// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// rig is a cluster with one run, and a person who types at a terminal if there is anything typed.
type rig struct {
	t *testing.T
	client.WithWatch
	typed string
	// denied are the verbs that the person lacks.
	denied map[string]bool
}

func newRig(t *testing.T, inputs ...v1alpha1.PendingInput) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", UID: "uid"},
		// The API server fills in a list in the tests of test/api; this cluster needs an entry for one to be there.
		Spec:   v1alpha1.MotorRunSpec{Responses: []v1alpha1.Response{{ID: "earlier", Answer: "x"}}},
		Status: v1alpha1.MotorRunStatus{PendingInputs: inputs, Message: "Working on it."},
	}
	r := &rig{t: t, denied: map[string]bool{}}
	r.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			// This cluster has no selectable fields.
			return c.List(ctx, list, client.InNamespace((&client.ListOptions{}).ApplyOptions(opts).Namespace))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			review, ok := o.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return c.Create(ctx, o, opts...)
			}
			review.Status.Allowed = !r.denied[review.Spec.ResourceAttributes.Verb]
			return nil
		},
	}).Build()
	return r
}

// also adds a run to the namespace.
func (r *rig) also(namespace, name string, inputs ...v1alpha1.PendingInput) {
	r.t.Helper()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name)}, Status: v1alpha1.MotorRunStatus{PendingInputs: inputs}}
	if err := r.Create(r.t.Context(), run); err != nil {
		r.t.Fatal(err)
	}
}

// want carries out a command, and fails the test unless it ends with that code and prints all of these texts.
func (r *rig) want(code int, line string, says ...string) {
	r.t.Helper()
	var out, errs strings.Builder
	s := verb.Streams{In: strings.NewReader(r.typed), Out: &out, Err: &errs, Terminal: r.typed != ""}
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(Command{Streams: s, Connect: func() (client.WithWatch, string, error) { return r.WithWatch, "ns", nil }})...)
	if got := verb.Run(r.t.Context(), p, strings.Fields(line)); got != code {
		r.t.Errorf("%s: exit code %d, want %d:\n%s%s", line, got, code, &out, &errs)
	}
	for _, part := range says {
		if !strings.Contains(out.String()+errs.String(), part) {
			r.t.Errorf("%s does not say %q, but\n%s%s", line, part, &out, &errs)
		}
	}
}

// responses are the ids and answers of all but the earlier one.
func (r *rig) responses() string {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := r.Get(context.WithoutCancel(r.t.Context()), client.ObjectKey{Namespace: "ns", Name: "run"}, run); err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, p := range run.Spec.Responses[1:] {
		all = append(all, p.ID+" "+p.Answer+string(p.Decision))
	}
	return strings.Join(all, ", ")
}

func question(id string) v1alpha1.PendingInput {
	return v1alpha1.PendingInput{ID: id, Kind: v1alpha1.InputQuestion, Title: "Which " + id + "?", Question: "Which \x1b[8m" + id + "?"}
}

// A run may ask several things one day. None is chosen for the person.
func TestOneOfSeveralAsks(t *testing.T) {
	t.Parallel()
	several := []v1alpha1.PendingInput{question("a"), {ID: "d", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"}, question("b")}
	for name, tt := range map[string]struct {
		typed, line string
		code        int
		says, sent  string
	}{
		"none is named":       {"", "answer run yes", verb.ExitMisused, "1  a  question  Which a?\n2  b  question  Which b?\nerror: the run asks 2 things: give --number or --id", ""},
		"by its id":           {"", "answer run yes --id b", verb.ExitOK, "answered", "b yes"},
		"by its number":       {"", "answer run yes --number 2", verb.ExitOK, "answered", "b yes"},
		"of the run shown":    {"", "answer run yes --id b --uid uid", verb.ExitOK, "answered", "b yes"},
		"of a former run":     {"", "answer run yes --id b --uid former", verb.ExitFailed, "another one of its name: nothing was answered", ""},
		"of another kind":     {"", "answer run yes --id d", verb.ExitFailed, "does not ask under the id d", ""},
		"beyond the last":     {"", "answer run yes --number 3", verb.ExitMisused, "asks 2 such things", ""},
		"both ways":           {"", "answer run yes --number 1 --id a", verb.ExitMisused, "none of the others can be", ""},
		"the only one":        {"", "allow run --once", verb.ExitOK, "may reach example.org, for one call", "d AllowOnce"},
		"chosen":              {"1\n", "answer run yes", verb.ExitOK, "Which? ", "a yes"},
		"chosen and typed":    {"2\nno\n", "answer run", verb.ExitOK, `  | Which \u001b[8mb?`, "b no"},
		"chosen is no number": {"b\n", "answer run", verb.ExitMisused, `"b" is none of the numbers`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, several...)
			r.typed = tt.typed
			r.want(tt.code, tt.line, tt.says)
			if got := r.responses(); got != tt.sent {
				t.Errorf("sent is %q, want %q", got, tt.sent)
			}
		})
	}
}

func TestNothingIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(verb.ExitFailed, "answer run yes", "run: the run asks nothing now. Working on it.")
	r.want(verb.ExitFailed, "approve", `no run of the namespace ns waits for an answer (approval): "kubectl motor inbox -A"`)
}

// Who answers after another person is told what the answer was and whose, also when the run goes on or has ended.
func TestWhatWasAnsweredAlready(t *testing.T) {
	t.Parallel()
	ended := metav1.NewTime(time.Now())
	for name, tt := range map[string]struct {
		responses []v1alpha1.Response
		ended     bool
		line      string
		want      string
	}{
		"a run that has ended": {[]v1alpha1.Response{{ID: "a", Answer: "blue", RespondedBy: "dana"}}, true, "answer run red", `it has ended (Completed). The last answer was given by dana: "blue"`},
		"a run that goes on":   {[]v1alpha1.Response{{ID: "a", Answer: "blue", RespondedBy: "dana"}}, false, "answer run red", `asks nothing now. Working on it. The last answer was given by dana: "blue"`},
		"by its id": {
			[]v1alpha1.Response{{ID: "a", Answer: "blue", RespondedBy: "dana"}, {ID: "b", Answer: "red"}}, true, "answer run red --id a", `it was answered already, by dana: "blue"`,
		},
		"another kind since":      {[]v1alpha1.Response{{ID: "a", Decision: "Deny", Digest: "sha256:1", RespondedBy: "dana"}, {ID: "b", Answer: "red"}}, true, "approve run", "given by dana: Deny"},
		"a domain":                {[]v1alpha1.Response{{ID: "a", Decision: "Deny", RespondedBy: "eve"}, {ID: "b", Decision: "Deny", Digest: "sha256:1", RespondedBy: "dana"}}, true, "allow run", "given by eve: Deny"},
		"a retry":                 {[]v1alpha1.Response{{ID: "retry-1", Decision: "Retry", RespondedBy: "eve"}, {ID: "u", Decision: "Retry", RespondedBy: "dana"}}, true, "retry run", "given by eve: Retry"},
		"a call that was skipped": {[]v1alpha1.Response{{ID: "u", Decision: "Skip", RespondedBy: "eve"}, {ID: "budget-run-1", Decision: "Stop"}}, true, "settle run skip", "given by eve: Skip"},
		"the end at a bound":      {[]v1alpha1.Response{{ID: "budget-run-1", Decision: "Stop", RespondedBy: "eve"}}, true, "raise run", "given by eve: Stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			run := &v1alpha1.MotorRun{}
			if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "run"}, run); err != nil {
				t.Fatal(err)
			}
			run.Spec.Responses = append(run.Spec.Responses, tt.responses...)
			if tt.ended {
				run.Status.CompletionTime, run.Status.Reason = &ended, "Completed"
			}
			if err := r.Update(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			r.want(verb.ExitFailed, tt.line, tt.want)
		})
	}
}

func TestWhatIsAboutToExpire(t *testing.T) {
	t.Parallel()
	p := question("a")
	p.ExpirationTime = metav1.NewTime(time.Now().Add(-time.Second))
	r := newRig(t, p)
	r.want(verb.ExitMisused, "answer run", "run asks (question), its time is over:")
}
