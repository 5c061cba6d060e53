// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// carried returns a run for which a worker has work.
func carried() *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{}
	run.Status.Execution.Epoch = 3
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}}
	return run
}

func TestCarriedOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"works":             {func(*v1alpha1.MotorRun) {}, true},
		"suspended":         {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, false},
		"without a sandbox": {func(r *v1alpha1.MotorRun) { r.Status.Conditions = nil }, false},
		"waits for a person": {func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q"})
		}, false},
		"has its answer": {func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q"})
			r.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "yes"}}
		}, true},
	} {
		run := carried()
		tt.change(run)
		if got := CarriedOn(run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Only the first trial is over with a result or with an outage.
func TestFirstTrialIsShort(t *testing.T) {
	t.Parallel()
	run := carried()
	st := &run.Status
	NoteLoss(st, t0)
	NoteLoss(st, t0)
	BeginTrial(st, t0)
	for name, tt := range map[string]struct {
		p      Progress
		first  time.Time
		second time.Time
	}{
		"nothing recorded":        {Progress{Epoch: 2, ToolCalls: 4}, t0.Add(trialTime), t0.Add(2 * trialTime)},
		"a step":                  {Progress{Epoch: 3, ToolCalls: 4}, time.Time{}, t0.Add(2 * trialTime)},
		"a result":                {Progress{Epoch: 2, ToolCalls: 5}, time.Time{}, t0.Add(2 * trialTime)},
		"the model cannot be had": {Progress{Epoch: 2, ToolCalls: 4, Outage: &Outage{}}, t0.Add(trialPause), t0.Add(2 * trialTime)},
	} {
		st.Losses.Trials = 1
		if end := TrialEnd(run, tt.p, 4); !end.Equal(tt.first) {
			t.Errorf("%s: the first trial ends at %s", name, end)
		}
		st.Losses.Trials = 2
		if end := TrialEnd(run, tt.p, 4); !end.Equal(tt.second) {
			t.Errorf("%s: the second trial ends at %s", name, end)
		}
	}
}

// A run that waits for a trial stands still, and so does its time. A run that is set aside stands still, and its time goes on.
func TestHeld(t *testing.T) {
	t.Parallel()
	aside := func(st *v1alpha1.MotorRunStatus) { st.Losses.SetAside = true }
	alone := func(st *v1alpha1.MotorRunStatus) { BeginTrial(st, t0) }
	over := func(st *v1alpha1.MotorRunStatus) { BeginTrial(st, t0); EndTrial(st) }
	for name, tt := range map[string]struct {
		losses       int
		change       func(*v1alpha1.MotorRunStatus)
		held, paused bool
	}{
		"one loss":        {losses: 1},
		"a suspect":       {losses: 2, held: true, paused: true},
		"on trial":        {losses: 2, change: alone},
		"after its trial": {losses: 2, change: over},
		"set aside":       {losses: 4, change: aside, held: true},
	} {
		run := carried()
		run.Spec.Limits.ActiveDeadlineSeconds = 600
		run.CreationTimestamp = metav1.NewTime(t0)
		for range tt.losses {
			NoteLoss(&run.Status, t0)
		}
		if tt.change != nil {
			tt.change(&run.Status)
		}
		if got := Held(&run.Status); got != tt.held || CarriedOn(run) == tt.held {
			t.Errorf("%s: held %t, carried on %t", name, got, CarriedOn(run))
		}
		ended := timedOut(Observation{Run: run}, t0.Add(time.Hour)) != nil
		if got := Paused(run, Progress{}); got != tt.paused || ended == tt.paused {
			t.Errorf("%s: paused %t, timed out %t", name, got, ended)
		}
	}
}

// From the first loss to the end of what ends its workers.
func TestLosses(t *testing.T) {
	t.Parallel()
	run := carried()
	st := &run.Status
	if IsSuspect(st) || IsAlone(st) || IsSetAside(st) {
		t.Error("a run without losses is a suspect")
	}
	NoteLoss(st, t0)
	if IsSuspect(st) {
		t.Error("one loss makes a suspect")
	}
	NoteLoss(st, t0.Add(lossWindow))
	if !IsSuspect(st) || IsAlone(st) || IsSetAside(st) {
		t.Errorf("after two losses: %+v", st.Losses)
	}
	if at := TrialAt(st); !at.Equal(t0.Add(lossWindow + trialPause)) {
		t.Errorf("it is tried at %s", at)
	}
	st.Execution.Epoch++
	BeginTrial(st, t0.Add(lossWindow))
	if !IsAlone(st) || !TrialEnd(run, Progress{Epoch: st.Execution.Epoch - 1}, 0).Equal(t0.Add(lossWindow+trialTime)) {
		t.Errorf("on trial: %+v until %s", st.Losses, TrialEnd(run, Progress{Epoch: st.Execution.Epoch - 1}, 0))
	}
	st.Execution.Epoch++
	if IsAlone(st) {
		t.Error("it is alone in an epoch in which it was given to another worker")
	}
	st.Execution.Epoch--
	// However long it took.
	NoteLoss(st, t0.Add(3*lossWindow))
	if IsSetAside(st) || IsAlone(st) || !IsSuspect(st) || !TrialAt(st).Equal(t0.Add(3*lossWindow+2*trialPause)) {
		t.Errorf("after a loss in its trial: %+v", st.Losses)
	}
	BeginTrial(st, t0.Add(3*lossWindow))
	NoteLoss(st, t0.Add(4*lossWindow))
	if !IsSetAside(st) || IsAlone(st) {
		t.Errorf("after a loss in its second trial: %+v", st.Losses)
	}
}

func TestLossesThatAreFarApart(t *testing.T) {
	t.Parallel()
	st := &carried().Status
	now := t0
	for range 5 {
		now = now.Add(lossWindow + time.Second)
		if NoteLoss(st, now); IsSuspect(st) {
			t.Fatalf("at %s: %+v", now, st.Losses)
		}
	}
}

func TestTrials(t *testing.T) {
	t.Parallel()
	run := carried()
	st := &run.Status
	NoteLoss(st, t0)
	NoteLoss(st, t0)
	BeginTrial(st, t0)
	if end := TrialEnd(run, Progress{Epoch: st.Execution.Epoch}, 0); !end.IsZero() {
		t.Errorf("the first trial goes on after a step until %s", end)
	}
	run.Spec.Suspend = true
	if end := TrialEnd(run, Progress{}, 0); !end.IsZero() {
		t.Errorf("the trial of a run that does nothing goes on until %s", end)
	}
	run.Spec.Suspend = false
	NoteLoss(st, t0)
	BeginTrial(st, t0)
	for i, want := range []time.Duration{4 * time.Minute, 8 * time.Minute, lossWindow, lossWindow, lossWindow} {
		EndTrial(st)
		if IsSuspect(st) || IsAlone(st) {
			t.Fatalf("after its trial: %+v", st.Losses)
		}
		NoteLoss(st, t0)
		if !IsSuspect(st) || IsSetAside(st) {
			t.Fatalf("after another loss: %+v", st.Losses)
		}
		BeginTrial(st, t0)
		if end := TrialEnd(run, Progress{Epoch: st.Execution.Epoch}, 0); !end.Equal(t0.Add(want)) {
			t.Errorf("trial %d lasts %s, want %s", i+3, end.Sub(t0), want)
		}
	}
	for _, tt := range []struct {
		losses int32
		want   time.Duration
	}{{2, 10 * time.Second}, {3, 20 * time.Second}, {6, 160 * time.Second}, {7, maxTrialPause}, {1 << 10, maxTrialPause}} {
		st.Losses.Count = tt.losses
		if at := TrialAt(st); !at.Equal(t0.Add(tt.want)) {
			t.Errorf("after %d losses it waits for %s", tt.losses, at.Sub(t0))
		}
	}
}

func TestLostWorkers(t *testing.T) {
	t.Parallel()
	after := t0.Add
	var h replica.Heartbeats
	h.Observe(replica.LeaseName("a"), replica.Heartbeat{Holder: "a-2", Renewed: t0, Term: time.Hour, Taken: true}, t0)
	h.Observe(replica.LeaseName("b"), replica.Heartbeat{Holder: "b-2", Renewed: t0, Term: time.Hour}, t0)
	h.Observe(replica.LeaseName("c"), replica.Heartbeat{Holder: "c-1", Renewed: t0, Term: time.Second}, t0)
	h.Observe(replica.LeaseName("d"), replica.Heartbeat{Holder: "d-1", Renewed: t0, Term: time.Hour, Taken: true}, t0)
	h.Forget(replica.LeaseName("d"))
	for id, want := range map[string]bool{
		"a-1": true,  // The next process took its Lease.
		"a-2": false, // It lives.
		"b-1": false, // It had taken its Lease away.
		"c-1": true,  // Its Lease has run out.
		"d-1": false, // Its Lease went with its Pod.
		"":    false, "none": false,
	} {
		if got := h.Lost(id, after(time.Minute)); got != want {
			t.Errorf("%q: %t", id, got)
		}
	}
}
