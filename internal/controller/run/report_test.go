// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// The condition and the Event name the author and the decision of the last answer.
func TestAnsweredMessage(t *testing.T) {
	t.Parallel()
	first := v1alpha1.Response{ID: "a1-s1-c0", Answer: "yes", RespondedBy: "first@example.org"}
	for name, tt := range map[string]struct {
		responses []v1alpha1.Response
		want      string
	}{
		"nobody":      {nil, "Every question was answered."},
		"an answer":   {[]v1alpha1.Response{first}, "Every question was answered, the last one by first@example.org."},
		"of nobody":   {[]v1alpha1.Response{first, {ID: "b", Answer: "no"}}, "Every question was answered."},
		"a domain":    {[]v1alpha1.Response{first, {ID: "b", Decision: v1alpha1.DecisionAllowOnce, RespondedBy: "bob"}}, "Every question was answered, the last one with AllowOnce, by bob."},
		"an approval": {[]v1alpha1.Response{first, {ID: "b", Decision: v1alpha1.DecisionDeny, RespondedBy: "bob"}}, "Every question was answered, the last one with Deny, by bob."},
	} {
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Responses: tt.responses}}
		if got := answeredMessage(run); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// AwaitingInput names what a person is asked, and how it ended when nothing is asked any more.
func TestAwaitingInput(t *testing.T) {
	t.Parallel()
	failed := func(category v1alpha1.FailureCategory) []v1alpha1.AttemptStatus {
		return []v1alpha1.AttemptStatus{{Index: 1, Cause: v1alpha1.CauseFirst, Failure: &v1alpha1.FailureSummary{Category: category}}}
	}
	one := failed(v1alpha1.CategoryToolFailure)
	for name, tt := range map[string]struct {
		pending  *v1alpha1.PendingInput
		answer   string
		asked    v1alpha1.AskOutcome
		attempts []v1alpha1.AttemptStatus
		reason   string
		message  string
	}{
		"nothing":                     {nil, "", "", one, v1alpha1.ReasonNothingAsked, "The run has asked nothing."},
		"a question":                  {&v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion}, "", "", one, v1alpha1.ReasonQuestion, "Which? To answer: kubectl motor answer count -n team-a --id q"},
		"a question that is answered": {&v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion}, "red", v1alpha1.AskAnswered, one, v1alpha1.ReasonAnswered, "Every question was answered."},
		"a domain":                    {&v1alpha1.PendingInput{Kind: v1alpha1.InputDomainRequest}, "", "", one, v1alpha1.ReasonDomainRequest, "Which? To answer: kubectl motor allow count -n team-a --id q"},
		"an approval":                 {&v1alpha1.PendingInput{Kind: v1alpha1.InputApproval}, "", "", one, v1alpha1.ReasonApproval, "Which? To answer: kubectl motor approve count -n team-a --id q"},
		"an unknown outcome":          {&v1alpha1.PendingInput{Kind: v1alpha1.InputOutcomeUnknown}, "", "", one, v1alpha1.ReasonOutcomeUnknown, "Which? To answer: kubectl motor settle count -n team-a --id q"},
		"a retry":                     {&v1alpha1.PendingInput{Kind: v1alpha1.InputRetry}, "", "", one, v1alpha1.ReasonAttemptFailed, "Which? To answer: kubectl motor retry count -n team-a --id q"},
		"a retry, of a used budget":   {&v1alpha1.PendingInput{Kind: v1alpha1.InputRetry}, "", "", failed(v1alpha1.CategoryBudgetExhausted), v1alpha1.ReasonBudgetExhausted, "Which? To answer: kubectl motor retry count -n team-a --id q"},
		"answered":                    {nil, "", v1alpha1.AskAnswered, one, v1alpha1.ReasonAnswered, "Every question was answered."},
		"over":                        {nil, "", v1alpha1.AskExpired, one, v1alpha1.ReasonAnswered, "Every question was answered, or its time was over."},
		"a retry that was decided":    {nil, "", "", append(failed(v1alpha1.CategoryToolFailure), v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry}), v1alpha1.ReasonAnswered, "Every question was answered."},
	} {
		s := pass.NewRun(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "count"}, Status: v1alpha1.MotorRunStatus{Attempts: tt.attempts}}, time.Unix(1000, 0))
		if tt.pending != nil {
			tt.pending.ID, tt.pending.Question = "q", "Which?"
			s.Run.Status.PendingInputs, s.Progress.Pending = v1alpha1.PendingList(tt.pending), tt.pending
		}
		if tt.answer != "" {
			s.Run.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: tt.answer}}
		}
		if tt.asked != "" {
			s.Progress.Asked = map[string]v1alpha1.StepAsk{"q": {ID: "q", Outcome: tt.asked}}
		}
		showAwaitingInput(s)
		c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAwaitingInput)
		asks := tt.pending != nil && tt.answer == ""
		if c == nil || c.Reason != tt.reason || c.Message != tt.message || (c.Status == metav1.ConditionTrue) != asks {
			t.Errorf("%s: %+v", name, c)
		}
		if p := s.Run.Status.Pending(); p != nil && p.Answered != (tt.answer != "") {
			t.Errorf("%s: answered %t", name, p.Answered)
		}
	}
}

// The command is at the end of the text, and an Event cuts the end of a long one.
func TestTheCommandOfALongQuestionIsKept(t *testing.T) {
	t.Parallel()
	long := metav1.ObjectMeta{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("r", 253)}
	for name, question := range map[string]string{
		"of letters":          strings.Repeat("Which? ", 4<<10),
		"of control codes":    strings.Repeat("\x01", 4<<10),
		"of quotation marks":  strings.Repeat(`"`, 4<<10),
		"of a large alphabet": strings.Repeat("何", 4<<10),
	} {
		ask := &v1alpha1.PendingInput{ID: "a10-s1000-c100-0123abcd", Kind: v1alpha1.InputOutcomeUnknown, Question: question}
		run := &v1alpha1.MotorRun{ObjectMeta: long, Status: v1alpha1.MotorRunStatus{PendingInputs: v1alpha1.PendingList(ask)}}
		s := pass.NewRun(run, time.Unix(1000, 0))
		s.Progress.Pending = ask
		want := "… To answer: kubectl motor settle " + long.Name + " -n " + long.Namespace + " --id " + ask.ID
		if got := fit.CutEncoded(statusMessage(s), pass.MaxNote); !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "Waiting for an answer: ") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An ask of a kind that this version does not know has no command.
func TestTheQuestionOfAnUnknownKindStandsAlone(t *testing.T) {
	t.Parallel()
	if got := questionOf(&v1alpha1.MotorRun{}, &v1alpha1.PendingInput{Kind: "Vote", Question: "Which?"}); got != "Which?" {
		t.Errorf("%q", got)
	}
}

// One response that answers nothing is enough to be named.
func TestResponsesValid(t *testing.T) {
	t.Parallel()
	asked := runpolicy.Progress{Asked: map[string]v1alpha1.StepAsk{"q": {ID: "q", Kind: v1alpha1.InputQuestion}}}
	for ids, unknown := range map[string]bool{"": false, "q": false, "x": true, "q x": true} {
		s := pass.NewRun(&v1alpha1.MotorRun{}, time.Unix(1000, 0))
		s.Progress = asked
		for id := range strings.FieldsSeq(ids) {
			s.Run.Spec.Responses = append(s.Run.Spec.Responses, v1alpha1.Response{ID: id, Answer: "yes"})
		}
		showResponses(s)
		c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionResponsesValid)
		if c == nil || (c.Status == metav1.ConditionFalse) != unknown || (c.Reason == v1alpha1.ReasonUnknownQuestion) != unknown ||
			strings.Contains(c.Message, `"x"`) != unknown || strings.Contains(c.Message, `"q"`) {
			t.Errorf("%q: %+v", ids, c)
		}
	}
}
