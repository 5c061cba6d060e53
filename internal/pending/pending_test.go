// SPDX-License-Identifier: Apache-2.0

package pending_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

func waits(inputs ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "portfolio", Namespace: "agents", UID: "u"}, Status: v1alpha1.MotorRunStatus{PendingInputs: inputs}}
}

// The operator takes a moment to mark an ask as answered. It is not open meanwhile.
func TestWhatIsAnsweredIsNotOpen(t *testing.T) {
	t.Parallel()
	run := waits(v1alpha1.PendingInput{ID: "a"}, v1alpha1.PendingInput{ID: "b", Answered: true}, v1alpha1.PendingInput{ID: "c"})
	run.Spec.Responses = []v1alpha1.Response{{ID: "c", Answer: "yes"}, {ID: "old", Answer: "no"}}
	open := pending.Open(run)
	if len(open) != 1 || open[0].ID != "a" {
		t.Errorf("open are %+v", open)
	}
	if r := pending.ResponseTo(run, "c"); r == nil || r.Answer != "yes" {
		t.Errorf("the response is %+v", r)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[v1alpha1.InputKind]struct {
		want       string
		verb, word string
	}{
		v1alpha1.InputQuestion:        {`kubectl motor answer portfolio -n agents --id x "…"`, "respond", "question"},
		v1alpha1.InputApproval:        {`kubectl motor approve portfolio -n agents --id x; kubectl motor deny portfolio -n agents --id x --reason "…"`, "approve", "approval"},
		v1alpha1.InputDomainRequest:   {`kubectl motor allow portfolio -n agents --id x --once; kubectl motor allow portfolio -n agents --id x --run; kubectl motor deny portfolio -n agents --id x --reason "…"`, "approve", "domain"},
		v1alpha1.InputOutcomeUnknown:  {`kubectl motor settle portfolio -n agents --id x retry; kubectl motor settle portfolio -n agents --id x done; kubectl motor settle portfolio -n agents --id x skip`, "respond", "unknown outcome"},
		v1alpha1.InputRetry:           {`kubectl motor retry portfolio -n agents --id x --uid u --guidance "…"; kubectl motor stop portfolio -n agents --id x --uid u`, "respond", "retry"},
		v1alpha1.InputBudgetExhausted: {`kubectl motor raise portfolio -n agents --id x --uid u --cost 0.50 --tokens 1000; kubectl motor stop portfolio -n agents --id x --uid u`, "approve", "budget"},
		"Later":                       {"", "respond", "later"},
	} {
		p := v1alpha1.PendingInput{ID: "x", Kind: kind, RaiseBy: &v1alpha1.BudgetAmount{Tokens: new(int64(1000)), Cost: new(v1alpha1.Amount("0.50"))}}
		first, _, _ := strings.Cut(pending.Command(waits(p), &p, ""), " --id")
		if !strings.HasPrefix(tt.want, first) || (first == "") != (tt.want == "") {
			t.Errorf("%s: the shortest is %q", kind, first)
		}
		if got := strings.Join(pending.Commands(waits(p), &p, ""), "; "); got != tt.want || pending.Verb(kind) != tt.verb || pending.Word(kind) != tt.word {
			t.Errorf("%s: %s, %s, %s, want %+v", kind, got, pending.Verb(kind), pending.Word(kind), tt)
		}
	}
}

func TestAQuestionIsShownWithoutItsEndForKubectl(t *testing.T) {
	t.Parallel()
	const retry, approval = "\nTo try again, decide Retry before T:\nkubectl …", "\nstatus.pendingInputs[].stepName has it whole. Decide ApproveOnce\nkubectl …"
	for want, p := range map[string]v1alpha1.PendingInput{
		"It failed." + retry + ", says the model": {Kind: v1alpha1.InputRetry, Question: "It failed." + retry + ", says the model" + retry},
		"It wants to push.":                       {Kind: v1alpha1.InputApproval, Question: "It wants to push." + approval},
		"Which?" + retry:                          {Kind: v1alpha1.InputQuestion, Question: "Which?" + retry},
		"As it was.":                              {Kind: v1alpha1.InputRetry, Question: "As it was."},
	} {
		if got := pending.Question(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An option is a text of the model's: in a command that a person pastes it could do anything.
func TestCommandsHaveNothingOfTheModel(t *testing.T) {
	t.Parallel()
	p := v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Options: []string{"$(rm -rf ~)", "b"}, Default: "$(rm -rf ~)"}
	got := pending.Commands(waits(p, v1alpha1.PendingInput{ID: "q2"}), &p, " --context prod")
	want := []string{`kubectl motor answer portfolio -n agents --id q1 --context prod "…"`, "kubectl motor answer portfolio -n agents --id q1 --context prod --option 1…2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestANotificationHasTheSameCommand(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "fix", UID: "u"}}
	for _, kind := range []v1alpha1.InputKind{
		v1alpha1.InputQuestion, v1alpha1.InputApproval, v1alpha1.InputDomainRequest, v1alpha1.InputOutcomeUnknown, v1alpha1.InputRetry,
		v1alpha1.InputBudgetExhausted,
	} {
		p := &v1alpha1.PendingInput{ID: "a1-s1-c0", Kind: kind}
		got := notice.Of(&signal.Signal{Subject: "fix", Data: &signal.Result{Namespace: "team", UID: "u", Input: &signal.Input{ID: p.ID, Kind: kind}}}, "").Command
		if want := pending.Exact(run, p); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
