// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var (
	digest = argsDigest("bash", `{"command":"ls"}`)
	asked  = []v1alpha1.PendingInput{
		{ID: "q", Kind: v1alpha1.InputQuestion},
		{ID: "p", Kind: v1alpha1.InputApproval, StepName: "step", Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: `{"command":"ls"}`, ArgsDigest: digest}},
		{ID: "d", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"},
		{ID: "u", Kind: v1alpha1.InputOutcomeUnknown},
		{ID: "r", Kind: v1alpha1.InputRetry, Attempt: new(int32(2))},
	}
)

// to names an ask of a run of aRun.
func to(run, id string) Ref { return Ref{Run: run, UID: "uid", ID: id} }

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(r *rig) error
		want string // the response as JSON
		says string
	}{
		"a question": {func(r *rig) error { _, err := r.Respond(r.t.Context(), to("a", "q"), "yes"); return err }, `{"id":"q","answer":"yes"}`, ""},
		"files": {func(r *rig) error {
			_, err := r.Respond(r.t.Context(), to("a", "q"), "yes", v1alpha1.ResponseFile{Path: "a.csv", Content: new("x")})
			return err
		}, `{"id":"q","answer":"yes","files":[{"path":"a.csv","content":"x"}]}`, ""},
		"too many files": {func(r *rig) error {
			_, err := r.Respond(r.t.Context(), to("a", "q"), "yes", make([]v1alpha1.ResponseFile, 9)...)
			return err
		}, "", "at most 8 files"},
		"an approval":      {func(r *rig) error { _, err := r.Approve(r.t.Context(), to("a", "p"), digest, false, ""); return err }, `{"id":"p","decision":"ApproveOnce","digest":"` + digest + `"}`, ""},
		"of the whole run": {func(r *rig) error { _, err := r.Approve(r.t.Context(), to("a", "p"), digest, true, "ok"); return err }, `{"id":"p","decision":"ApproveRun","reason":"ok","digest":"` + digest + `"}`, ""},
		"of another call": {func(r *rig) error {
			_, err := r.Approve(r.t.Context(), to("a", "p"), "sha256:b", false, "")
			return err
		}, "", "nothing was decided"},
		"a denial":             {func(r *rig) error { _, err := r.Deny(r.t.Context(), to("a", "p"), digest, "no"); return err }, `{"id":"p","decision":"Deny","reason":"no","digest":"` + digest + `"}`, ""},
		"of an unseen call":    {func(r *rig) error { _, err := r.Deny(r.t.Context(), to("a", "p"), "", "no"); return err }, "", "nothing was decided"},
		"a denial of a domain": {func(r *rig) error { _, err := r.Deny(r.t.Context(), to("a", "d"), digest, ""); return err }, `{"id":"d","decision":"Deny"}`, ""},
		"a domain":             {func(r *rig) error { _, err := r.Allow(r.t.Context(), to("a", "d"), false, ""); return err }, `{"id":"d","decision":"AllowOnce"}`, ""},
		"a domain for the run": {func(r *rig) error { _, err := r.Allow(r.t.Context(), to("a", "d"), true, ""); return err }, `{"id":"d","decision":"AllowRun"}`, ""},
		"an outcome":           {func(r *rig) error { _, err := r.Settle(r.t.Context(), to("a", "u"), "Done", "seen"); return err }, `{"id":"u","decision":"Done","reason":"seen"}`, ""},
		"a stop":               {func(r *rig) error { _, err := r.Stop(r.t.Context(), to("a", "r"), "enough"); return err }, `{"id":"r","decision":"Stop","reason":"enough"}`, ""},
		"another kind":         {func(r *rig) error { _, err := r.Respond(r.t.Context(), to("a", "d"), "yes"); return err }, "", "it asks Question under the id q, Approval under the id p"},
		"what is not asked":    {func(r *rig) error { _, err := r.Respond(r.t.Context(), to("a", "x"), "yes"); return err }, "", "does not ask that"},
		"another run":          {func(r *rig) error { _, err := r.Respond(r.t.Context(), to("b", "q"), "yes"); return err }, "", "there is no run b"},
		"the only one":         {func(r *rig) error { _, err := r.Respond(r.t.Context(), to("a", ""), "yes"); return err }, `{"id":"q","answer":"yes"}`, ""},
		"a retry with a promise": {func(r *rig) error {
			_, err := r.Retry(r.t.Context(), to("a", ""), "port 8080", "example.org")
			return err
		}, `{"id":"r","decision":"Retry","guidance":"port 8080","addDomains":["example.org"]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a", asking(asked...)))
			err := tt.do(r)
			if tt.says != "" {
				wantError(t, err, tt.says)
			} else if err != nil {
				t.Fatal(err)
			}
			got := ""
			if list := r.run("a").Spec.Responses; len(list) > 1 {
				text, _ := json.Marshal(list[len(list)-1])
				got = string(text)
			}
			if got != tt.want {
				t.Errorf("sent is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestARetryNamesTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a", asking(asked...)))
	got, err := r.Retry(t.Context(), to("a", ""), "")
	if err != nil || got.Attempt != 2 || got.Run != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

// An id such as r is that of the same ask of a run of that name which was created again.
func TestAnotherRunOfThatNameGetsNoAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a", asking(asked...)))
	_, err := r.Retry(t.Context(), Ref{Run: "a", UID: "former", ID: "r"}, "again")
	wantError(t, err, "is gone", "another one of its name")
	_, err = r.Stop(t.Context(), Ref{Run: "a", ID: "r"}, "")
	wantError(t, err, "the UID of the run that was shown is missing")
	if n := len(r.run("a").Spec.Responses); n != 1 {
		t.Errorf("%d responses", n)
	}
	if got := RefTo(r.run("a"), &asked[4]); got != to("a", "r") {
		t.Errorf("%+v", got)
	}
}

// The answer of the API server can be lost, and that of the person is there.
func TestAnAnswerThatIsThereAlready(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	there := aRun("a", asking(asked[0]))
	there.Spec.Responses = append(there.Spec.Responses, v1alpha1.Response{ID: "q", Answer: "mine", RespondedBy: "me"})
	for name, tt := range map[string]struct {
		err  error
		says string
	}{
		"lost":       {errors.New("connection reset"), ""},
		"a timeout":  {apierrors.NewTimeoutError("slow", 1), ""},
		"a conflict": {apierrors.NewConflict(runs, "a", errors.New("changed")), `has this very answer already, by me: "mine"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a", asking(asked[0])))
			r.motor.PrependReactor("patch", "motorruns", func(k8stesting.Action) (bool, runtime.Object, error) {
				r.becomes(there)
				return true, nil, tt.err
			})
			if _, err := r.Respond(t.Context(), to("a", "q"), "mine"); tt.says != "" {
				wantError(t, err, tt.says)
			} else if err != nil {
				t.Error(err)
			}
			_, err := r.Respond(t.Context(), to("a", "q"), "mine")
			wantError(t, err, "the run a has this very answer already, by me", "an earlier try sent it")
			_, err = r.Respond(t.Context(), to("a", "q"), "another one")
			wantError(t, err, `it was answered already, by me: "mine"`)
			// Nothing is asked any more then, and the answer of the other one is still the news.
			ended := there.DeepCopy()
			ended.Status.PendingInputs, ended.Status.CompletionTime, ended.Status.Reason = nil, new(metav1.Now()), "Completed"
			r.becomes(ended)
			_, err = r.Respond(t.Context(), to("a", "q"), "another one")
			wantError(t, err, `it was answered already, by me: "mine"`)
		})
	}
}

// An answer to one of several asks names it.
func TestOneOfSeveralAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a", asking(asked[0], v1alpha1.PendingInput{ID: "q2", Kind: v1alpha1.InputQuestion})))
	_, err := r.Respond(t.Context(), to("a", ""), "yes")
	wantError(t, err, "asks 2 such things")
}

func TestAnAnswerThatIsNotTaken(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	failed := apierrors.NewGenericServerResponse(422, "patch", runs, "a", "the server rejected our request", 0, false)
	answered := aRun("a", asking(asked[0]))
	answered.Spec.Responses = append(answered.Spec.Responses, v1alpha1.Response{ID: "q", Answer: "hers", RespondedBy: "eve"})
	for name, tt := range map[string]struct {
		err  error
		now  *v1alpha1.MotorRun
		says string
	}{
		"two people":    {failed, answered, `it was answered a moment ago, by eve: "hers"`},
		"asked no more": {failed, aRun("a"), "it does not ask that any more"},
		"another run":   {failed, aRun("a", asking(asked[0]), func(run *v1alpha1.MotorRun) { run.UID = "another" }), "the run that asked is gone"},
		"no right":      {apierrors.NewForbidden(runs, "a", errors.New("no")), aRun("a", asking(asked[0])), "motorcortex-responder"},
		"a policy":      {apierrors.NewForbidden(runs, "a", errors.New("p denied request: not you")), aRun("a", asking(asked[0])), "did not take the answer: not you"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a", asking(asked[0])))
			r.motor.PrependReactor("patch", "motorruns", func(k8stesting.Action) (bool, runtime.Object, error) {
				r.becomes(tt.now)
				return true, nil, tt.err
			})
			_, err := r.Respond(t.Context(), to("a", "q"), "mine")
			wantError(t, err, tt.says)
		})
	}
}

func TestArgumentsOfALongCall(t *testing.T) {
	t.Parallel()
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: "step", Namespace: "ns"},
		Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Arguments: "no"}, {ID: "c1", Arguments: "yes"}}},
		Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "p", CallID: "c1"}}},
	}
	r := newRig(t, step)
	if got, err := r.Arguments(t.Context(), aRun("a"), &asked[1]); got != "yes" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_, err := r.Arguments(t.Context(), aRun("a"), &v1alpha1.PendingInput{ID: "x", StepName: "step"})
	wantError(t, err, "does not have the ask x")
	_, err = r.Arguments(t.Context(), aRun("a"), &v1alpha1.PendingInput{ID: "x", StepName: "other"})
	wantError(t, err, "get the step other")
}

// A digest that a model passes on proves nothing: only what was shown whole can have been seen.
func TestACallThatIsNotShownWholeIsNotApproved(t *testing.T) {
	t.Parallel()
	long := func(size int) string { return `{"command":"` + strings.Repeat("x", size-len(`{"command":""}`)) + `"}` }
	for name, tt := range map[string]struct {
		arguments string // that the digest is of
		step      string // arguments in the step, "" for no step
		says      string
	}{
		"whole in the step": {long(maxArgumentsShown), long(maxArgumentsShown), ""},
		"too long":          {long(maxArgumentsShown + 1), long(maxArgumentsShown + 1), "at most 65536 are shown"},
		"another call":      {long(5000), long(5001), "and the ask p is about one with"},
		"no step":           {long(5000), "", "get the step step"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := argsDigest("bash", tt.arguments)
			ask := v1alpha1.PendingInput{ID: "p", Kind: v1alpha1.InputApproval, StepName: "step", Action: &v1alpha1.PendingAction{
				Tool: "bash", Arguments: tt.arguments[:2000] + " … " + tt.arguments[len(tt.arguments)-2000:], ArgsDigest: of,
			}}
			objects := []runtime.Object{aRun("a", asking(ask))}
			if tt.step != "" {
				objects = append(objects, &v1alpha1.MotorStep{
					ObjectMeta: metav1.ObjectMeta{Name: "step", Namespace: "ns"},
					Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c", Arguments: tt.step}}},
					Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "p", CallID: "c"}}},
				})
			}
			r := newRig(t, objects...)
			for _, wholeRun := range []bool{true, false} {
				if _, err := r.Approve(t.Context(), to("a", "p"), of, wholeRun, ""); tt.says != "" {
					wantError(t, err, tt.says, "nothing was approved")
				} else if wholeRun && err != nil {
					t.Error(err)
				}
			}
			if sent := len(r.run("a").Spec.Responses) > 1; sent != (tt.says == "") {
				t.Errorf("sent: %t", sent)
			}
			if _, err := r.Deny(t.Context(), to("a", "p"), of, ""); tt.says != "" && err != nil {
				t.Errorf("a call that is not shown cannot be denied: %v", err)
			}
		})
	}
	r := newRig(t, aRun("a", asking(v1alpha1.PendingInput{ID: "p", Kind: v1alpha1.InputApproval})))
	_, err := r.Approve(t.Context(), to("a", "p"), digest, false, "")
	wantError(t, err, "does not say which call")
}
