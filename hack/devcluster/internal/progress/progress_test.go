// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	cases := map[time.Duration]string{
		0:                               " 0:00",
		14*time.Second + 999*1000*1000:  " 0:14",
		time.Minute:                     " 1:00",
		12*time.Minute + 5*time.Second:  "12:05",
		125*time.Minute + 9*time.Second: "125:09",
	}
	for d, want := range cases {
		if got := Clock(d); got != want {
			t.Errorf("Clock(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestPrintf(t *testing.T) {
	var out strings.Builder
	start := time.Unix(1000, 0)
	p := &Printer{out: &out, start: start, now: func() time.Time { return start.Add(14 * time.Second) }}
	p.Printf("node %s", "ready")
	if want := "[ 0:14] node ready\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestDuringReturnsTheErrorOfTheWork(t *testing.T) {
	var out strings.Builder
	failure := errors.New("it broke")
	if err := New(&out).During("building kubelet (1 of 2)", func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("During() = %v, want %v", err, failure)
	}
	if !strings.Contains(out.String(), "building kubelet (1 of 2)\n") {
		t.Errorf("the step was not announced: %q", out.String())
	}
}
