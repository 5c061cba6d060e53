// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func suspended(run *v1alpha1.MotorRun) { run.Spec.Suspend = true }

func TestSuspendedRunDoesNotBegin(t *testing.T) {
	r := newRig(t, suspended, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 60 })
	res := r.step()
	r.want(v1alpha1.PhaseCreated, "Suspended True Suspended", "Accepted ", "SandboxReady ", "Finished False Running")
	if r.pod() != nil || res.RequeueAfter != 0 {
		t.Errorf("Pod %v, comes back after %s", r.pod(), res.RequeueAfter)
	}
	if m := r.run().Status.Message; !strings.Contains(m, "spec.suspend") {
		t.Errorf("message %q", m)
	}
	// The API server's clock, by which the Pod is created, does not go with the rig's.
	r.now = r.now.Add(100 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Finished False Running")
	r.patchSpec(`{"suspend":false}`)
	r.ready()
	r.want(v1alpha1.PhaseRunning, "Suspended False Resumed", "Accepted True Accepted")
	// Its time has not begun to run before.
	r.now = r.now.Add(50 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.now = r.now.Add(12 * time.Second)
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
	for _, e := range []string{"Normal Suspended", "Normal Resumed"} {
		if !slices.Contains(r.events, e) {
			t.Errorf("events %v lack %s", r.events, e)
		}
	}
}

func TestSuspendAndResume(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.step()
	uid := r.pod().UID
	r.patchSpec(`{"suspend":true}`)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Suspended True Suspended", "SandboxReady True SandboxReady")
	if m := r.run().Status.Message; !strings.HasPrefix(m, "The run is suspended, by admin. It goes on when") {
		t.Errorf("message %q", m)
	}
	r.now = r.now.Add(24 * time.Hour)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.patchSpec(`{"suspend":false}`)
	res := r.step()
	r.want(v1alpha1.PhaseRunning, "Suspended False Resumed")
	if st := r.run().Status.Paused; st.StartTime != nil || st.DurationSeconds < 86400 || st.DurationSeconds > 86402 {
		t.Errorf("paused %+v", st)
	}
	if res.RequeueAfter < 590*time.Second || res.RequeueAfter > 605*time.Second || r.pod().UID != uid {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	r.said(turnAt(2, "done"))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if s := run.Status.Result.Stats; s.WaitingMilliseconds < 86400_000 || s.OverheadMilliseconds > 60_000 {
		t.Errorf("stats %+v", s)
	}
}

func TestCancelWhileSuspended(t *testing.T) {
	for name, bring := range map[string]func(*rig){
		"before it began": func(r *rig) { r.patchSpec(`{"suspend":true}`); r.step() },
		"while running":   func(r *rig) { r.ready(); r.patchSpec(`{"suspend":true}`); r.step() },
		"while it asks": func(r *rig) {
			r.ready()
			r.asked(1, `{"question":"Which?"}`)
			r.patchSpec(`{"suspend":true}`)
			r.step()
		},
		"while it waits for a retry": func(r *rig) {
			r.ready()
			r.failed("Why")
			r.patchSpec(`{"suspend":true}`)
			r.step()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			bring(r)
			r.patchSpec(`{"cancel":true}`)
			r.step()
			r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
			r.want(v1alpha1.PhaseCancelled, "Suspended False RunEnded")
			if r.pod() != nil {
				t.Error("the sandbox is still there")
			}
		})
	}
}

// The time for an answer goes on: it is the person's, and not the run's.
func TestQuestionWhileSuspended(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 6000 })
	r.ready()
	id := r.asked(1, `{"question":"Which?"}`)
	r.patchSpec(`{"suspend":true}`)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "Suspended True Suspended", "AwaitingInput True Question")
	if m := r.run().Status.Message; !strings.Contains(m, "suspended") || !strings.Contains(m, "Which?") {
		t.Errorf("message %q", m)
	}
	respond(r.ctx, t, r.run(), id, "this")
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered")
	// The answer waits for the run, however long that is suspended.
	r.now = r.now.Add(24 * time.Hour)
	r.step()
	r.patchSpec(`{"suspend":false}`)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running", "Suspended False Resumed")
	r.now = r.now.Add(5 * time.Minute)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.used("this")
	r.step()
	if st := r.run().Status; st.Paused.DurationSeconds != 0 {
		t.Errorf("the time of a question was counted twice: %+v", st.Paused)
	}
	// The question was asked by the API server's clock: what the test took until then is the run's time too.
	r.now = r.now.Add(5400 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.now = r.now.Add(600 * time.Second)
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
}

// What befalls the sandbox of a suspended run costs no attempt before the run goes on.
func TestSandboxLostWhileSuspended(t *testing.T) {
	r := newRig(t)
	r.ready()
	uid := r.pod().UID
	r.patchSpec(`{"suspend":true}`)
	r.step()
	must(t, admin.Delete(r.ctx, r.pod()))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Suspended True Suspended", "SandboxReady False SandboxLost", "Finished False Running")
	r.wantAttempts("First")
	if r.pod() != nil {
		t.Error("a Pod was made for a suspended run")
	}
	r.patchSpec(`{"suspend":false}`)
	r.settle()
	r.wantAttempts("First SandboxLost", "Infrastructure")
	if pod := r.pod(); pod == nil || pod.UID == uid {
		t.Errorf("the new Pod is %v", pod)
	}
}
