// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/storage"
)

// requested are the names that a watch has enqueued.
type requested struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	mu    sync.Mutex
	names []string
}

func (r *requested) Add(request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, request.Name)
}

// take returns the names since it was called last, in their order.
func (r *requested) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := r.names
	slices.Sort(names)
	r.names = nil
	return names
}

func TestWatchWakesWhatTheRoomConcerns(t *testing.T) {
	t.Parallel()
	used := uses{}
	waits := newRun("waits", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonStorageFull)
	queued := newRun("queued", v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonQueued)
	b := newBudget(t, used, waits, queued, archivedRun("old", 2), archivedRun("young", 1))
	runs := &Watch{Budget: b, Meter: used, Concerned: b.Runs, scarce: map[string]storage.Level{}}
	cortexes := &Watch{Budget: b, Meter: used, Concerned: b.Cortex, scarce: map[string]storage.Level{}}
	// The archived runs are small: below Full they go only if that makes room.
	for _, step := range []struct {
		name   string
		used   int64
		runs   []string
		cortex bool
	}{
		{"room", 100, nil, false},
		{"low", 800, []string{"old", "waits"}, true},
		{"as low as before", 800, []string{"old", "waits"}, false},
		{"full", 1000, []string{"old", "young"}, true},
		{"fuller", 2000, []string{"old", "young"}, false},
		{"not quite full", 960, []string{"waits"}, false},
		{"low again", 940, []string{"waits"}, true},
		{"nearly room", 760, []string{"waits"}, false},
		{"room again", 100, []string{"waits"}, true},
		{"still room", 100, nil, false},
		{"full at once", 1500, []string{"old", "young"}, true},
		{"nothing is kept any more", 0, []string{"waits"}, true},
		{"still nothing", 0, nil, false},
	} {
		if used["team"] = step.used; step.used == 0 {
			delete(used, "team")
		}
		q := &requested{}
		runs.look(t.Context(), q)
		if got := q.take(); !slices.Equal(got, step.runs) {
			t.Errorf("%s: %q are woken, want %q", step.name, got, step.runs)
		}
		cortexes.look(t.Context(), q)
		if got := q.take(); (len(got) == 1 && got[0] == v1alpha1.CortexName) != step.cortex || len(got) > 1 {
			t.Errorf("%s: of MotorCortexes %q are woken", step.name, got)
		}
	}
}

// A level that could not be told is told with the next look.
func TestWatchTellsAgainAfterAnError(t *testing.T) {
	t.Parallel()
	used := uses{"team": 1000}
	b := newBudget(t, used)
	fails := true
	w := &Watch{Budget: b, Meter: used, scarce: map[string]storage.Level{}, Concerned: func(ctx context.Context, ns string, l storage.Level, changed bool) ([]reconcile.Request, error) {
		if fails {
			return nil, errors.New("not now")
		}
		return b.Cortex(ctx, ns, l, changed)
	}}
	q := &requested{}
	w.look(t.Context(), q)
	if got := q.take(); len(got) > 0 {
		t.Errorf("%q are woken", got)
	}
	fails = false
	w.look(t.Context(), q)
	if got := q.take(); len(got) != 1 {
		t.Errorf("%q are woken", got)
	}
}

func TestWatchEndsWithItsController(t *testing.T) {
	t.Parallel()
	used := uses{"team": 1000}
	b := newBudget(t, used)
	w, q := &Watch{Budget: b, Meter: used, Concerned: b.Cortex}, &requested{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := errors.Join(w.WaitForSync(ctx), w.Start(ctx, q)); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); len(q.take()) == 0; {
		if time.Now().After(until) {
			t.Fatal("nothing is woken")
		}
		<-time.After(time.Millisecond)
	}
	cancel()
	if err := (&Watch{Meter: behind{}}).WaitForSync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a controller that ends waits for the meter: %v", err)
	}
}

// behind is a meter that has not counted everything.
type behind struct{ uses }

func (behind) HasSynced() bool { return false }
