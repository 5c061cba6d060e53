// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// hidden are characters that turn text, hide in it, or make a terminal do something.
const hidden = "\u202e\u2066\u200b\x1b\x00\u0085\ufeff\U000E0041"

// Nothing that a model wrote comes to the page with characters that deceive the eye.
func TestTextsOfModelsHaveNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	evil := "<script>alert(1)</script>" + hidden
	asks := []v1alpha1.PendingInput{
		{ID: "q", Kind: v1alpha1.InputQuestion, Question: evil, Title: evil, Options: []string{evil}, Default: evil},
		{ID: "d", Kind: v1alpha1.InputDomainRequest, Domain: v1alpha1.Domain(evil), Question: evil},
		fakecluster.Approval("a", evil, `{"`+evil[:25]+`":"`+"\u202e"+`"}`, evil), fakecluster.Approval("r", "bash", evil, evil),
		fakecluster.Approval("e", "edit", `{"path":"a\u202e","oldText":"b\u202e","newText":"c\u202e"}`, ""),
	}
	run := fakecluster.Run("ns", "run", asks...)
	run.Spec.Task, run.Spec.Requester.Username, run.Status.Message, run.Status.Reason, run.Status.Model = evil, evil, evil, evil, evil
	run.Status.Result = &v1alpha1.RunResult{Summary: evil, Partial: evil, Value: evil, Artifacts: []v1alpha1.Artifact{{Path: evil, Message: evil, Skipped: "TooLarge"}}}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Failure: &v1alpha1.FailureSummary{Reason: evil, Message: evil, Hint: evil}}}
	s := fakecluster.Step(run, 1, 1, evil, `{"command":"`+"\u202e"+`"}`, &v1alpha1.ToolResult{Output: evil, ErrorCode: evil, OutputFile: evil, Provenance: "Web"})
	s.Spec.Content, s.Spec.Value, s.Spec.Model = evil, evil, evil
	s.Status.Asks = []v1alpha1.StepAsk{{ID: "q", CallID: "c", Kind: v1alpha1.InputApproval, Outcome: v1alpha1.AskDenied, By: evil, Reason: evil}}
	end := fakecluster.Step(run, 1, 2, "bash", "{}", nil)
	end.Spec.Outcome = &v1alpha1.StepOutcome{Reason: evil, Message: evil, Hint: evil}
	r := newRig(t, fakecluster.New(t, run, s, end))
	for _, path := range []string{"/api/inbox", "/api/runs", "/api/runs/ns/run", "/api/runs/ns/run/steps/" + s.Name, "/api/runs/ns/run/steps/" + end.Name} {
		var answer any
		status, raw := r.asks(http.MethodGet, path, "", &answer)
		if status != http.StatusOK {
			t.Errorf("%s: %d, %s", path, status, raw)
		}
		each(answer, func(s string) {
			if i := strings.IndexAny(s, hidden); i >= 0 {
				t.Errorf("%s has %q", path, s)
			}
		})
		// Markup is a text for the scripts of the page. In the answer it is none either, for a browser that takes it for a document.
		if strings.Contains(raw, "<script") {
			t.Errorf("%s has markup as it is: %s", path, raw)
		}
	}
}

// each calls f with each string of a value of JSON.
func each(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			each(item, f)
		}
	case map[string]any:
		for key, item := range v {
			f(key)
			each(item, f)
		}
	}
}

// A call that is longer than the status holds is shown out of its step. Without a right to that, it can be denied only.
func TestALongCallIsShownOutOfItsStep(t *testing.T) {
	t.Parallel()
	long := `{"command":"git push ` + strings.Repeat("-q ", 3000) + `#THE-MIDDLE"}`
	ask := fakecluster.Approval("q", "bash", long, rule)
	ask.Action.Arguments, ask.StepName = `{"command":"git push … "}`, "run-a01-s0001"
	run := fakecluster.Run("ns", "run", ask)
	s := fakecluster.Step(run, 1, 1, "bash", long, nil)
	s.Status.Asks = []v1alpha1.StepAsk{{ID: "q", Kind: v1alpha1.InputApproval, CallID: s.Spec.ToolCalls[0].ID, AskTime: metav1.Now()}}
	r := newRig(t, fakecluster.New(t, run, s))
	a := r.shown()
	if a.Action.Problem != "" || len(a.Action.Parts) != 1 || !strings.Contains(a.Action.Parts[0].Text, "THE-MIDDLE") || a.Action.Digest != calls.ArgsDigest("bash", long) {
		t.Errorf("%+v", a.Action)
	}
	r.Deny("get motorsteps")
	if a = r.shown(); !strings.Contains(a.Action.Problem, "motorcortex-viewer") {
		t.Errorf("%+v", a.Action)
	}
	digest := `,"digest":"` + a.Action.Digest + `"`
	if status, raw := r.answers(a, `,"decision":"ApproveOnce"`+digest); status != http.StatusConflict || len(r.Sent()) > 0 {
		t.Errorf("a call that was not shown is approved: %d, %s", status, raw)
	}
	if status, raw := r.answers(a, `,"decision":"Deny"`+digest); status != http.StatusOK {
		t.Errorf("%d, %s", status, raw)
	}
}

// What is allowed afterwards stands beside each decision.
func TestEffectsAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakecluster.New(t, fakecluster.Run("ns", "run", fakecluster.Approval("q", "bash", gitPush, rule))))
	a := r.shown()
	if len(a.Choices) != 3 || a.Choices[1].Decision != "ApproveRun" || !strings.Contains(a.Choices[1].Effect, "until run ends every call of the same tool that needs approval by the same rule") || strings.Contains(a.Choices[1].Effect, rule) {
		t.Errorf("%+v", a.Choices)
	}
	for _, c := range a.Choices {
		if c.Effect == "" {
			t.Errorf("%s has no effect", c.Decision)
		}
	}
}

func TestTheInboxIsBounded(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	for i := range 250 {
		objects = append(objects, fakecluster.Run("ns", "run-"+strings.Repeat("x", i%5)+string(rune('a'+i%26))+string(rune('a'+i/26)), v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}))
	}
	r := newRig(t, fakecluster.New(t, objects...))
	var answer struct {
		Items []any
		More  int
	}
	if r.asks(http.MethodGet, "/api/inbox", "", &answer); len(answer.Items) != 200 || answer.More != 50 {
		t.Errorf("%d asks, %d more", len(answer.Items), answer.More)
	}
}

// Calls that are as large as calls can be do not make an inbox that no browser shows.
func TestTheInboxHasABoundForLargeCalls(t *testing.T) {
	t.Parallel()
	arguments := `{"command":"` + strings.Repeat("x", 1<<20) + `"}`
	var objects []client.Object
	for i := range 12 {
		objects = append(objects, fakecluster.Run("ns", fmt.Sprintf("run-%d", i), v1alpha1.PendingInput{
			ID: "q", Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: arguments, ArgsDigest: calls.ArgsDigest("bash", arguments)},
		}))
	}
	r := newRig(t, fakecluster.New(t, objects...))
	var answer struct {
		Items []any
		More  int
	}
	if r.asks(http.MethodGet, "/api/inbox", "", &answer); len(answer.Items) != 8 || answer.More != 4 {
		t.Errorf("%d asks, %d more", len(answer.Items), answer.More)
	}
}

// Of too many asks, those with the least time are shown.
func TestTheAsksWithTheLeastTimeAreShown(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	for i := range 210 {
		run := fakecluster.Run("ns", fmt.Sprintf("run-%03d", i), v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})
		run.Status.PendingInputs[0].ExpirationTime = metav1.NewTime(run.CreationTimestamp.Add(time.Duration(1000-i) * time.Minute))
		if i == 0 {
			run.Status.PendingInputs[0].ExpirationTime = metav1.Time{}
		}
		objects = append(objects, run)
	}
	r := newRig(t, fakecluster.New(t, objects...))
	var answer struct{ Items []struct{ Run string } }
	r.asks(http.MethodGet, "/api/inbox", "", &answer)
	if len(answer.Items) != 200 || answer.Items[0].Run != "run-209" || answer.Items[199].Run != "run-010" {
		t.Errorf("%d asks, %+v first", len(answer.Items), answer.Items[0])
	}
}

// A namespace with very many asks does not keep those of another one out, also when all of its own end sooner.
func TestEachNamespaceHasItsTurnInTheInbox(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	ask := func(namespace string, i int, left time.Duration) {
		run := fakecluster.Run(namespace, fmt.Sprintf("run-%03d", i), v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})
		run.Status.PendingInputs[0].ExpirationTime = metav1.NewTime(run.CreationTimestamp.Add(left))
		objects = append(objects, run)
	}
	for i := range 210 {
		ask("full", i, time.Duration(i+1)*time.Minute)
	}
	for i := range 2 {
		ask("quiet", i, time.Duration(i+1)*1000*time.Minute)
	}
	r := newRig(t, fakecluster.New(t, objects...))
	var answer struct {
		Items []struct{ Namespace, Run string }
		More  int
	}
	r.asks(http.MethodGet, "/api/inbox", "", &answer)
	if len(answer.Items) != 200 || answer.More != 12 {
		t.Fatalf("%d asks, %d more", len(answer.Items), answer.More)
	}
	// Those that are shown are in the order of their deadlines, whichever namespace they are of.
	for i, want := range map[int]string{0: "full/run-000", 197: "full/run-197", 198: "quiet/run-000", 199: "quiet/run-001"} {
		if got := answer.Items[i].Namespace + "/" + answer.Items[i].Run; got != want {
			t.Errorf("ask %d is of %s, want %s", i, got, want)
		}
	}
}
