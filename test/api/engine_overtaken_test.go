// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/test/printed"
)

// serve has the sandbox serve an epoch, as a worker does that was given the run under it.
func (r *engineRig) serve(epoch int64) {
	r.t.Helper()
	_, err := r.oldClient(epoch).Hello(r.ctx)
	must(r.t, err)
}

// wantGivenUp asserts that the attempt ended because its sandbox has served an epoch that the API server does not know.
func (r *engineRig) wantGivenUp(steps []v1alpha1.MotorStep) {
	r.t.Helper()
	o := steps[len(steps)-1].Spec.Outcome
	if o == nil || o.Category != v1alpha1.CategoryInfraFailure || o.Reason != outcome.ReasonSandboxLost || !o.Retryable {
		r.t.Fatalf("the attempt ended with %+v", o)
	}
	for _, part := range []string{"run-motor-sandbox", "later epoch of the run than 1,", "restore of etcd", "find out"} {
		if !strings.Contains(o.Message, part) {
			r.t.Errorf("the message %q lacks %q", o.Message, part)
		}
	}
	if got := r.effects(); got != "" {
		r.t.Errorf("the side effects are %q", got)
	}
}

// The journal has a call whose step was recorded last; the ledger has a later epoch, as after a restore of etcd. The loop would be refused
// until the timeout of the run.
func TestEngineGivesUpASandboxOfAnotherTime(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo x >> effects"}`)), says("done")}})
	r.await(r.startDoomed("worker-1", attempt.AfterIntent, 1))
	r.serve(7)
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	r.wantGivenUp(steps)
	unknown := runpolicy.ReadJournal(r.run, steps).Unknown
	if len(unknown) != 1 || unknown[0].ID != turn.CallID(1, 1, 0) || !unknown[0].InFlight {
		t.Errorf("the calls of unknown outcome are %+v", unknown)
	}
}

// The records of the run are of a time before its first step, so the sandbox has no pinned key.
func TestEngineGivesUpASandboxOfATimeAfterItsRecords(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo x >> effects"}`)), says("done")}})
	r.serve(7)
	r.startEngine("worker-1", nil)
	r.wantGivenUp(r.ended(1))
}

// oldRun is a cache that has not heard of what became of the run.
type oldRun struct {
	client.Client
	run *v1alpha1.MotorRun
}

func (c oldRun) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if run, ok := o.(*v1alpha1.MotorRun); ok {
		c.run.DeepCopyInto(run)
		return nil
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// A worker that holds its Lease, and does not know that the run was given to another one, ends its loop and records nothing.
func TestEngineThatWasOvertakenLeavesTheRunAlone(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo x >> effects"}`)), says("done")}})
	old := r.run.DeepCopy()
	r.giveTo("worker-2", 2)
	r.serve(2)
	log := &printed.Text{}
	stop := r.startEngineWith("worker-1", func(e *engine.Engine) {
		e.Client = oldRun{e.Client, old}
		e.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	r.waitFor(func() bool { return strings.Contains(log.String(), "another worker carries the run on") })
	stop()
	if !strings.Contains(log.String(), "the sandbox refuses this worker") {
		t.Errorf("the sandbox did not refuse the worker: %s", log)
	}
	if steps := r.steps(func([]v1alpha1.MotorStep) bool { return true }); len(steps) != 0 || r.effects() != "" {
		t.Errorf("the former worker has recorded %+v and done %q", steps, r.effects())
	}

	// Nothing is lost to the worker that has the run.
	r.startEngine("worker-2", nil)
	steps := r.ended(2)
	if r.effects() != "x\n" || steps[0].Spec.Epoch != 2 || steps[1].Spec.Outcome != nil {
		t.Errorf("the side effects are %q, the journal is %+v", r.effects(), steps)
	}
}

// The run ends, and its sandbox cannot be looked at. Its last step says why at once, and not when the time for the look is over.
func TestEngineClosesARunWhoseSandboxIsOfAnotherTime(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo x >> effects"}`)), says("done")}})
	r.await(r.startDoomed("worker-1", attempt.AfterIntent, 1))
	r.serve(7)
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCancelled}
	})
	r.startEngine("worker-1", nil)
	steps := r.steps(func(steps []v1alpha1.MotorStep) bool {
		return len(steps) > 0 && steps[len(steps)-1].Status.Closed != nil
	})
	p := runpolicy.ReadJournal(r.run, steps)
	if len(steps) != 1 || !strings.Contains(p.NotCollected, "later epoch of the run than 1,") {
		t.Errorf("after %d steps the last one says %q", len(steps), p.NotCollected)
	}
}
