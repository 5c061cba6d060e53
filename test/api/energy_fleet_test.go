// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/controller/budget"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	amounts "motorcortex.dev/motorcortex/internal/energy"
	"motorcortex.dev/motorcortex/internal/storage"
)

// hasEnergy adds the controller of energy to a fleet.
func hasEnergy(f *fleet) {
	f.more = func(mgr ctrl.Manager, _ *storage.Meter, _ *budget.Budget) {
		f.energy = &energy.Reconciler{Ledger: energy.Ledger{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: time.Now}}
		must(f.t, f.energy.SetupWithManager(mgr))
	}
}

// awaitLedger waits until the energy of the namespace fulfils a condition, and returns it.
func (f *fleet) awaitLedger(what string, until func(*v1alpha1.EnergyStatus) bool) *v1alpha1.EnergyStatus {
	f.t.Helper()
	c := &v1alpha1.MotorCortex{}
	if err := wait.PollUntilContextCancel(f.ctx, 30*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: v1alpha1.CortexName}, c)
		return c.Status.Energy != nil && until(c.Status.Energy), err
	}); err != nil {
		f.t.Fatalf("%s: %v, %+v", what, err, c.Status.Energy)
	}
	return c.Status.Energy
}

// With a manager's cache and watches: the end of runs settles them, across a change of the leader, and those that wait go on.
func TestEnergyAcrossAChangeOfTheLeader(t *testing.T) {
	f := newFleet(t, workers{"replica-1"}, hasEnergy)
	f.cortex(living(initially("0.45"), func(e *v1alpha1.Energy) { e.RegenerationPerHour = "0" }))
	f.create("first")
	f.awaitReason(v1alpha1.ReasonAccepted, "first")
	f.create("second")
	f.awaitReason(v1alpha1.ReasonAccepted, "second")
	f.create("tired")
	f.awaitReason(v1alpha1.ReasonNoEnergy, "tired")
	f.stop()
	f.cancel("first")
	f.delete("second")
	f.start()
	f.awaitLedger("both are settled", func(st *v1alpha1.EnergyStatus) bool {
		return len(st.Open) == 0 && len(st.Recent) == 2 && st.Level == "0.25"
	})
	// Who waits is woken by what a person changes.
	must(t, mergePatch(f.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)},
		`{"spec":{"energy":{"drains":[{"kind":"Agentic","minimumLevel":"0.2"}]}}}`))
	f.awaitReason(v1alpha1.ReasonAccepted, "tired")
	f.awaitLedger("the one that waited is drained", func(st *v1alpha1.EnergyStatus) bool { return st.Level == "0.15" && len(st.Open) == 1 })
	must(t, mergePatch(f.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)}, `{"spec":{"energy":null}}`))
	f.await("the ledger is gone", func(map[string]*v1alpha1.MotorRun) bool {
		c := &v1alpha1.MotorCortex{}
		must(t, admin.Get(f.ctx, client.ObjectKey{Namespace: f.ns, Name: v1alpha1.CortexName}, c))
		return c.Status.Energy == nil
	})
}

// Requests get lost, and answers too, the cache is behind, and the leader changes in the middle. In the end the level is what the runs cost by their own
// statuses, to the last millionth.
func TestChaosEnergyCountsEachRunOnce(t *testing.T) {
	const count = 24
	faults := chaos.New(uint64(time.Now().UnixNano()), func(chaos.Kind, *http.Request) {})
	f := newFleet(t, workers{"replica-1"}, hasEnergy, func(f *fleet) { f.wrap = faults.Wrap })
	spec := living(func(e *v1alpha1.Energy) {
		e.RegenerationPerHour = "0"
		e.Drains = []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyAgentic, Base: "0.012345", MinimumLevel: "0"}}
	})
	spec.Concurrency.MaxActive = count
	f.cortex(spec)
	faults.Set(chaos.Settings{Unsent: 0.15, Unanswered: 0.25, WatchLife: 2 * time.Second, WatchDelay: 300 * time.Millisecond})
	for i := range count {
		f.create(fmt.Sprintf("run-%02d", i))
		switch i {
		case 8, 16:
			f.stop()
			f.start()
		}
		// Some are cancelled as soon as they are there, others when they have begun.
		if i%4 == 0 {
			f.cancel(fmt.Sprintf("run-%02d", i))
		}
	}
	f.await("all are accepted or have ended", func(runs map[string]*v1alpha1.MotorRun) bool {
		for _, run := range runs {
			if !isDone(run) && !holdsPlace(run) {
				return false
			}
		}
		return true
	})
	f.stop()
	f.start()
	for i := range count {
		f.cancel(fmt.Sprintf("run-%02d", i))
	}
	want := amounts.Full
	f.await("all have ended", func(runs map[string]*v1alpha1.MotorRun) bool {
		want = amounts.Full
		for _, run := range runs {
			if !isDone(run) {
				return false
			}
			if e := run.Status.Energy; e != nil {
				cost, err := amounts.Parse(string(e.Consumed))
				must(t, err)
				want -= cost
			}
		}
		return true
	})
	st := f.awaitLedger("all are settled", func(st *v1alpha1.EnergyStatus) bool { return len(st.Open) == 0 })
	if string(st.Level) != want.String() || want == amounts.Full {
		t.Errorf("the level is %s, and by the runs %s", st.Level, want)
	}
	if faults.Count(chaos.Unsent) == 0 || faults.Count(chaos.Unanswered) == 0 {
		t.Error("no fault happened")
	}
}
