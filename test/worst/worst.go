// SPDX-License-Identifier: Apache-2.0

// Package worst measures what the worst input of a parser costs, so that a test can hold it to a bound.
package worst

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Cost is what a function took.
type Cost struct {
	// Stack is how many bytes the stacks of the process grew by, and Heap how many bytes were allocated: at least as many as
	// were ever in use at the same time.
	Stack, Heap uint64
	Time        time.Duration
}

// Race is how many times as much stack and memory a function takes under the race detector.
const Race = 4

// Of measures a function in a goroutine of its own. The test that calls it must not be parallel to others, whose memory
// would be counted too.
func Of(f func()) Cost {
	runtime.GC()
	// A collection shrinks stacks.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, done := time.Now(), make(chan time.Duration)
	go func() {
		f()
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		done <- took
	}()
	c := Cost{Time: <-done, Heap: after.TotalAlloc - before.TotalAlloc}
	if after.StackInuse > before.StackInuse {
		c.Stack = after.StackInuse - before.StackInuse
	}
	return c
}

// Within fails the test if the function takes more than the cost. Bounds are generous: they are for what grows beyond all
// measure, and must hold under the race detector on a slow machine.
func Within(t testing.TB, name string, most Cost, f func()) Cost {
	t.Helper()
	c := Of(f)
	t.Logf("%-60.60q %7d KiB of stack, %7d KiB allocated, %v", name, c.Stack>>10, c.Heap>>10, c.Time.Round(time.Millisecond))
	if c.Stack > most.Stack || c.Heap > most.Heap || c.Time > most.Time {
		t.Errorf("%s takes %d KiB of stack, %d KiB of memory and %v; the most are %d KiB, %d KiB and %v",
			name, c.Stack>>10, c.Heap>>10, c.Time, most.Stack>>10, most.Heap>>10, most.Time)
	}
	return c
}
