// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"
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
	// own is the process's clock.
	own time.Time
	age int64
}

func newWorld(t *testing.T, replicas ...int) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorRun{}).WithIndex(&v1alpha1.MotorRun{}, IndexSlots,
		func(o client.Object) []string { return SlotsOf(o.(*v1alpha1.MotorRun)) }).Build()
	w := &world{t: t, c: c, now: time.Unix(10_000, 0), own: time.Unix(50_000, 0), placer: &Placer{Client: c, Workers: sized(replicas), State: &State{}, Indexed: true}}
	// Each look is a new one.
	w.placer.Now = func() time.Time { w.own = w.own.Add(sharedFor); return w.own }
	return w
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
	// The API's clock is set.
	w.now = w.now.Add(-time.Hour)
	if w.asks(next, true) {
		t.Error("the slot is given away too early")
	}
	if w.own = w.own.Add(unseenFor); !w.asks(next, false) {
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

// A run has a slot from its sandbox on, and none while no loop has work for it.
func TestSlotsOf(t *testing.T) {
	t.Parallel()
	ask := v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})
	set := func(kind string, status metav1.ConditionStatus, reason string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) {
			apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
		}
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   string
	}{
		"it is carried on":   {func(*v1alpha1.MotorRun) {}, hasSlot},
		"it has no sandbox":  {func(r *v1alpha1.MotorRun) { r.Status.Sandbox = nil }, ""},
		"it is not accepted": {set(v1alpha1.ConditionAccepted, "False", v1alpha1.ReasonQueued), ""},
		"it asks":            {func(r *v1alpha1.MotorRun) { r.Status.PendingInputs = ask }, ""},
		"it is answered": {func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs, r.Spec.Responses = ask, []v1alpha1.Response{{ID: "q", Answer: "a"}}
		}, hasSlot},
		"it is suspended":      {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, ""},
		"it is cancelled":      {func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true }, ""},
		"it is ending":         {func(r *v1alpha1.MotorRun) { r.Status.Ending = &v1alpha1.RunEnding{} }, ""},
		"it has ended":         {set(v1alpha1.ConditionFinished, "True", v1alpha1.ReasonCompleted), ""},
		"it is being deleted":  {func(r *v1alpha1.MotorRun) { r.DeletionTimestamp = new(metav1.Now()) }, ""},
		"it waits":             {set(v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonSlotsTaken), waitsForSlot},
		"no node has room":     {set(v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonUnschedulable), ""},
		"its sandbox starts":   {set(v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonSandboxStarting), hasSlot},
		"its model is away":    {set(v1alpha1.ConditionModelAvailable, "False", "ModelOutage"), ""},
		"it waits for a trial": {func(r *v1alpha1.MotorRun) { r.Status.Losses = &v1alpha1.LossStatus{Count: 2} }, ""},
		"it is set aside":      {func(r *v1alpha1.MotorRun) { r.Status.Losses = &v1alpha1.LossStatus{Count: 4, SetAside: true} }, ""},
	} {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Sandbox: &v1alpha1.SandboxStatus{}}}
		set(v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted)(run)
		tt.change(run)
		if got := SlotsOf(run); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// One namespace with many runs leaves slots for the first run of others.
func TestTheFirstRunOfANamespaceBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	begun := 0
	for i := range 8 {
		if w.asks(w.run("a", fmt.Sprint(i)), true) {
			begun++
		}
	}
	if begun != 6 {
		t.Errorf("%d runs of one namespace have slots, of 8", begun)
	}
	if b := w.run("b", "first"); !w.asks(b, true) {
		t.Errorf("b: %s", w.message(b))
	}
}

// A slot that was given is free as soon as its run has ended, whether or not anything looked at it in between.
func TestARunThatEndedAtOnceLeavesItsSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	first, next := w.run("a", "first"), w.run("a", "next")
	if !w.asks(first, false) || w.asks(next, true) {
		t.Fatal("the only slot was given twice, or not at all")
	}
	w.write(first)
	w.ends(first)
	if woken := w.placer.NextRuns(t.Context(), first); len(woken) != 1 || woken[0].Name != "next" {
		t.Errorf("woken: %v", woken)
	}
	if !w.asks(next, true) {
		t.Errorf("next: %s", w.message(next))
	}
}

// When the only replica is started again, none is seen for a moment. Runs that wait go on to wait.
func TestNoReplicaIsSeenForAMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	if !w.asks(w.run("a", "first"), true) {
		t.Fatal("the only slot is not given")
	}
	w.placer.Workers = sized(nil)
	next := w.run("a", "next")
	if w.asks(next, true) {
		t.Error("the slot is given twice")
	}
	w.placer.Workers = sized{2}
	if !w.asks(next, true) {
		t.Errorf("next: %s", w.message(next))
	}
}

// Many runs that wait are put in order once a second together, and each when it comes.
func TestPositionsAreSharedForASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.placer.Now = func() time.Time { return w.own }
	looked := func() time.Time { return w.placer.State.given.last.at }
	w.asks(w.run("a", "has"), true)
	first, second := w.run("a", "1"), w.run("a", "2")
	w.asks(first, true)
	w.own = w.own.Add(sharedFor / 2)
	if w.asks(second, true); looked() != w.own || !strings.Contains(w.message(second), "number 2.") {
		t.Errorf("a run that comes is not put in its place: %s", w.message(second))
	}
	before := w.own
	w.own = w.own.Add(sharedFor / 2)
	if w.asks(first, true); looked() != before || !strings.Contains(w.message(first), "number 1.") {
		t.Errorf("looked again after half a second: %s", w.message(first))
	}
	w.own = w.own.Add(sharedFor / 2)
	if w.asks(first, true); looked() != w.own {
		t.Error("not looked again after a second")
	}
}
