// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// askTime is how long a person has to respond to an ask of an askWorld.
	askTime = 10 * time.Minute
	askedOf = "a1-s1-c0"
)

// askWorld is a run whose first call asks a person: its loop, its journal, and the decisions of the controller, by one clock. It has no
// sandbox and no API server.
type askWorld struct {
	t      *testing.T
	kind   v1alpha1.InputKind
	run    *v1alpha1.MotorRun
	client client.Client
	now    time.Time
	epoch  int64
	gone   bool
	// made are the executions of the call in the sandbox.
	made     []string
	decision runpolicy.Decision
}

func newAskWorld(t *testing.T, kind v1alpha1.InputKind, onTimeout v1alpha1.OnTimeout) *askWorld {
	t.Helper()
	w := &askWorld{t: t, kind: kind, now: enginetest.Noon, epoch: 1, run: enginetest.ReadyRun()}
	w.run.UID, w.run.CreationTimestamp = "run-uid", metav1.NewTime(enginetest.Noon)
	w.run.Spec.MaxAttempts = 2
	w.run.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolBash, toolapi.ToolRequestDomain}
	w.run.Spec.Questions = &v1alpha1.RunQuestions{OnTimeout: onTimeout}
	w.run.Spec.Limits = v1alpha1.RunLimits{
		MaxIterations: 5, ActiveDeadlineSeconds: 300, InputDeadlineSeconds: int32(askTime.Seconds()), ApprovalDeadlineSeconds: int32(askTime.Seconds()), RetryDeadlineSeconds: 60,
	}
	if kind == v1alpha1.InputApproval {
		w.run.Spec.Approval = &v1alpha1.RunApproval{Tools: []v1alpha1.ToolName{toolapi.ToolBash}}
	}
	w.run.Status.Attempts = nil
	runpolicy.Begin(&w.run.Status, &runpolicy.Next{Index: 1, Cause: v1alpha1.CauseFirst}, enginetest.Noon)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	created := 0
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorStep{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			created++
			o.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", created)))
			o.SetCreationTimestamp(metav1.NewTime(w.now))
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	return w
}

func (w *askWorld) entries() *journal.Log {
	w.t.Helper()
	l, err := journal.Load(w.t.Context(), w.client, w.client, w.run, 1, journal.Claim{Epoch: w.epoch, Worker: "worker-1"}, func() time.Time { return w.now })
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// Complete answers with the call that asks, and then with a text that ends the run.
func (w *askWorld) Complete(_ context.Context, r chat.Request) (chat.Answer, error) {
	if len(r.Messages) > 2 {
		return chat.Answer{Model: "m", Content: "done"}, nil
	}
	c := turn.Call{ModelID: "m", Tool: toolapi.ToolBash, Arguments: `{"command":"pay"}`}
	switch w.kind {
	case v1alpha1.InputQuestion:
		c.Tool, c.Arguments = toolapi.ToolAskUser, `{"question":"Which?","default":"blue"}`
	case v1alpha1.InputDomainRequest:
		c.Tool, c.Arguments = toolapi.ToolRequestDomain, askedDomain
	case v1alpha1.InputApproval, v1alpha1.InputOutcomeUnknown, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted:
	}
	return chat.Answer{Model: "m", Calls: []turn.Call{c}}, nil
}

const askedDomain = `{"domain":"example.org","reason":"why"}`

// Call makes a call. The end of the first one is not seen if the ask is about that.
func (w *askWorld) Call(_ context.Context, c toolapi.Call) (toolapi.Result, error) {
	w.made = append(w.made, c.ID)
	if w.kind == v1alpha1.InputOutcomeUnknown && len(w.made) == 1 {
		return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Provenance: toolapi.ProvenanceInternal}, nil
	}
	return toolapi.Result{OK: true, Output: "paid", Provenance: toolapi.ProvenanceInternal}, nil
}

// loop runs the loop of a worker until it ends or waits.
func (w *askWorld) loop() {
	w.t.Helper()
	entries := w.entries()
	l := &motorloop.Loop{
		Config: config.Config{
			Attempt: 1,
			Task:    "t", Tools: []string{toolapi.ToolBash}, RequestDomain: true, TextEnds: true, MaxIterations: 5, OnUnknown: turn.UnknownPerson,
		},
		Model: w, Tools: w, Journal: entries, Now: func() time.Time { return w.now },
		Domains: &attempt.DomainPolicy{Run: w.run},
		Policy:  attempt.CallPolicy{Run: w.run, Entries: entries},
		Person:  attempt.Person{Env: &runenv.Env{Run: w.run, Entries: entries, Clock: runenv.Clock{Now: func() time.Time { return w.now }}, Known: &redacting.Secrets{}}},
	}
	if _, err := l.Run(w.t.Context(), entries.Turns()); err != nil && !errors.Is(err, motorloop.ErrStale) {
		w.t.Fatal(err)
	}
}

// pass makes one pass of the controller over the journal.
func (w *askWorld) pass() {
	w.t.Helper()
	p := w.progress()
	st := &w.run.Status
	st.Egress = &v1alpha1.EgressStatus{Attempt: 1, Domains: runpolicy.Domains(w.run, p, nil)}
	w.decision = runpolicy.Decide(runpolicy.Observation{
		Run: w.run, Progress: p, Sandbox: &sandbox.State{Phase: sandbox.Running}, SandboxGone: w.gone, SandboxStartTimeout: time.Minute,
	}, w.now)
	st.PendingInputs = v1alpha1.PendingList(p.Pending)
	if p.Pending != nil {
		st.Pending().Answered = runpolicy.IsInEffect(w.run, p, nil)
	}
}

func (w *askWorld) progress() runpolicy.Progress {
	w.t.Helper()
	return runpolicy.ReadJournal(w.run, w.entries().Everything())
}

// goOn runs controller and worker until neither has work.
func (w *askWorld) goOn() {
	w.t.Helper()
	e := &Engine{Config: Config{Worker: "worker-1"}, Now: func() time.Time { return w.now }}
	for range 4 {
		if w.pass(); w.decision.End != nil || w.decision.Failure != nil || !e.shouldRun(w.run) {
			return
		}
		w.loop()
	}
}

func (w *askWorld) asks() []v1alpha1.StepAsk {
	w.t.Helper()
	return w.entries().Steps()[0].Status.Asks
}

// respond adds the response that lets the run continue, or one that does not fit.
func (w *askWorld) respond(fits bool) {
	w.t.Helper()
	a := w.asks()[0]
	r := v1alpha1.Response{ID: a.ID, RespondedBy: "anna"}
	switch {
	case w.kind == v1alpha1.InputQuestion && fits:
		r.Answer = "red"
	case w.kind == v1alpha1.InputOutcomeUnknown && fits:
		r.Decision = v1alpha1.DecisionRetry
	case w.kind == v1alpha1.InputDomainRequest && fits:
		r.Decision = v1alpha1.DecisionAllowRun
	case w.kind == v1alpha1.InputApproval:
		r.Decision, r.Digest = v1alpha1.DecisionApproveOnce, a.Digest
		if !fits {
			r.Digest = calls.ArgsDigest("bash", `{"command":"another"}`)
		}
	case w.kind == v1alpha1.InputDomainRequest:
		r.Answer = "yes"
	default:
		r.Decision = v1alpha1.DecisionAllowRun
	}
	w.run.Spec.Responses = append(w.run.Spec.Responses, r)
}

// fate is the event for an open and shown ask, and its result.
type fate struct {
	happens func(*askWorld)
	// outcome of the ask, "" if it stays open; code of the call's result, "ok" for a success, "" for none; end is the reason of the run's end.
	outcome   v1alpha1.AskOutcome
	code, end string
}

// fates returns the possible fates of an ask of a kind.
func fates(kind v1alpha1.InputKind) map[string]fate {
	responded := v1alpha1.AskAnswered
	if kind == v1alpha1.InputApproval || kind == v1alpha1.InputDomainRequest {
		responded = v1alpha1.AskApproved
	}
	used := func(happens func(*askWorld)) fate { return fate{happens, responded, "ok", v1alpha1.ReasonCompleted} }
	expired := fate{func(w *askWorld) { w.now = w.now.Add(askTime) }, "", "", v1alpha1.ReasonUserResponseTimeout}
	late := used(func(w *askWorld) { w.now = w.now.Add(askTime + time.Minute); w.respond(true) })
	if kind == v1alpha1.InputApproval {
		expired.outcome, expired.code, expired.end = v1alpha1.AskExpired, toolapi.CodeApprovalExpired, v1alpha1.ReasonCompleted
		late.outcome, late.code = expired.outcome, expired.code
	}
	return map[string]fate{
		"answered":      used(func(w *askWorld) { w.now = w.now.Add(time.Minute); w.respond(true) }),
		"answered late": late,
		"expired":       expired,
		"cancelled":     {func(w *askWorld) { w.run.Spec.Cancel = true }, "", "", v1alpha1.ReasonCancelled},
		"suspended": used(func(w *askWorld) {
			w.run.Spec.Suspend = true
			w.goOn()
			w.now = w.now.Add(askTime / 2)
			w.respond(true)
			w.goOn()
			w.run.Spec.Suspend = false
		}),
		"sandbox lost":    {func(w *askWorld) { w.now = w.now.Add(time.Minute); w.gone = true }, "", "", v1alpha1.ReasonSandboxLost},
		"manager changed": used(func(w *askWorld) { w.epoch++; w.loop(); w.respond(true) }),
		"asked twice":     used(func(w *askWorld) { w.loop(); w.loop(); w.respond(true) }),
		"wrong answer":    used(func(w *askWorld) { w.respond(false); w.goOn(); w.stillAsks(); w.respond(true) }),
	}
}

// stillAsks fails unless the ask is open and shown as unanswered.
func (w *askWorld) stillAsks() {
	w.t.Helper()
	p := w.run.Status.Pending()
	if a := w.asks(); len(a) != 1 || a[0].Outcome != "" || p == nil || p.ID != a[0].ID || p.Kind != w.kind || p.Answered || runpolicy.Answered(w.run, p) {
		w.t.Fatalf("asks %+v, shows %+v", a, p)
	}
}

// For any fate, an ask is made once, its response is used once, nothing runs before, and a person's time does not count as the run's.
func TestAsksAndTheirFates(t *testing.T) {
	t.Parallel()
	for _, kind := range []v1alpha1.InputKind{v1alpha1.InputQuestion, v1alpha1.InputDomainRequest, v1alpha1.InputApproval, v1alpha1.InputOutcomeUnknown} {
		for name, f := range fates(kind) {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newAskWorld(t, kind, v1alpha1.OnTimeoutFail)
				w.goOn()
				w.stillAsks()
				before := len(w.made)
				f.happens(w)
				if len(w.made) != before {
					t.Errorf("made %q before there was a response", w.made)
				}
				w.goOn()
				w.check(f)
			})
		}
	}
}

func (w *askWorld) check(f fate) {
	w.t.Helper()
	asks := w.asks()
	if len(asks) != 1 || asks[0].Outcome != f.outcome || asks[0].CloseTime.IsZero() != (f.outcome == "") || (asks[0].By == "anna") != (f.outcome != "" && f.outcome != v1alpha1.AskExpired) {
		w.t.Errorf("asks %+v, want the outcome %q", asks, f.outcome)
	}
	code := ""
	for _, r := range w.entries().Steps()[0].Status.Results {
		if code = r.ErrorCode; r.OK {
			code = "ok"
		}
	}
	if code != f.code {
		w.t.Errorf("the result is %q, want %q", code, f.code)
	}
	want := map[v1alpha1.InputKind]int{v1alpha1.InputOutcomeUnknown: 1}[w.kind]
	if f.code == "ok" && (w.kind == v1alpha1.InputApproval || w.kind == v1alpha1.InputOutcomeUnknown) {
		want++
	}
	if len(w.made) != want {
		w.t.Errorf("the call was made as %q, want %d executions", w.made, want)
	}
	reason := ""
	switch d := w.decision; {
	case d.End != nil:
		reason = d.End.Reason
	case d.Failure != nil:
		reason = d.Failure.Reason
		runpolicy.Fail(&w.run.Status, d.Failure, metav1.NewTime(w.now))
	}
	if reason != f.end {
		w.t.Errorf("it ends with %q, want %q: %+v", reason, f.end, w.decision)
	}
	// The run only waited, except for a second of rounding at either end.
	if p := w.progress(); (f.outcome != "" || reason == v1alpha1.ReasonSandboxLost) && w.now.Sub(enginetest.Noon)-p.Waited > 2*time.Second {
		w.t.Errorf("people took %s of %s", p.Waited, w.now.Sub(enginetest.Noon))
	}
}

// The default of a question counts at the end of its time if the run says so, and is no person's answer.
func TestDefaultAtTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	w := newAskWorld(t, v1alpha1.InputQuestion, v1alpha1.OnTimeoutUseDefault)
	w.goOn()
	w.stillAsks()
	w.now = w.now.Add(askTime)
	w.goOn()
	w.check(fate{outcome: v1alpha1.AskExpired, code: "ok", end: v1alpha1.ReasonCompleted})
}
