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
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

const (
	first = v1alpha1.CauseFirst
	retry = v1alpha1.CauseRetry
	infra = v1alpha1.CauseInfrastructure
)

// attemptRun may have three attempts and waits 50 s for a retry.
func attemptRun(causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun {
	run := withAttempts(testRun(), causes...)
	run.Spec.MaxAttempts, run.Spec.Limits.RetryDeadlineSeconds = 3, 50
	return run
}

func retryable(reason string) *v1alpha1.StepOutcome {
	return &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: reason, Message: "It failed.", Retryable: true}
}

// lost returns a step's outcome for a sandbox that is gone.
func lost() *v1alpha1.StepOutcome {
	return &v1alpha1.StepOutcome{Category: v1alpha1.CategoryInfraFailure, Reason: v1alpha1.ReasonSandboxLost, Message: "Gone.", Retryable: true}
}

func bashInFlight(o *Observation) {
	o.Progress.Unknown = []calls.Ref{{ID: "a1-s1-c0", Tool: "bash", Arguments: `{"command":"pay"}`, InFlight: true}}
}

func TestAfterAFailure(t *testing.T) {
	t.Parallel()
	type want struct {
		end   string
		next  v1alpha1.AttemptCause
		fresh bool
		waits bool
	}
	tests := map[string]struct {
		run    *v1alpha1.MotorRun
		change func(*Observation)
		want   want
	}{
		"a failure that another attempt may overcome": {attemptRun(first), func(o *Observation) { o.Progress.Failure = retryable("Why") }, want{waits: true}},
		"not by itself, but with guidance": {
			attemptRun(first), func(o *Observation) { o.Progress.Failure = retryable("Why"); o.Progress.Failure.Retryable = false }, want{waits: true},
		},
		"the answers are used up": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryBudgetExhausted, Reason: "MaxIterations"}
		}, want{waits: true}},
		"the key is refused": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryModelFailure, Reason: "ModelUnauthorized"}
		}, want{end: "ModelUnauthorized"}},
		"a Secret that came away": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryInvalidTask, Reason: "ModelSecretNotFound", Retryable: true}
		}, want{waits: true}},
		"a fault of the manager": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryInfraFailure, Reason: v1alpha1.ReasonInternalError}
		}, want{end: v1alpha1.ReasonInternalError}},
		"isolation": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryInfraFailure, Reason: v1alpha1.ReasonIsolationRefused}
		}, want{end: v1alpha1.ReasonIsolationRefused}},
		"a retry": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}
		}, want{next: retry}},
		"a person stops it": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionStop}}
		}, want{end: "Why"}},
		"a decision of another kind": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionDeny}}
		}, want{waits: true}},
		"a retry for another attempt": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses = retryable("Why"), []v1alpha1.Response{{ID: "retry-2", Decision: v1alpha1.DecisionRetry}}
		}, want{waits: true}},
		"a retry in a run that is suspended": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Run.Spec.Suspend = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, true
		}, want{next: retry}},
		"a retry of a cancelled run": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Run.Spec.Cancel = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, true
		}, want{end: v1alpha1.ReasonCancelled}},
		"a retry when the sandbox is gone": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Sandbox, o.SandboxGone = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, nil, true
		}, want{next: retry, fresh: true}},
		"a retry when the sandbox has ended": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Sandbox = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, endedPod
		}, want{next: retry, fresh: true}},
		"a retry when the tool server has been down too long": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Sandbox, o.SandboxStartTimeout = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, restartingPod, -sec
		}, want{next: retry, fresh: true}},
		"a retry while the tool server is down": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses, o.Sandbox = retryable("Why"), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}, restartingPod
		}, want{next: retry}},
		"the last attempt":        {attemptRun(first, retry, retry), func(o *Observation) { o.Progress.Failure = retryable("Why") }, want{end: "Why"}},
		"operator's do not count": {attemptRun(first, infra, infra, retry), func(o *Observation) { o.Progress.Failure = retryable("Why") }, want{waits: true}},
		"the only attempt":        {attemptRun(first), func(o *Observation) { o.Run.Spec.MaxAttempts, o.Progress.Failure = 1, retryable("Why") }, want{end: "Why"}},
		"the Pod is gone":         {attemptRun(first), func(o *Observation) { o.Sandbox, o.SandboxGone = nil, true }, want{next: infra, fresh: true}},
		"the Pod is gone, in the only attempt": {attemptRun(first), func(o *Observation) {
			o.Run.Spec.MaxAttempts, o.Sandbox, o.SandboxGone = 1, nil, true
		}, want{next: infra, fresh: true}},
		"the Pod has ended":        {attemptRun(first, retry), func(o *Observation) { o.Sandbox = endedPod }, want{next: infra, fresh: true}},
		"the tool server is lost":  {attemptRun(first), func(o *Observation) { o.Progress.Failure = lost() }, want{next: infra, fresh: true}},
		"lost for the second time": {attemptRun(first, infra), func(o *Observation) { o.Progress.Failure = lost() }, want{next: infra, fresh: true}},
		"lost for the third time":  {attemptRun(first, infra, infra), func(o *Observation) { o.Progress.Failure = lost() }, want{waits: true}},
		"lost in a run that is cancelled": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Cancel = lost(), true
		}, want{end: v1alpha1.ReasonCancelled}},
		"lost, and a retry is there": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Responses = lost(), []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}
		}, want{next: retry, fresh: true}},
		"lost in the middle of a call": {attemptRun(first), func(o *Observation) { o.Progress.Failure = lost(); bashInFlight(o) }, want{waits: true}},
		"lost in the middle of a call, the model is told": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure, o.Run.Spec.Approval = lost(), &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
			bashInFlight(o)
		}, want{next: infra, fresh: true}},
		"lost after a call of unknown outcome was dealt with": {attemptRun(first), func(o *Observation) {
			o.Progress.Failure = lost()
			bashInFlight(o)
			o.Progress.Unknown[0].InFlight = false
		}, want{next: infra, fresh: true}},
		"lost in the middle of a call, in the only attempt": {attemptRun(first), func(o *Observation) {
			o.Run.Spec.MaxAttempts, o.Progress.Failure = 1, lost()
			bashInFlight(o)
		}, want{end: v1alpha1.ReasonSandboxLost}},
		"a person waits, and the call turns out to have ended": {attemptRun(first), func(o *Observation) {
			Fail(&o.Run.Status, o.failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost, "Gone.", true), metav1.NewTime(after(10*sec)))
			o.Sandbox, o.SandboxGone = nil, true
		}, want{waits: true}},
		"ten attempts": {attemptRun(first, retry, retry, retry, retry, retry, retry, retry, infra, infra), func(o *Observation) {
			o.Run.Spec.MaxAttempts, o.Progress.Failure = 99, retryable("Why")
		}, want{end: "Why"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Observation{Run: tt.run, Sandbox: runningPod, SandboxStartTimeout: time.Hour}
			o.Progress.Attempt = int32(len(tt.run.Status.Attempts))
			tt.change(&o)
			d := Decide(o, after(20*sec))
			got := want{waits: d.Retry != nil}
			if d.End != nil {
				got.end = d.End.Reason
			}
			if d.Next != nil {
				got.next, got.fresh = d.Next.Cause, d.Next.NewSandbox
				if d.Next.Index != o.Progress.Attempt+1 || d.Next.RecoveryContext == "" {
					t.Errorf("attempt %d with context %q", d.Next.Index, d.Next.RecoveryContext)
				}
			}
			if got != tt.want {
				t.Fatalf("got %+v, want %+v", got, tt.want)
			}
			if (d.Failure != nil) != (d.Next != nil || d.Retry != nil) {
				t.Errorf("failure %+v", d.Failure)
			}
		})
	}
}

func TestTheWindowOfARetry(t *testing.T) {
	t.Parallel()
	o := Observation{Run: attemptRun(first), Sandbox: runningPod, Progress: Progress{Failure: retryable("Why"), LastStep: "run-a01-s0007"}}
	o.Progress.Failure.Hint = "Use another port."
	d := Decide(o, after(20*sec+300*time.Millisecond))
	want := &v1alpha1.PendingInput{
		ID: "retry-1", Kind: v1alpha1.InputRetry, Title: "Attempt 1 failed: Why", Question: d.Retry.Question, StepName: "run-a01-s0007", Attempt: new(int32(2)),
		Options: []string{"Retry", "Stop"},
		AskTime: metav1.NewTime(after(20 * sec)), ExpirationTime: metav1.NewTime(after(70 * sec)),
	}
	if diff := cmp.Diff(want, d.Retry); diff != "" || !d.WakeAt.Equal(after(70*sec)) || !d.FinishedAt.Time.Equal(after(20*sec)) {
		t.Errorf("wakes at %s, finished at %s, retry (-want +got):\n%s", d.WakeAt, d.FinishedAt, diff)
	}
	for _, part := range []string{"It failed.", "Use another port.", "decide Retry", `"id":"retry-1","decision":"Retry"`, "-n ns", "motorrun run", "Stop", "2025-03-01T12:01:10Z"} {
		if !strings.Contains(d.Retry.Question, part) {
			t.Errorf("the question does not say %q: %s", part, d.Retry.Question)
		}
	}
	// The plugin leaves out the end, which is beside its own commands.
	if short := pending.Question(d.Retry); strings.Contains(short, "kubectl") || !strings.Contains(short, "Use another port.") {
		t.Errorf("without its end the question is %q", short)
	}
	Fail(&o.Run.Status, d.Failure, d.FinishedAt)
	if f := o.Run.Status.Attempts[0].Failure; f.LastStepName != "run-a01-s0007" || f.Hint != "Use another port." || f.SuggestedAction != v1alpha1.ActionRetryWithGuidance {
		t.Errorf("failure %+v", f)
	}
	// What was decided once stays, though the attempt is found failed again.
	Fail(&o.Run.Status, &v1alpha1.FailureSummary{Reason: "Other"}, metav1.NewTime(after(30*sec)))
	// The journal of a failed attempt that is read in part must not change what was decided.
	o.Progress.Failure = nil
	if again := Decide(o, after(69*sec)); again.Retry == nil || cmp.Diff(want.ExpirationTime, again.Retry.ExpirationTime) != "" || !again.WakeAt.Equal(after(70*sec)) {
		t.Errorf("later: %+v", again)
	}
	e := Decide(o, after(70*sec)).End
	if e == nil || e.Reason != "Why" || e.Phase != v1alpha1.PhaseFailed || !strings.Contains(e.Message, "within 50 s (spec.limits.retryDeadlineSeconds)") {
		t.Errorf("in the end: %+v", e)
	}
	o.Run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry}}
	if late := Decide(o, after(71*sec)); late.Next == nil {
		t.Errorf("a retry that came in time and is seen late: %+v", late)
	}
	o.Progress.Final = new("It worked after all.")
	if e := Decide(o, after(71*sec)).End; e == nil || e.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("completed after all: %+v", e)
	}
}

// A call whose outcome no person is asked about any more is named.
func TestTheEndNamesCallsThatWereLost(t *testing.T) {
	t.Parallel()
	o := Observation{Run: attemptRun(first), SandboxGone: true}
	o.Run.Spec.MaxAttempts = 1
	bashInFlight(&o)
	e := Decide(o, after(20*sec)).End
	if e == nil || !strings.Contains(e.Message, `It is unknown whether these calls took effect: bash {"command":"pay"}.`) {
		t.Errorf("the only attempt: %+v", e)
	}
	o.Run.Spec.MaxAttempts = 3
	Fail(&o.Run.Status, Decide(o, after(20*sec)).Failure, metav1.NewTime(after(20*sec)))
	if e := Decide(o, after(70*sec)).End; e == nil || !strings.Contains(e.Message, `bash {"command":"pay"}. No further attempt was asked for`) {
		t.Errorf("nobody asks for a retry: %+v", e)
	}
}

func TestTheQuestionNamesCallsInFlight(t *testing.T) {
	t.Parallel()
	o := Observation{Run: attemptRun(first), SandboxGone: true}
	bashInFlight(&o)
	o.Progress.Unknown = append(o.Progress.Unknown, calls.Ref{Tool: "write", Arguments: "settled long ago"})
	d := Decide(o, after(20*sec))
	if q := d.Retry.Question; !strings.Contains(q, "whether these calls took effect:\n- bash {\"command\":\"pay\"}\n") || strings.Contains(q, "settled") {
		t.Errorf("the question is %q", q)
	}

	// The question explains why a person is asked if another attempt could make the calls again, and only then.
	const why = "They do more than read, and another attempt may make them again: that is why a person is asked.\n"
	if q := d.Retry.Question; !strings.Contains(q, "\n- bash {\"command\":\"pay\"}\n"+why) {
		t.Errorf("the question does not say why: %q", q)
	}
	o = Observation{Run: attemptRun(first), SandboxGone: true}
	if r := Decide(o, after(20*sec)).Retry; r != nil && strings.Contains(r.Question, why) {
		t.Errorf("no call was lost, and the question is %q", r.Question)
	}
	o = Observation{Run: attemptRun(first)}
	bashInFlight(&o)
	Fail(&o.Run.Status, &v1alpha1.FailureSummary{Category: v1alpha1.CategoryModelFailure, Reason: "ModelUnavailable", Message: "Away.", Retryable: true}, metav1.NewTime(after(20*sec)))
	if r := Decide(o, after(30*sec)).Retry; r == nil || !strings.Contains(r.Question, "- bash {\"command\":\"pay\"}\n") || strings.Contains(r.Question, "person") {
		t.Errorf("the sandbox is there, and the question is %+v", r)
	}
}

func TestBegin(t *testing.T) {
	t.Parallel()
	st := &attemptRun(first).Status
	st.Attempts[0].RecoveryContext = "old"
	st.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "retry-1"})
	st.Sandbox = &v1alpha1.SandboxStatus{PodName: "p", PodUID: "u", PodIP: "ip", NodeName: "n", CreationTime: new(metav1.NewTime(t0))}
	Begin(st, &Next{Index: 2, Cause: retry, RecoveryContext: "new"}, after(30*sec))
	if st.Pending() != nil || st.Attempts[0].RecoveryContext != "" || st.Attempts[1].RecoveryContext != "new" || Replaced(st.Sandbox) {
		t.Errorf("status %+v", st)
	}
	Begin(st, &Next{Index: 3, Cause: infra, NewSandbox: true}, after(40*sec))
	if diff := cmp.Diff(&v1alpha1.SandboxStatus{PodName: "p", PodUID: "u"}, st.Sandbox); diff != "" || !Replaced(st.Sandbox) {
		t.Errorf("the sandbox (-want +got):\n%s", diff)
	}
	if Replaced(nil) {
		t.Error("no sandbox is none to be replaced")
	}
}

// The end of a run that a person stopped says who did it, and why.
func TestStoppedBy(t *testing.T) {
	t.Parallel()
	o := Observation{Run: attemptRun(first), Sandbox: runningPod, Progress: Progress{Failure: retryable("Why")}}
	o.Run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionStop, RespondedBy: "anna", Reason: "the order\nis cancelled"}}
	if e := Decide(o, after(20*sec)).End; e == nil || !strings.HasSuffix(e.Message, " anna decided against another attempt: the order is cancelled") {
		t.Errorf("%+v", e)
	}
}

// A decision about a further attempt answers what was asked, or can be asked. Any other id is unknown.
func TestDecisionsAboutAttemptsAreKnown(t *testing.T) {
	t.Parallel()
	run := attemptRun(first, retry)
	run.Spec.Responses = []v1alpha1.Response{
		{ID: "retry-1", Decision: v1alpha1.DecisionRetry}, {ID: "retry-2", Decision: v1alpha1.DecisionStop},
		{ID: "retry-0", Decision: v1alpha1.DecisionRetry}, {ID: "retry-10", Decision: v1alpha1.DecisionRetry}, {ID: "retry-1 ", Answer: "yes"}, {ID: "retry-3", Answer: "yes"},
	}
	want := []string{
		`spec.responses[2].id "retry-0"`, `spec.responses[3].id "retry-10"`, `spec.responses[4].id "retry-1 "`, `spec.responses[5].id "retry-3" that takes an answer`,
	}
	if got := UnknownResponses(run, Progress{}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// The person is asked until the next attempt begins, and then the input is gone.
	if Answered(run, &v1alpha1.PendingInput{ID: "retry-1", Kind: v1alpha1.InputRetry}) {
		t.Error("the pending retry counts as answered")
	}
}

// A person may take 30 days to decide about another attempt.
func TestRetryWaitsForDays(t *testing.T) {
	t.Parallel()
	const most = 30 * 24 * time.Hour
	o := Observation{Run: attemptRun(first), Progress: Progress{Attempt: 1, Failure: retryable("Why")}}
	o.Run.Spec.Limits.RetryDeadlineSeconds = int32(most / time.Second)
	if d := Decide(o, after(20*sec)); d.Retry == nil || !d.WakeAt.Equal(after(20*sec+most)) {
		t.Errorf("%+v", d)
	}
}

func TestSuggestedAction(t *testing.T) {
	t.Parallel()
	for want, cases := range map[v1alpha1.SuggestedAction][]struct {
		category  v1alpha1.FailureCategory
		reason    string
		retryable bool
	}{
		v1alpha1.ActionRetryWithGuidance: {
			{v1alpha1.CategoryToolFailure, "RepeatedToolFailure", false}, {v1alpha1.CategoryBudgetExhausted, "MaxTokens", true},
			{v1alpha1.CategoryUnknown, "Any", false}, {v1alpha1.CategoryModelFailure, "ModelUnavailable", true},
			{v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost, true}, {v1alpha1.CategoryInfraFailure, v1alpha1.ReasonTimeout, true},
		},
		v1alpha1.ActionAskUser: {
			{v1alpha1.CategoryModelFailure, "ModelUnauthorized", false}, {v1alpha1.CategoryModelFailure, "ModelNotFound", false},
			{v1alpha1.CategoryModelFailure, "ModelRefusedRequest", false}, {v1alpha1.CategoryInvalidTask, "InputFile", false},
			{v1alpha1.CategoryInvalidTask, "ModelSecretNotFound", true}, {v1alpha1.CategoryInfraFailure, v1alpha1.ReasonIsolationRefused, false},
			{v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonTimeout, true}, {v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonUserResponseTimeout, true},
			{v1alpha1.CategoryBudgetExhausted, "MaxTokens", false},
		},
		v1alpha1.ActionStop: {
			{v1alpha1.CategoryInfraFailure, v1alpha1.ReasonInternalError, false}, {v1alpha1.CategoryToolFailure, v1alpha1.ReasonExecutionError, false},
			{v1alpha1.CategoryInvalidTask, v1alpha1.ReasonDomainInvalid, false},
		},
	} {
		for _, c := range cases {
			if got := SuggestedAction(c.category, c.reason, c.retryable); got != want {
				t.Errorf("%s %s %t: %s, want %s", c.category, c.reason, c.retryable, got, want)
			}
		}
	}
}

func TestAttemptsOfALostStatus(t *testing.T) {
	t.Parallel()
	got := AttemptsOf(&v1alpha1.MotorRunStatus{}, Progress{Attempt: 2}, t0)
	if len(got) != 2 || got[0].Cause != first || got[1].Cause != retry || got[0].Index != 1 || got[1].Index != 2 {
		t.Errorf("attempts %+v", got)
	}
	run := attemptRun(first, infra)
	if got := AttemptsOf(&run.Status, Progress{}, t0); len(got) != 2 || got[1].Cause != infra {
		t.Errorf("attempts %+v", got)
	}
}

func TestCurrentAttempt(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	if got := CurrentAttempt(run); got.Index != 0 || got.StartTime != nil {
		t.Errorf("before the first attempt: %+v", got)
	}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
	if got := CurrentAttempt(run); got.Index != 2 {
		t.Errorf("attempt %d, want 2", got.Index)
	}
}

// The first attempt is number 1 and is there before any step. If the status was lost, the journal knows how many there were.
func TestAttemptsOf(t *testing.T) {
	t.Parallel()
	begun := v1alpha1.AttemptStatus{Index: 1, Cause: first, Iterations: 7}
	for name, tt := range map[string]struct {
		there   []v1alpha1.AttemptStatus
		journal int32
		want    []v1alpha1.AttemptCause
	}{
		"a new run":           {nil, 0, []v1alpha1.AttemptCause{first}},
		"the status was lost": {nil, 3, []v1alpha1.AttemptCause{first, retry, retry}},
		"it goes on":          {[]v1alpha1.AttemptStatus{begun}, 1, []v1alpha1.AttemptCause{first}},
		"the journal lags":    {[]v1alpha1.AttemptStatus{begun, {Index: 2, Cause: infra}}, 1, []v1alpha1.AttemptCause{first, infra}},
	} {
		got := AttemptsOf(&v1alpha1.MotorRunStatus{Attempts: tt.there}, Progress{Attempt: tt.journal}, after(20*sec))
		var causes []v1alpha1.AttemptCause
		for i, a := range got {
			causes = append(causes, a.Cause)
			if a.Index != int32(i)+1 || i < len(tt.there) && a.Iterations != tt.there[i].Iterations || i >= len(tt.there) && !a.StartTime.Time.Equal(after(20*sec)) {
				t.Errorf("%s: attempt %d is %+v", name, i+1, a)
			}
		}
		if !slices.Equal(causes, tt.want) {
			t.Errorf("%s: %q", name, causes)
		}
	}
}
