// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

func summary(through int32) stepOption {
	return func(s *v1alpha1.MotorStep) {
		s.Spec.Type, s.Spec.Through, s.Spec.Content = v1alpha1.StepSummary, through, "So far."
	}
}

func waited(ms int64) stepOption {
	return func(s *v1alpha1.MotorStep) { s.Status.Results[len(s.Status.Results)-1].WaitedMilliseconds = ms }
}

func TestReadJournalOfTheAttempt(t *testing.T) {
	t.Parallel()
	steps := []v1alpha1.MotorStep{
		testStep(1, 1, usage(10, 2), done("bash", true, 1, "")), testStep(1, 2, usage(10, 2), outcome("Why")),
		testStep(2, 1, usage(10, 2), done("bash", true, 1, "")), testStep(2, 2, usage(30, 4), summary(1)), testStep(2, 3, usage(10, 2), done("write", true, 1, "")),
		testStep(2, 4, usage(50, 6), outcome("MaxIterations"), func(s *v1alpha1.MotorStep) { s.Spec.Content, s.Spec.Outcome.Hint = "half of it", "a hint" }),
	}
	p := ReadJournal(testRun(), steps)
	if p.Turns != 3 || p.Iterations != 2 || p.LastStep != "run-a02-s0003" || p.Partial != "half of it" || p.Failure.Hint != "a hint" {
		t.Errorf("progress %+v", p)
	}
	wantAll := v1alpha1.Usage{PromptTokens: 120, CompletionTokens: 18, CachedTokens: 6, TotalTokens: 138}
	wantOwn := v1alpha1.Usage{PromptTokens: 100, CompletionTokens: 14, CachedTokens: 4, TotalTokens: 114}
	if p.Usage != wantAll || p.AttemptUsage != wantOwn || p.Model != 6*time.Second {
		t.Errorf("usage %+v, the attempt's %+v, model %s", p.Usage, p.AttemptUsage, p.Model)
	}

	// An attempt that began has no steps yet.
	run := withAttempts(testRun(), first, retry, retry)
	p = ReadJournal(run, steps)
	if p.Attempt != 3 || p.Turns != 3 || p.Iterations != 0 || p.Failure != nil || p.LastCalls != nil || p.AttemptUsage != (v1alpha1.Usage{}) || p.LastStep != "" {
		t.Errorf("progress of a new attempt %+v", p)
	}
}

func TestProofIsOfThePresentSandbox(t *testing.T) {
	t.Parallel()
	in := func(uid string, tries int32) stepOption {
		return func(s *v1alpha1.MotorStep) {
			s.Spec.Sandbox = &v1alpha1.StepSandbox{PodUID: uid, IsolationTries: tries}
		}
	}
	steps := []v1alpha1.MotorStep{testStep(1, 1, in("one", 3)), testStep(2, 1, in("two", 4)), testStep(2, 2, in("two", 5))}
	created := new(metav1.NewTime(t0))
	for want, sb := range map[int32]*v1alpha1.SandboxStatus{
		3: {PodUID: "one", CreationTime: created}, 5: {PodUID: "two", CreationTime: created}, 0: {PodUID: "three", CreationTime: created}, -1: {PodUID: "two"},
	} {
		run := testRun()
		run.Status.Sandbox = sb
		got := int32(0)
		if p := ReadJournal(run, steps).Sandbox; p != nil {
			got = p.IsolationTries
		}
		if got != max(want, 0) {
			t.Errorf("the proof of %+v has %d tries, want %d", sb, got, want)
		}
	}
}

func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	const id, again = "a1-s1-c0-00abc001", "a1-s1-c0-r1-00abc001"
	question := func(id string, found time.Duration) *v1alpha1.PendingInput {
		return &v1alpha1.PendingInput{
			ID: id, Kind: v1alpha1.InputOutcomeUnknown, Title: "Outcome unknown: bash {\"command\":\"pay \\…", Options: []string{"Retry", "Skip", "Done"}, StepName: "run-a01-s0001",
			AskTime: metav1.NewTime(after(found)), ExpirationTime: metav1.NewTime(after(found + 30*sec)), OnTimeout: v1alpha1.OnTimeoutFail,
		}
	}
	pay := call("bash", `{"command":"pay \n now"}`)
	tests := map[string]struct {
		step    v1alpha1.MotorStep
		pending *v1alpha1.PendingInput
		asked   []string
		says    string
	}{
		"not found yet": {testStep(1, 1, pay), nil, nil, ""},
		"a person is asked": {
			testStep(1, 1, pay, unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec)), question(id, 40*sec), []string{id},
			`in the middle of the call bash {"command":"pay \n now"}, between 2025-03-01T12:00:10Z and 2025-03-01T12:00:40Z.`,
		},
		"unknown once more": {
			testStep(1, 1, pay, unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec), closed("Answered", 50*sec), unknown("a1-s1-c0", "a1-s1-c0-r1", "Person", 70*sec)),
			question(again, 70*sec), []string{id, again}, "between 2025-03-01T12:00:50Z and 2025-03-01T12:01:10Z",
		},
		"too often":                 {testStep(1, 1, pay, unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec), closed("Answered", 50*sec), unknown("a1-s1-c0", "a1-s1-c0-r1", "Model", 70*sec)), nil, []string{id}, ""},
		"the model is told":         {testStep(1, 1, pay, unknown("a1-s1-c0", "a1-s1-c0", "Model", 40*sec)), nil, nil, ""},
		"a call that only reads":    {testStep(1, 1, call("read", "{}"), unknown("a1-s1-c0", "a1-s1-c0", "Redo", 40*sec)), nil, nil, ""},
		"dealt with":                {testStep(1, 1, done("bash", true, 5, ""), waited(9000), unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec), closed("Answered", 49*sec)), nil, []string{id}, ""},
		"before a question":         {testStep(1, 1, pay, ask("Which?"), unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec)), question(id, 40*sec), []string{id}, "the call bash"},
		"of the first of two calls": {testStep(1, 1, pay, call("bash", "{}"), unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec)), question(id, 40*sec), []string{id}, "the call bash"},
		"then the question": {
			testStep(1, 1, done("bash", true, 2000, ""), waited(9000), unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec), closed("Answered", 49*sec), asking("Which?", 51*sec)),
			pendingQuestion("a1-s1-c1-00abc001", "Which?", "run-a01-s0001", 51*sec), []string{"a1-s1-c1-00abc001", id}, "Which?",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ReadJournal(testRun(), []v1alpha1.MotorStep{tt.step})
			got := p.Pending
			if got != nil && !strings.Contains(got.Question, tt.says) {
				t.Errorf("the question does not say %q: %s", tt.says, got.Question)
			}
			if tt.pending != nil && got != nil {
				tt.pending.Question = got.Question
			}
			if diff := cmp.Diff(tt.pending, got); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			var asked []string
			for id := range p.Asked {
				asked = append(asked, id)
			}
			slices.Sort(asked)
			slices.Sort(tt.asked)
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %v, want %v", asked, tt.asked)
			}
		})
	}
	answered := tests["dealt with"].step
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{answered}); p.Waited != 9*time.Second {
		t.Errorf("waited %s", p.Waited)
	}
	twice := testStep(1, 1, done("bash", true, 5, ""), waited(39_000),
		unknown("a1-s1-c0", "a1-s1-c0", "Person", 40*sec), closed("Answered", 60*sec), unknown("a1-s1-c0", "a1-s1-c0-r1", "Person", 70*sec), closed("Answered", 89*sec))
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{twice}); p.Waited != 39*time.Second {
		t.Errorf("waited %s when asked twice", p.Waited)
	}
}

func TestARetryIsNoResponse(t *testing.T) {
	t.Parallel()
	retry := &v1alpha1.PendingInput{ID: "a1-s1-c0-00abc001", Kind: v1alpha1.InputRetry}
	if Answered(testRun("a1-s1-c0-00abc001"), retry) {
		t.Error("a response counts as a retry")
	}
}

func TestUnknownCalls(t *testing.T) {
	t.Parallel()
	code := func(c string) stepOption {
		return func(s *v1alpha1.MotorStep) { s.Status.Results[len(s.Status.Results)-1].ErrorCode = c }
	}
	steps := []v1alpha1.MotorStep{
		testStep(1, 1, done("bash", false, 1, ""), code("outcome_unknown"), done("code", false, 1, ""), code("skipped"), done("read", false, 1, ""), code("outcome_unknown")),
		testStep(1, 2, done("bash", true, 1, ""), call("write", "{ \"path\" :\n1}"), call("read", "{}"), call("ask_user", "{}"), call("made_up", "{}")),
	}
	want := []calls.Ref{
		{ID: "a1-s1-c0", Tool: "bash", Arguments: `{"question":"settled?"}`}, {ID: "a1-s1-c1", Tool: "code", Arguments: `{"question":"settled?"}`},
		{ID: "a1-s2-c1", Tool: "write", Arguments: `{ "path" : 1}`, InFlight: true},
	}
	if diff := cmp.Diff(want, ReadJournal(testRun(), steps).Unknown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var many []stepOption
	for range 8 {
		many = append(many, call("bash", "{}"))
	}
	if n := len(ReadJournal(testRun(), append(steps, testStep(1, 3, many...))).Unknown); n != 8 {
		t.Errorf("%d calls are named", n)
	}
}

// The run is also credited with the time for which a question was open without an answer that was used.
func TestQuestionOfAnAttemptThatIsOver(t *testing.T) {
	t.Parallel()
	steps := []v1alpha1.MotorStep{testStep(1, 1, asking("Which?", 10*sec))}
	run := attemptRun(first)
	if p := ReadJournal(run, steps); p.Pending == nil || p.Waited != 0 {
		t.Errorf("open: %+v", p)
	}
	Fail(&run.Status, &v1alpha1.FailureSummary{}, metav1.NewTime(after(25*sec)))
	if p := ReadJournal(run, steps); p.Pending != nil || p.Waited != 15*sec {
		t.Errorf("the attempt is over: %+v", p)
	}
	Begin(&run.Status, &Next{Index: 2}, after(30*sec))
	if p := ReadJournal(run, steps); p.Pending != nil || p.Waited != 15*sec || p.Asked["a1-s1-c0-00abc001"].Kind != v1alpha1.InputQuestion {
		t.Errorf("the next has begun: %+v", p)
	}
}
