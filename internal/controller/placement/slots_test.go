// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// sized are replicas with so many slots each.
type sized []int

func (z sized) Live() (live []replica.Worker) {
	for i, slots := range z {
		live = append(live, replica.Worker{ID: fmt.Sprint(i), Renewed: true, Slots: slots})
	}
	return live
}

func (sized) Lost(string) bool { return false }

// world has the runs of a cluster and the memory of its leader.
type world struct {
	t      *testing.T
	c      client.WithWatch
	placer *Placer
	now    time.Time
	age    int64
}

func newWorld(t *testing.T, replicas ...int) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorRun{}).WithIndex(&v1alpha1.MotorRun{}, IndexSlots,
		func(o client.Object) []string { return SlotsOf(o.(*v1alpha1.MotorRun)) }).Build()
	return &world{t: t, c: c, now: time.Unix(10_000, 0), placer: &Placer{Client: c, Workers: sized(replicas), State: &State{}, Indexed: true}}
}

// run makes a run that is accepted, each one second younger than the one before.
func (w *world) run(namespace, name string) *v1alpha1.MotorRun {
	w.t.Helper()
	w.age++
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), CreationTimestamp: metav1.NewTime(time.Unix(1000+w.age, 0)),
	}}
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: "Accepted"})
	if err := w.c.Create(w.t.Context(), run); err != nil {
		w.t.Fatal(err)
	}
	return run
}

// asks lets a run ask for a slot. seen says whether the cache shows the outcome afterwards.
func (w *world) asks(run *v1alpha1.MotorRun, seen bool) bool {
	w.t.Helper()
	s := pass.NewRun(run, w.now)
	has, err := w.placer.GiveSlot(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	if has {
		run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "pod"}
		apimeta.RemoveStatusCondition(&run.Status.Conditions, v1alpha1.ConditionSandboxReady)
	}
	if seen {
		w.write(run)
	}
	return has
}

func (w *world) write(run *v1alpha1.MotorRun) {
	w.t.Helper()
	if err := w.c.Status().Update(w.t.Context(), run); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ends(run *v1alpha1.MotorRun) {
	w.t.Helper()
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Completed"})
	w.write(run)
}

func (w *world) message(run *v1alpha1.MotorRun) string {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSandboxReady)
	if c == nil || c.Reason != v1alpha1.ReasonSlotsTaken {
		return ""
	}
	return c.Message
}

// No more runs have sandboxes than there are slots. The end of one wakes the run that is next, which is that of the namespace with fewer slots.
func TestSlotsAreGivenInTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 2)
	var first []*v1alpha1.MotorRun
	for i := range 3 {
		run := w.run("a", fmt.Sprint(i))
		first = append(first, run)
		// The cache shows none of them yet.
		if !w.asks(run, false) {
			t.Fatalf("%s has no slot", run.Name)
		}
	}
	for _, run := range first {
		w.write(run)
	}
	a, b := w.run("a", "waits"), w.run("b", "waits")
	for _, run := range []*v1alpha1.MotorRun{a, b} {
		if w.asks(run, true) {
			t.Fatalf("%s has a fourth slot of three", run.UID)
		}
	}
	for run, want := range map[*v1alpha1.MotorRun]string{a: "number 2", b: "number 1"} {
		if w.asks(run, true) || w.message(run) != "All slots of the replicas, 3, are taken by other runs. Of those that wait, the run is "+want+". Its time stands still." {
			t.Errorf("%s: %s", run.UID, w.message(run))
		}
	}
	leaves := LeavesSlot()
	before := first[0].DeepCopy()
	w.ends(first[0])
	if !leaves.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: first[0]}) || leaves.Update(event.UpdateEvent{ObjectOld: a, ObjectNew: a}) {
		t.Error("the end of a run is no reason to look who is next, or anything is")
	}
	if next := w.placer.NextRuns(t.Context(), first[0]); len(next) != 1 || next[0].Namespace != "b" {
		t.Fatalf("woken: %v", next)
	}
	// The other one comes at the same time and does not overtake.
	if w.asks(a, true) || !w.asks(b, false) || w.asks(a, true) {
		t.Errorf("a: %q, b: %q", w.message(a), w.message(b))
	}
}

// A grant that comes to nothing is free again, and one that the cache does not show yet is not given twice.
func TestASlotThatIsNotTakenIsFreeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	lost, next := w.run("a", "lost"), w.run("a", "next")
	if !w.asks(lost, false) || w.asks(next, true) {
		t.Fatal("the only slot was given twice, or not at all")
	}
	lost.Status.Sandbox = nil
	if !w.asks(lost, false) {
		t.Error("the run that has the slot has to ask for it again, and does not get it")
	}
	w.now = w.now.Add(unseenFor)
	if w.asks(next, true) {
		t.Error("the slot is given away too early")
	}
	if w.now = w.now.Add(time.Second); !w.asks(next, false) {
		t.Errorf("the slot is not free: %s", w.message(next))
	}
}

// A replica of an earlier version does not say how many slots it has, and a run that had a sandbox waits for none.
func TestNoSlotIsNeeded(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string][]int{"an earlier replica": {1, 0}, "no replica": nil} {
		w := newWorld(t, replicas...)
		for i := range 3 {
			if !w.asks(w.run("a", fmt.Sprint(i)), true) {
				t.Errorf("%s: run %d waits", name, i)
			}
		}
		if next := w.placer.NextRuns(t.Context(), nil); len(next) > 0 {
			t.Errorf("%s: woken: %v", name, next)
		}
	}
	w := newWorld(t, 1)
	had := w.run("a", "had")
	had.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "pod"}
	if !w.asks(w.run("a", "first"), true) || !w.asks(had, true) {
		t.Error("a run that had a sandbox waits")
	}
}
