// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func concurrency(maxActive int32, whenBusy v1alpha1.WhenBusy) v1alpha1.MotorCortexSpec {
	return v1alpha1.MotorCortexSpec{Concurrency: &v1alpha1.Concurrency{MaxActive: maxActive, WhenBusy: whenBusy}}
}

func priority(p int32) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.Priority = p }
}

// observer sees every state of every run of a namespace, in the order in which they were written.
type observer struct {
	f  *fleet
	mu sync.Mutex
	// holds says which runs are active, most how many there were at a time, placed has them in order.
	holds  map[string]bool
	most   int
	placed []string
}

// observe begins to observe a namespace. begun, if set, is told of each run that gets a place.
func (f *fleet) observe(begun func(name string)) *observer {
	f.t.Helper()
	w, err := admin.Watch(f.ctx, &v1alpha1.MotorRunList{}, client.InNamespace(f.ns))
	must(f.t, err)
	o := &observer{f: f, holds: map[string]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for e := range w.ResultChan() {
			if run, ok := e.Object.(*v1alpha1.MotorRun); ok && o.note(run.Name, holdsPlace(run) && e.Type != watch.Deleted) && begun != nil {
				begun(run.Name)
			}
		}
	})
	f.t.Cleanup(func() { w.Stop(); wg.Wait() })
	return o
}

// note reports whether the run has got its place just now.
func (o *observer) note(name string, holds bool) (begun bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	begun = holds && !o.holds[name]
	if begun {
		o.placed = append(o.placed, name)
	}
	if o.holds[name] = holds; !holds {
		delete(o.holds, name)
	}
	o.most = max(o.most, len(o.holds))
	return begun
}

// want waits until so many runs have had a place and gives them in order. No more than most may have been active.
func (o *observer) want(placed, most int) []string {
	o.f.t.Helper()
	err := wait.PollUntilContextCancel(o.f.ctx, 30*time.Millisecond, true, func(context.Context) (bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.placed) >= placed, nil
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || len(o.placed) != placed {
		o.f.t.Errorf("%d runs had a place, want %d: %v (%v)", len(o.placed), placed, o.placed, err)
	}
	if o.most > most {
		o.f.t.Errorf("%d runs were active at the same time, %d may be", o.most, most)
	}
	return slices.Clone(o.placed)
}

// Twenty runs come at once and each ends as soon as it has begun, while the leader changes twice.
func TestNeverMoreActiveThanPlaces(t *testing.T) {
	f := newFleet(t, workers{"replica-1"})
	f.cortex(concurrency(2, v1alpha1.BusyQueue))
	const count = 20
	o := f.observe(f.cancel)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			if err := admin.Create(f.ctx, newRun(f.ns, func(run *v1alpha1.MotorRun) { run.Name = fmt.Sprintf("run-%02d", i) })); err != nil {
				t.Errorf("create a run: %v", err)
			}
		})
	}
	ended := func(n int) {
		f.await(fmt.Sprintf("%d runs have ended", n), func(runs map[string]*v1alpha1.MotorRun) bool {
			done := 0
			for _, run := range runs {
				if isDone(run) {
					done++
				}
			}
			return done >= n
		})
	}
	for _, n := range []int{5, 10} {
		ended(n)
		f.stop()
		f.start()
	}
	wg.Wait()
	ended(count)
	o.want(count, 2)
}

// cancel ends a run from another goroutine than the test's.
func (f *fleet) cancel(name string) {
	if err := mergePatch(f.ctx, &v1alpha1.MotorRun{ObjectMeta: meta(f.ns, name)}, `{"spec":{"cancel":true}}`); client.IgnoreNotFound(err) != nil && f.ctx.Err() == nil {
		f.t.Errorf("cancel %s: %v", name, err)
	}
}

func TestQueueIsByPriorityThenAge(t *testing.T) {
	f := newFleet(t, workers{"replica-1"})
	f.cortex(concurrency(1, v1alpha1.BusyQueue))
	f.create("holder")
	f.awaitReason(v1alpha1.ReasonAccepted, "holder")
	var waiting []*v1alpha1.MotorRun
	var names []string
	for i, p := range []int32{0, 5, -3, 5, 0, 1000, -1000, 0} {
		// The names are against the order.
		run := newRun(f.ns, priority(p), func(run *v1alpha1.MotorRun) { run.Name = fmt.Sprintf("run-%c", 'z'-rune(i)) })
		must(t, admin.Create(f.ctx, run))
		waiting, names = append(waiting, run), append(names, run.Name)
	}
	f.awaitReason(v1alpha1.ReasonQueued, names...)
	o := f.observe(nil)
	slices.SortFunc(waiting, func(a, b *v1alpha1.MotorRun) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	active := "holder"
	for _, next := range waiting {
		f.patch(active, `{"cancel":true}`)
		f.awaitReason(v1alpha1.ReasonAccepted, next.Name)
		active = next.Name
	}
	want := []string{"holder"}
	for _, run := range waiting {
		want = append(want, run.Name)
	}
	if diff := gocmp.Diff(want, o.want(len(want), 1)); diff != "" {
		t.Errorf("the order of places (-want +got):\n%s", diff)
	}
}

func TestWhatGivesTheNextOneItsTurn(t *testing.T) {
	tests := map[string]func(f *fleet){
		"the holder is cancelled": func(f *fleet) { f.patch("holder", `{"cancel":true}`) },
		"the holder is deleted":   func(f *fleet) { f.delete("holder") },
		"there is one place more": func(f *fleet) { f.cortex(concurrency(2, v1alpha1.BusyQueue)) },
		"there are many places":   func(f *fleet) { f.cortex(concurrency(1000, v1alpha1.BusyQueue)) },
		"the MotorCortex goes": func(f *fleet) {
			must(f.t, admin.Delete(f.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)}))
		},
		"the leader is another one": func(f *fleet) {
			f.stop()
			f.patch("holder", `{"cancel":true}`)
			f.start()
		},
		"the holder ends while others of the queue do": func(f *fleet) {
			for i := range 3 {
				f.create(fmt.Sprintf("before-%d", i), priority(9))
			}
			f.awaitReason(v1alpha1.ReasonQueued, "before-0", "before-1", "before-2")
			f.delete("before-0")
			f.patch("holder", `{"cancel":true}`)
			f.patch("before-1", `{"cancel":true}`)
			f.patch("before-2", `{"suspend":true}`)
			f.await("nobody is before it", func(runs map[string]*v1alpha1.MotorRun) bool {
				if holdsPlace(runs["before-2"]) {
					f.cancel("before-2")
				}
				return holdsPlace(runs["next"])
			})
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, workers{"replica-1"})
			f.cortex(concurrency(1, v1alpha1.BusyQueue))
			f.create("holder")
			f.awaitReason(v1alpha1.ReasonAccepted, "holder")
			f.create("next")
			f.awaitReason(v1alpha1.ReasonQueued, "next")
			happen(f)
			f.awaitReason(v1alpha1.ReasonAccepted, "next")
		})
	}
}

func TestRejectedWhenBusy(t *testing.T) {
	f := newFleet(t, workers{"replica-1"})
	f.cortex(concurrency(1, v1alpha1.BusyReject))
	o := f.observe(nil)
	f.create("holder")
	f.awaitReason(v1alpha1.ReasonAccepted, "holder")
	f.create("late")
	f.awaitReason(v1alpha1.ReasonBusy, "late")
	f.await("it has ended at once", func(runs map[string]*v1alpha1.MotorRun) bool { return isDone(runs["late"]) })
	f.patch("holder", `{"cancel":true}`)
	f.await("the holder has ended", func(runs map[string]*v1alpha1.MotorRun) bool { return isDone(runs["holder"]) })
	f.create("later")
	f.awaitReason(v1alpha1.ReasonAccepted, "later")
	o.want(2, 1)
}
