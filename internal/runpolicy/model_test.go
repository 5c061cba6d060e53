// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// world is a run with everything that acts on it: people, its engine, its Pod, the clock. The steps of a pass of the controller are done as the
// controller does them, with this package's functions.
type world struct {
	t     *testing.T
	r     *rand.Rand
	seed  uint64
	log   []string
	run   *v1alpha1.MotorRun
	steps []v1alpha1.MotorStep
	now   time.Time
	// pod is the run's Pod, nil if there is none.
	pod     *sandbox.State
	created time.Time
	// missing is true if the Pod in the status does not exist.
	missing bool
	end     *End
	wakeAt  time.Time
	// idle is how long the run stood still, as the world saw it.
	idle   time.Duration
	paused time.Duration
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 3)), run: testRun(), now: t0, pod: runningPod, created: t0}
	w.run.Spec.MaxAttempts = 1 + w.r.Int32N(4)
	w.run.Spec.Limits.RetryDeadlineSeconds = 1 + w.r.Int32N(100)
	w.run.Spec.Limits.ActiveDeadlineSeconds = 50 + w.r.Int32N(500)
	w.run.Spec.Limits.ApprovalDeadlineSeconds = 1 + w.r.Int32N(100)
	if w.r.IntN(2) == 0 {
		w.run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\n%s\nattempts %+v", w.seed, fmt.Sprintf(format, args...), w.log, w.run.Status.Attempts)
}

// pass is what the controller does when something has changed, until nothing does.
func (w *world) pass() {
	for range 10 {
		if w.end != nil || !w.once() {
			return
		}
	}
	w.fail("the passes do not come to an end")
}

// once reports whether it made a change that another pass has to look at.
func (w *world) once() bool {
	st := &w.run.Status
	p := ReadJournal(w.run, w.steps)
	st.Attempts = AttemptsOf(st, p, w.now)
	o := Observation{Run: w.run, Progress: p, Sandbox: w.pod, SandboxSince: w.created, SandboxGone: w.missing, SandboxStartTimeout: 60 * sec}
	d := Decide(o, w.now)
	w.checkDecision(d)
	w.wakeAt = d.WakeAt
	if d.End != nil {
		w.end = d.End
		CountPause(&st.Paused, false, w.now)
		w.checkEnd(p)
		return false
	}
	st.PendingInputs = nil
	if d.Failure != nil {
		Fail(st, d.Failure, d.FinishedAt)
		st.PendingInputs = v1alpha1.PendingList(d.Retry)
	}
	if d.Next != nil {
		w.begin(d.Next)
		p = ReadJournal(w.run, w.steps)
	}
	changed := d.Next != nil || w.showSuspension()
	if st.Pending() == nil && p.Pending != nil {
		st.PendingInputs = v1alpha1.PendingList(p.Pending)
		st.Pending().Answered = IsInEffect(w.run, p, nil)
	}
	CountPause(&st.Paused, Paused(w.run, p), w.now)
	if !w.run.Spec.Suspend && st.Pending() == nil && w.pod == nil && !w.missing {
		w.pod, w.created = startingPod, w.now
		changed = true
	}
	fit.Fit(st)
	w.check()
	return changed
}

func (w *world) begin(n *Next) {
	st := &w.run.Status
	w.log = append(w.log, fmt.Sprintf("attempt %d %s", n.Index, n.Cause))
	Begin(st, n, w.now)
	if n.NewSandbox {
		w.pod, w.missing = nil, false
	}
}

func (w *world) showSuspension() bool {
	st, status := &w.run.Status, metav1.ConditionFalse
	if w.run.Spec.Suspend {
		status = metav1.ConditionTrue
	}
	i := slices.IndexFunc(st.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionSuspended })
	if i < 0 && w.run.Spec.Suspend {
		st.Conditions = append(st.Conditions, metav1.Condition{Type: v1alpha1.ConditionSuspended, Status: status, LastTransitionTime: metav1.NewTime(w.now)})
		return true
	}
	if i < 0 || st.Conditions[i].Status == status {
		return false
	}
	st.Conditions[i].Status, st.Conditions[i].LastTransitionTime = status, metav1.NewTime(w.now)
	return true
}

func (w *world) checkDecision(d Decision) {
	if d.End != nil {
		return
	}
	if (d.Failure != nil) != (d.Next != nil || d.Retry != nil) || d.Next != nil && d.Retry != nil {
		w.fail("decision %+v", d)
	}
	stands := stopped(w.run)
	if d.Next == nil && !stands && !d.WakeAt.After(w.now) {
		w.fail("nothing wakes the run: %+v", d)
	}
	if n := d.Next; n != nil && n.Cause == v1alpha1.CauseRetry && RetryOf(w.run, n.Index-1) == nil {
		w.fail("nobody asked for attempt %d", n.Index)
	}
}

// check looks at what must be true between passes.
func (w *world) check() {
	asked, own := int32(0), 0
	for i, a := range w.run.Status.Attempts {
		last := i == len(w.run.Status.Attempts)-1
		if int(a.Index) != i+1 || !last && (a.Failure == nil || a.CompletionTime == nil || a.RecoveryContext != "") {
			w.fail("attempt %d: %+v", i+1, a)
		}
		if i > 0 && a.RecoveryContext == "" && last {
			w.fail("attempt %d knows nothing of those before", i+1)
		}
		if a.Cause == v1alpha1.CauseInfrastructure {
			own++
		} else {
			asked++
		}
	}
	if asked > w.run.Spec.MaxAttempts || own > maxOperatorAttempts {
		w.fail("%d attempts asked for, %d the operator's", asked, own)
	}
	paused := pausedFor(w.run.Status.Paused, w.now)
	if paused < w.paused || paused > w.now.Sub(t0)+time.Duration(len(w.log)+1)*sec {
		w.fail("paused for %s after %s", paused, w.paused)
	}
	w.paused = paused
}

func (w *world) checkEnd(p Progress) {
	w.log = append(w.log, "end "+w.end.Reason)
	if w.end.Reason == v1alpha1.ReasonTimeout && p.Pending == nil {
		// The times between which a question was open are whole seconds.
		rounding := 2 * sec * time.Duration(len(w.run.Status.Attempts))
		budget := time.Duration(w.run.Spec.Limits.ActiveDeadlineSeconds)*sec - rounding
		if active := w.now.Sub(t0) - w.idle; active < budget {
			w.fail("timed out after %s of work, the budget is %s", active, budget)
		}
	}
	if (w.end.Phase == v1alpha1.PhaseCompleted) != (p.Final != nil) {
		w.fail("ended with %s, the journal says %v", w.end.Phase, p.Final)
	}
}

// wait has time pass.
func (w *world) wait(d time.Duration) {
	p := ReadJournal(w.run, w.steps)
	if stopped(w.run) || awaitsRetry(w.run) || p.Pending != nil {
		w.idle += d
	}
	w.now = w.now.Add(d)
}

// Whatever happens in whatever order, a run comes to its end, in no more attempts than it may have. It loses no time in which it stood still.
func TestRunsComeToAnEnd(t *testing.T) {
	t.Parallel()
	reasons := map[string]int{}
	attempts := map[int]int{}
	approvals := map[v1alpha1.AskOutcome]int{}
	for seed := range uint64(2000) {
		w := newWorld(t, seed)
		w.pass()
		for n := 0; n < 120 && w.end == nil; n++ {
			w.act()
			w.pass()
		}
		// No actor does anything any more.
		w.run.Spec.Suspend = false
		w.pass()
		for wakes := 0; w.end == nil; wakes++ {
			if wakes > 60 {
				w.fail("the run never ends")
			}
			if w.wakeAt.IsZero() {
				w.fail("nothing wakes the run")
			}
			w.wait(max(0, w.wakeAt.Sub(w.now)))
			w.pass()
		}
		reasons[w.end.Reason]++
		attempts[len(w.run.Status.Attempts)]++
		for i := range w.steps {
			for _, a := range w.steps[i].Status.Asks {
				if a.Kind == v1alpha1.InputApproval {
					approvals[a.Outcome]++
				}
			}
		}
	}
	t.Logf("ends %v, attempts %v", reasons, attempts)
	for _, reason := range []string{
		v1alpha1.ReasonCompleted, v1alpha1.ReasonCancelled, v1alpha1.ReasonTimeout, v1alpha1.ReasonUserResponseTimeout, v1alpha1.ReasonSandboxLost, "Why",
	} {
		if reasons[reason] == 0 {
			t.Errorf("no run ended with %s", reason)
		}
	}
	for _, outcome := range []v1alpha1.AskOutcome{"", v1alpha1.AskApproved, v1alpha1.AskDenied, v1alpha1.AskExpired} {
		if approvals[outcome] == 0 {
			t.Errorf("of no request to approve a call became %q", outcome)
		}
	}
	if attempts[4] == 0 {
		t.Error("no run had four attempts")
	}
}
