// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// visitors are loops that come to a gate in a synctest bubble.
type visitors struct {
	t      *testing.T
	gate   gate
	places int
	mu     sync.Mutex
	// inside are the names of those that are, in the order in which they were let in, and leave is how they leave.
	inside []string
	leave  map[string]func()
}

// come has loops, whose namespaces are the first letters of their names, come one after the other.
func (v *visitors) come(ctx context.Context, names ...string) {
	v.t.Helper()
	for _, name := range names {
		go func() {
			leave, err := v.gate.enter(ctx, name[:1], v.places)
			if err != nil {
				return
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.inside, v.leave[name] = append(v.inside, name), leave
		}()
		synctest.Wait()
	}
}

// depart has loops leave.
func (v *visitors) depart(names ...string) {
	v.t.Helper()
	for _, name := range names {
		v.inside = slices.DeleteFunc(v.inside, func(n string) bool { return n == name })
		v.leave[name]()
		synctest.Wait()
	}
}

func (v *visitors) want(inside string) {
	v.t.Helper()
	if got := strings.Join(v.inside, " "); got != inside {
		v.t.Errorf("inside are %s, want %s", got, inside)
	}
}

// One namespace keeps nobody out, and who came first goes first.
func TestGateOfNamespaces(t *testing.T) {
	t.Parallel()
	for places, after := range map[int][3]string{
		// After a1 to a4, then after b1 and c1, then when a1 has left.
		1: {"a1", "a1", "a2"},
		2: {"a1", "a1 b1", "b1 a2"},
		3: {"a1", "a1 b1 c1", "b1 c1 a2"},
		4: {"a1 a2", "a1 a2 b1 c1", "a2 b1 c1 a3"},
		8: {"a1 a2 a3 a4", "a1 a2 a3 a4 b1 c1", "a2 a3 a4 b1 c1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			v := &visitors{t: t, places: places, leave: map[string]func(){}}
			v.come(ctx, "a1", "a2", "a3", "a4")
			v.want(after[0])
			v.come(ctx, "b1", "c1")
			v.want(after[1])
			v.depart("a1")
			v.want(after[2])
			cancel()
		})
	}
}

// Who leaves twice takes nobody else's place away.
func TestGateIsLeftOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		v := &visitors{t: t, places: 2, leave: map[string]func(){}}
		v.come(ctx, "a", "b", "c", "d")
		v.depart("a", "a", "a")
		v.want("b c")
		cancel()
	})
}

// Who gives up waiting is told why, and stands in nobody's way. Who has a place when the time is over has none.
func TestGateThatIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visitors{t: t, places: 1, leave: map[string]func(){}}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		v.come(t.Context(), "a")
		v.come(ctx, "b")
		v.come(t.Context(), "c")
		cancel(why)
		synctest.Wait()
		v.depart("a")
		v.want("c")
		v.depart("c")
		for range 50 { // Either case of a select may be taken.
			if _, err := v.gate.enter(ctx, "a", 1); !errors.Is(err, why) {
				t.Fatalf("with a place and without time: %v", err)
			}
		}
		if n := len(v.gate.visits); n != 0 {
			t.Errorf("%d are noted that are not there", n)
		}
	})
}

// Whoever waits comes in, whatever the others do, and never more than there are places.
func TestGateUnderPressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places = 4
		var g gate
		var inside, entered atomic.Int32
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				ctx := t.Context()
				if i%3 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
					defer cancel()
				}
				leave, err := g.enter(ctx, fmt.Sprint(i%5), places)
				if err != nil {
					return
				}
				if n := inside.Add(1); n > places {
					t.Errorf("%d are inside", n)
				}
				if i%3 > 0 {
					entered.Add(1)
				}
				time.Sleep(time.Duration(1+i%7) * time.Millisecond) //nolint:forbidigo // it is the bubble's time
				inside.Add(-1)
				leave()
			})
		}
		wg.Wait()
		if n := entered.Load(); n != 200 || len(g.visits) != 0 {
			t.Errorf("%d of 200 that wait for as long as it takes came in, and %d are still noted", n, len(g.visits))
		}
	})
}

// What is done at a gate has an end, and waiting takes nothing of its time.
func TestTurnHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{Now: time.Now, heldUntil: time.Now().Add(time.Hour)}
		s := &sandboxTools{engine: e, run: &v1alpha1.MotorRun{}}
		leave, err := e.seeding.enter(t.Context(), "other", 1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Minute, leave)
		held, leave, err := s.turn(t.Context(), &e.seeding, 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-held.Done()
		if took := time.Since(began); took != maxTurn || !errors.Is(context.Cause(held), errTimeOver) {
			t.Errorf("it ends after %v: %v", took, context.Cause(held))
		}
		leave()
		if held, leave, err = s.turn(t.Context(), &e.seeding, 1); err != nil || held.Err() != nil {
			t.Fatalf("after a turn that took too long: %v", err)
		}
		leave()
		if held.Err() == nil {
			t.Error("something goes on without its place")
		}
	})
}

// The parts of a collection have one time together, and what ends them is told apart.
func TestPartsOfACollection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found := &skillsFound{left: 3 * time.Second}
		wait := func(d time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		turn, done := context.WithTimeoutCause(t.Context(), time.Second, errTimeOver)
		defer done()
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		for i, tt := range []struct {
			ctx  context.Context
			do   func(context.Context) error
			want error
			left time.Duration
		}{
			{turn, wait(time.Minute), errTimeOver, 2 * time.Second},
			{stopped, wait(time.Minute), context.Canceled, 2 * time.Second},
			{t.Context(), wait(time.Second), nil, time.Second},
			{t.Context(), wait(time.Minute), errTimeOver, 0},
			{t.Context(), wait(time.Minute), errTimeOver, 0},
		} {
			err := found.within(tt.ctx, tt.do)
			if !errors.Is(err, tt.want) || errors.Is(err, errTimeOver) != errors.Is(tt.want, errTimeOver) || found.left != tt.left {
				t.Errorf("%d: %v, left are %v", i, err, found.left)
			}
		}
	})
}
