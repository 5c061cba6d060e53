// SPDX-License-Identifier: Apache-2.0

package fairsemaphore

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
)

// loops ask for permits of a Semaphore in a synctest bubble.
type loops struct {
	t         *testing.T
	semaphore Semaphore
	permits   int
	mu        sync.Mutex
	// have are the names of those that have a permit, in the order in which they got it, and release is how they release it.
	have    []string
	release map[string]func()
}

// acquire has loops, whose namespaces are the first letters of their names, ask one after the other.
func (l *loops) acquire(ctx context.Context, names ...string) {
	l.t.Helper()
	for _, name := range names {
		go func() {
			release, err := l.semaphore.Acquire(ctx, name[:1], l.permits)
			if err != nil {
				return
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.have, l.release[name] = append(l.have, name), release
		}()
		synctest.Wait()
	}
}

// giveBack makes loops release their permits.
func (l *loops) giveBack(names ...string) {
	l.t.Helper()
	for _, name := range names {
		l.have = slices.DeleteFunc(l.have, func(n string) bool { return n == name })
		l.release[name]()
		synctest.Wait()
	}
}

func (l *loops) want(have string) {
	l.t.Helper()
	if got := strings.Join(l.have, " "); got != have {
		l.t.Errorf("%s have a permit, want %s", got, have)
	}
}

// One namespace blocks no other, and permits are assigned in FIFO order.
func TestNamespacesShare(t *testing.T) {
	t.Parallel()
	for permits, after := range map[int][3]string{
		// After a1 to a4, then after b1 and c1, then when a1 has left.
		1: {"a1", "a1", "a2"},
		2: {"a1", "a1 b1", "b1 a2"},
		3: {"a1", "a1 b1 c1", "b1 c1 a2"},
		4: {"a1 a2", "a1 a2 b1 c1", "a2 b1 c1 a3"},
		8: {"a1 a2 a3 a4", "a1 a2 a3 a4 b1 c1", "a2 a3 a4 b1 c1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := &loops{t: t, permits: permits, release: map[string]func(){}}
			l.acquire(ctx, "a1", "a2", "a3", "a4")
			l.want(after[0])
			l.acquire(ctx, "b1", "c1")
			l.want(after[1])
			l.giveBack("a1")
			l.want(after[2])
			cancel()
		})
	}
}

// A second release takes no other loop's permit away.
func TestAPermitIsReleasedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &loops{t: t, permits: 2, release: map[string]func(){}}
		l.acquire(ctx, "a", "b", "c", "d")
		l.giveBack("a", "a", "a")
		l.want("b c")
		cancel()
	})
}

// A loop that stops waiting gets the reason, and blocks no other from a permit. A permit that comes after the timeout does not count.
func TestALoopStopsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &loops{t: t, permits: 1, release: map[string]func(){}}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		l.acquire(t.Context(), "a")
		l.acquire(ctx, "b")
		l.acquire(t.Context(), "c")
		cancel(why)
		synctest.Wait()
		l.giveBack("a")
		l.want("c")
		l.giveBack("c")
		for range 50 { // Either case of a select may be taken.
			if _, err := l.semaphore.Acquire(ctx, "a", 1); !errors.Is(err, why) {
				t.Fatalf("with a permit and without time: %v", err)
			}
		}
		if n := l.semaphore.Len(); n != 0 {
			t.Errorf("%d holders are left", n)
		}
	})
}

// Every waiting loop gets a permit, whatever the others do, and never more have one than there are permits.
func TestManyLoops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const permits = 4
		var s Semaphore
		var having, had atomic.Int32
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				ctx := t.Context()
				if i%3 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
					defer cancel()
				}
				release, err := s.Acquire(ctx, fmt.Sprint(i%5), permits)
				if err != nil {
					return
				}
				if n := having.Add(1); n > permits {
					t.Errorf("%d have a permit", n)
				}
				if i%3 > 0 {
					had.Add(1)
				}
				time.Sleep(time.Duration(1+i%7) * time.Millisecond) //nolint:forbidigo // it is the bubble's time
				having.Add(-1)
				release()
			})
		}
		wg.Wait()
		if n := had.Load(); n != 200 || s.Len() != 0 {
			t.Errorf("%d of 200 that wait for as long as it takes got a permit, and %d holders are left", n, s.Len())
		}
	})
}
