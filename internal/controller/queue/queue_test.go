// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// place is a namespace with a bound, whose cache can be behind the API server.
type place struct {
	t           *testing.T
	live, cache client.WithWatch
	lists       atomic.Int32
	queue       *Queue
	// own is what the process's own clock shows.
	own time.Time
}

func newPlace(t *testing.T, c v1alpha1.Concurrency, runs ...client.Object) *place {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, own: noon}
	bound := &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1alpha1.CortexName}, Spec: v1alpha1.MotorCortexSpec{Concurrency: &c},
	}
	build := func(f interceptor.Funcs, objects ...client.Object) client.WithWatch {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.MotorRun{}).WithInterceptorFuncs(f).Build()
	}
	p.live = build(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		p.lists.Add(1)
		return c.List(ctx, list, opts...)
	}}, append(runs, bound)...)
	p.cache = build(interceptor.Funcs{}, append(runs, bound)...)
	p.queue = &Queue{Client: p.cache, Live: p.live, State: &State{}, Own: func() time.Time { return p.own }}
	return p
}

func aRun(name string, admitted bool) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
	}}
	if admitted {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted}}
	}
	return run
}

func (p *place) take(run *v1alpha1.MotorRun, at time.Time) runpolicy.Verdict {
	p.t.Helper()
	turn, err := p.queue.Take(p.t.Context(), run, at)
	if err != nil {
		p.t.Fatal(err)
	}
	return turn.Verdict
}

// shows has the cache show that a run has, or has not, its slot.
func (p *place) shows(name string, conditionType string) {
	p.t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := p.cache.Get(p.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, run); err != nil {
		p.t.Fatal(err)
	}
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Shown"})
	if err := p.cache.Status().Update(p.t.Context(), run); err != nil {
		p.t.Fatal(err)
	}
}

// Runs that ask at the same time, while the cache shows none of the answers, get as many slots as there are.
func TestAsManySlotsAsThereAre(t *testing.T) {
	t.Parallel()
	const asking, slots = 40, 3
	var runs []client.Object
	for i := range asking {
		runs = append(runs, aRun(fmt.Sprintf("run-%d", i), false))
	}
	p := newPlace(t, v1alpha1.Concurrency{MaxActive: slots, WhenBusy: v1alpha1.BusyQueue}, runs...)
	var admitted atomic.Int32
	var all sync.WaitGroup
	for _, o := range runs {
		run := o.(*v1alpha1.MotorRun)
		all.Go(func() {
			turn, err := p.queue.Take(t.Context(), run, noon)
			if err != nil {
				t.Error(err)
			}
			if turn.Verdict == runpolicy.Admit {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != slots {
		t.Errorf("%d runs have one of %d slots", n, slots)
	}
	if n := p.lists.Load(); n > 3 {
		t.Errorf("the API server was asked for all runs %d times", n)
	}
}

// A slot is that of its run until the cache shows the run, and free when the cache shows that the run has ended.
func TestSlotUntilTheCacheShowsIt(t *testing.T) {
	t.Parallel()
	first, second := aRun("first", false), aRun("second", false)
	p := newPlace(t, v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyQueue}, first, second)
	at := noon
	for i, tt := range []struct {
		run  *v1alpha1.MotorRun
		show string
		want runpolicy.Verdict
	}{
		{first, "", runpolicy.Admit},
		{first, "", runpolicy.Admit},
		{second, "", runpolicy.Wait},
		{second, v1alpha1.ConditionAccepted, runpolicy.Wait},
		{second, v1alpha1.ConditionFinished, runpolicy.Admit},
	} {
		if at = at.Add(time.Second); tt.show != "" {
			p.shows("first", tt.show)
		}
		if got := p.take(tt.run, at); got != tt.want {
			t.Errorf("%d: %s is told %v, want %v", i, tt.run.Name, got, tt.want)
		}
	}
}

// A new leader does not know from its cache alone what the former one has admitted.
func TestSlotOfAFormerLeader(t *testing.T) {
	t.Parallel()
	first, second := aRun("first", true), aRun("second", false)
	p := newPlace(t, v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyQueue}, first, second)
	if err := p.cache.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := p.take(second, noon); got != runpolicy.Wait {
		t.Errorf("a run is told %v beside one that the cache does not show", got)
	}
}

// A slot whose run is gone, or whose status could not be written, is free again after a while. One that the API server has is not.
func TestSlotThatTheCacheNeverShows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		written bool
		want    runpolicy.Verdict
	}{"gone": {false, runpolicy.Admit}, "written": {true, runpolicy.Wait}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := aRun("first", false), aRun("second", false)
			p := newPlace(t, v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyQueue}, first, second)
			if got := p.take(first, noon); got != runpolicy.Admit {
				t.Fatalf("the first is told %v", got)
			}
			// However long its pass takes, the slot is its own.
			p.own = p.own.Add(time.Hour)
			if got := p.take(second, noon.Add(time.Hour)); got != runpolicy.Wait {
				t.Errorf("beside a pass that goes on the second is told %v", got)
			}
			p.queue.Settle(first)
			if tt.written {
				run := &v1alpha1.MotorRun{}
				if err := p.live.Get(t.Context(), client.ObjectKeyFromObject(first), run); err != nil {
					t.Fatal(err)
				}
				run.Status = aRun("first", true).Status
				if err := p.live.Status().Update(t.Context(), run); err != nil {
					t.Fatal(err)
				}
			}
			if !tt.written {
				for _, c := range []client.Client{p.live, p.cache} {
					if err := c.Delete(t.Context(), first); err != nil {
						t.Fatal(err)
					}
				}
			}
			p.own = p.own.Add(unconfirmedFor)
			if got := p.take(second, noon); got != runpolicy.Wait {
				t.Errorf("at once the second is told %v", got)
			}
			p.own = p.own.Add(time.Second)
			if got := p.take(second, noon); got != tt.want {
				t.Errorf("later the second is told %v, want %v", got, tt.want)
			}
		})
	}
}

// No run is rejected for one that has ended.
func TestRejectedForWhatTheServerHas(t *testing.T) {
	t.Parallel()
	first, second := aRun("first", true), aRun("second", false)
	p := newPlace(t, v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyReject}, first, second)
	if got := p.take(second, noon); got != runpolicy.Reject {
		t.Errorf("beside a run with the only slot it is told %v", got)
	}
	if err := p.live.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := p.take(second, noon.Add(time.Minute)); got != runpolicy.Admit {
		t.Errorf("beside a run that is gone it is told %v", got)
	}
}

// The memory does not grow with all namespaces that there ever were, and keeps what the cache does not show.
func TestIdleLinesAreForgotten(t *testing.T) {
	t.Parallel()
	now := noon
	s := &State{}
	busy, idle := s.lock("busy", now), s.lock("idle", now)
	busy.admitted["uid"], idle.admitted["uid"] = admission{open: true}, admission{at: noon}
	busy.mu.Unlock()
	idle.mu.Unlock()
	now = now.Add(unconfirmedFor + 1)
	for i := range 3 * manyLines {
		s.lock(fmt.Sprint(i), now).mu.Unlock()
	}
	if n := len(s.byNamespace); n > manyLines+1 {
		t.Errorf("%d namespaces are remembered", n)
	}
	if l := s.lock("busy", now); l != busy {
		t.Error("a slot whose pass goes on is forgotten")
	} else {
		l.mu.Unlock()
	}
	if l := s.lock("idle", now); l == idle || !idle.forgotten {
		t.Error("an idle line is kept, or still in use")
	} else {
		l.mu.Unlock()
	}
}

// A look takes no slot, and reads nothing past the cache however often it is made.
func TestALookTakesNoSlot(t *testing.T) {
	t.Parallel()
	p := newPlace(t, v1alpha1.Concurrency{MaxActive: 1}, aRun("a", false), aRun("b", false))
	look := func(name string) runpolicy.Verdict {
		t.Helper()
		turn, err := p.queue.Look(t.Context(), aRun(name, false), noon)
		if err != nil {
			t.Fatal(err)
		}
		return turn.Verdict
	}
	for range 3 {
		if got := look("a"); got != runpolicy.Admit {
			t.Fatalf("a run whose turn it is: %v", got)
		}
	}
	if got := p.lists.Load(); got != 0 {
		t.Errorf("%d lists past the cache", got)
	}
	if got := p.take(aRun("b", false), noon.Add(time.Minute)); got != runpolicy.Admit {
		t.Errorf("the slot that was only looked at: %v", got)
	}
}
