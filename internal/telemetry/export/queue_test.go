// SPDX-License-Identifier: Apache-2.0

package export

import (
	"container/heap"
	"fmt"
	"testing"
	"time"
)

func TestQueueKeepsItsOrderAndNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	var q queue
	in, out := 0, 0
	for round := range 100 {
		for range 1 + round%7 {
			q.push(key{name: fmt.Sprint(in)})
			in++
		}
		for range 1 + round%5 {
			if k, ok := q.pop(); ok {
				if k.name != fmt.Sprint(out) {
					t.Fatalf("taken is %s, want %d", k.name, out)
				}
				out++
			} else if in != out {
				t.Fatalf("it is empty, and %d were taken of %d", out, in)
			}
		}
		if has := in - out; len(q.keys) > 2*has+1 {
			t.Errorf("it has %d, and keeps %d", has, len(q.keys))
		}
	}
}

func TestScheduleHasTheEarliestFirst(t *testing.T) {
	t.Parallel()
	var s schedule
	for _, i := range []int{5, 1, 4, 2, 3} {
		heap.Push(&s, due{key{name: fmt.Sprint(i)}, at(i).Time})
	}
	for want := 1; want <= 5; want++ {
		if d, ok := heap.Pop(&s).(due); !ok || !d.at.Equal(at(want).Time) || d.name != fmt.Sprint(want) {
			t.Errorf("got %+v, want %d", d, want)
		}
	}
}

// An entry has one place: the later one of two instants does not count if it was queued for now.
func TestRunThatIsQueuedForNowIsTakenOnce(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.touch(numbered(1))
	list, _ := b.take(begin, 1)
	b.told(list[0].key, list[0].cursor, false, at(5).Time)
	b.touch(numbered(1))
	b.touch(numbered(1))
	if n := b.waiting(); n != 1 {
		t.Errorf("%d wait", n)
	}
	if list, _ = b.take(at(1).Time, 10); len(list) != 1 {
		t.Errorf("taken are %+v", list)
	}
	if list, next := b.take(at(9).Time, 10); len(list) != 0 || !next.IsZero() || b.waiting() != 0 {
		t.Errorf("taken again: %+v, next at %s", list, next)
	}
	// An instant that does not count any more brings nothing forward.
	b.touch(numbered(1))
	list, _ = b.take(at(9).Time, 10)
	b.told(list[0].key, list[0].cursor, false, at(15).Time)
	b.touch(numbered(1))
	list, _ = b.take(at(9).Time, 10)
	b.told(list[0].key, list[0].cursor, false, at(50).Time)
	if list, next := b.take(at(20).Time, 10); len(list) != 0 || !next.Equal(at(50).Time) {
		t.Errorf("taken before its time: %+v, next at %s", list, next)
	}
	if list, _ = b.take(at(50).Time, 10); len(list) != 1 {
		t.Errorf("taken are %+v", list)
	}
	// One that is dropped while it waits is not taken, and does not count.
	b.touch(numbered(2))
	b.gone = maxGone
	if b.depart(numbered(2), time.Time{}) || b.waiting() != 0 {
		t.Errorf("%d wait", b.waiting())
	}
	if list, _ = b.take(at(9).Time, 10); len(list) != 0 {
		t.Errorf("taken is %+v", list)
	}
}
