// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// watched gives events of runs to the handler, and has passes over what the handler asked for.
func (g *rig) watched(events ...any) {
	g.t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[request]())
	defer q.ShutDown()
	h := g.r.handler(kindRun)
	for _, e := range events {
		switch e := e.(type) {
		case event.UpdateEvent:
			h.Update(g.ctx, e, q)
		case event.DeleteEvent:
			h.Delete(g.ctx, e, q)
		}
	}
	for q.Len() > 0 {
		req, _ := q.Get()
		_, err := g.r.Reconcile(g.ctx, req)
		g.must(err)
		q.Done(req)
	}
}

// end sets the end of a run that the API server does not have yet.
func end(run *v1alpha1.MotorRun) {
	set(run, v1alpha1.ConditionSucceeded, v1alpha1.ReasonCompleted)
	set(run, v1alpha1.ConditionFinished, v1alpha1.ReasonCompleted)
	run.Status.CompletionTime = new(metav1.NewTime(time.Now()))
}

// The pass over the last change of a run and its deletion can come in any order.
func TestTheEndOfARunDeletedRightAfterIt(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		run := g.accept("run")
		synctest.Wait()
		end(run)
		g.must(g.c.Delete(g.ctx, run.DeepCopy()))
		g.watched(event.UpdateEvent{ObjectOld: run, ObjectNew: run}, event.DeleteEvent{Object: run})
		g.want("a", "u-run/run.started", "u-run/run.completed")
	})
}

// A run that the watch last saw going may have ended since: nothing is claimed about its end. One that was seen to end is told.
func TestARunWhoseDeletionTheWatchMissed(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		going, done := g.accept("going"), g.accept("done")
		synctest.Wait()
		end(done)
		for _, run := range []*v1alpha1.MotorRun{going, done} {
			g.must(g.c.Delete(g.ctx, run.DeepCopy()))
			g.watched(event.DeleteEvent{Object: run, DeleteStateUnknown: true})
		}
		g.want("a", "u-going/run.started", "u-done/run.started", "u-done/run.completed")
		later(2 * time.Minute)
		if st := g.cortex().Status.Sinks[0]; st.Dropped != 1 {
			t.Errorf("the status is %+v", st)
		}
	})
}
