// SPDX-License-Identifier: Apache-2.0

package worst

import (
	"testing"
	"time"
)

// TestOf has what is known to be taken be measured.
func TestOf(t *testing.T) {
	var sink []byte
	c := Of(func() {
		sink = make([]byte, 8<<20)
		deep(16 << 10)
	})
	if c.Stack < 1<<20 || c.Heap < 8<<20 || c.Time <= 0 || len(sink) == 0 {
		t.Errorf("measured %+v", c)
	}
	if c := Of(func() {}); c.Stack > 1<<20 || c.Heap > 1<<20 {
		t.Errorf("nothing takes %+v", c)
	}
	r := recorder{TB: t}
	Within(&r, "much", Cost{Stack: 1 << 30, Heap: 1 << 20, Time: time.Hour}, func() { sink = make([]byte, 8<<20) })
	if !r.failed {
		t.Error("what takes more than it may passes")
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func deep(n int) int {
	var room [16]int
	if n > 0 {
		room[n%16] = deep(n-1) + 1
	}
	return room[n%16]
}
