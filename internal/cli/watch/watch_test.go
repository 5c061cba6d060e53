// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/cli/watch"
	"motorcortex.dev/motorcortex/test/golden"
	"motorcortex.dev/motorcortex/test/screen"
)

var begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
}

// rig is a cluster with one run, and a person who watches it.
type rig struct {
	t *testing.T
	client.WithWatch
	*screen.Screen

	code chan int
}

var key = client.ObjectKey{Namespace: "agents", Name: "portfolio"}

func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, UID: "uid", CreationTimestamp: at(0)},
		Spec:       v1alpha1.MotorRunSpec{Task: "count", Responses: []v1alpha1.Response{{ID: "earlier", Answer: "x"}}},
		Status: v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseRunning, Reason: v1alpha1.ReasonRunning, Model: "scripted/a", Steps: 1, Usage: v1alpha1.Usage{TotalTokens: 1234},
			Attempts:   []v1alpha1.AttemptStatus{{Index: 1, StartTime: new(at(1))}},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}},
		},
	}
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: "portfolio-a01-s0001", Namespace: key.Namespace, CreationTimestamp: at(33), Labels: map[string]string{v1alpha1.LabelRun: key.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: key.Name, UID: "uid"}},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Content: "I read\x1b[2J it.",
			ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: "read", Arguments: `{"path":"portfolio.csv"}`}, {ID: "c1", Tool: "bash", Arguments: `{"command":"make report"}`}},
		},
		Status: v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight, Results: []v1alpha1.ToolResult{{CallID: "c0", OK: true, DurationMilliseconds: 3}}},
	}
	return &rig{t: t, Screen: screen.New(t, width, height), code: make(chan int, 1), WithWatch: fake.NewClientBuilder().WithScheme(scheme).WithObjects(run, step).Build()}
}

// watches starts the verb.
func (r *rig) watches(args ...string) {
	s := verb.Streams{In: r.TTY, Out: r.TTY, Err: r.TTY, Terminal: true, Screen: true}
	connect := func() (client.WithWatch, string, error) { return r.WithWatch, key.Namespace, nil }
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", watch.New(watch.Command{Streams: s, Connect: connect, Now: func() time.Time { return begin.Add(time.Minute) }}))
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(func() {
		cancel()
		r.code <- <-r.code
	})
	go func() { r.code <- verb.Run(ctx, p, append([]string{"watch", key.Name}, args...)) }()
}

// ends waits for the verb to end.
func (r *rig) ends(want int) {
	r.t.Helper()
	select {
	case code := <-r.code:
		r.code <- code
		if code != want {
			r.t.Errorf("exit code %d, want %d:\n%s", code, want, r.Text())
		}
	case <-time.After(30 * time.Second):
		r.t.Fatalf("it does not end:\n%s", r.Text())
	}
}

// changes writes the run as the operator does.
func (r *rig) changes(change func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := r.Get(r.t.Context(), key, run); err != nil {
		r.t.Fatal(err)
	}
	change(run)
	if err := r.Update(r.t.Context(), run); err != nil {
		r.t.Fatal(err)
	}
}

// asks has the run ask.
func (r *rig) asks(p v1alpha1.PendingInput) {
	r.t.Helper()
	p.AskTime, p.ExpirationTime = at(50), at(50+30*60)
	r.changes(func(run *v1alpha1.MotorRun) {
		run.Status.Phase, run.Status.PendingInputs = v1alpha1.PhaseAwaitingInput, []v1alpha1.PendingInput{p}
	})
}

// response is what was sent, "" if nothing was.
func (r *rig) response() string {
	r.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := r.Get(r.t.Context(), key, run); err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, p := range run.Spec.Responses[1:] {
		all = append(all, strings.Join([]string{p.ID, string(p.Decision), p.Answer, p.Reason, p.Guidance, p.Digest}, "|"))
	}
	return strings.Join(all, ", ")
}

func (r *rig) succeeds() {
	r.t.Helper()
	r.changes(func(run *v1alpha1.MotorRun) {
		run.Status.Phase, run.Status.Reason, run.Status.CompletionTime, run.Status.PendingInputs = v1alpha1.PhaseCompleted, "Completed", new(at(59)), nil
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue})
		run.Status.Result = &v1alpha1.RunResult{OK: true, Summary: "3 positions\x07\nACME"}
	})
}

func TestARunIsWatchedAnsweredAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 16)
	r.watches()
	golden.Check(t, "works.txt", r.Shows("make report"))
	r.asks(v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "ACME has no price.\n\x1b[2JUse the last known one?", Options: []string{"yes", "skip it"}, Default: "yes"})
	golden.Check(t, "asks.txt", r.Shows("waits for an answer", "Enter answer"))
	r.Types("\r")
	r.Shows("question · ")
	r.Types("2")
	golden.Check(t, "question.txt", r.Shows("Enter sends: option 2: skip it"))
	r.Types("\r")
	r.Shows("sent: option 2: skip it")
	if got := r.response(); got != "q||skip it|||" {
		t.Errorf("sent is %q", got)
	}
	r.succeeds()
	r.ends(verb.ExitOK)
	golden.Check(t, "ended.txt", r.Shows("Completed: 3 positions"))
}
