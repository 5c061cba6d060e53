// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"testing"
	"time"
)

func TestMustStop(t *testing.T) {
	bound := Usage{3200 << 20, 3200}
	const percent = 32 << 20 // of the bytes
	idle := stop{took: time.Second, ago: time.Hour}
	resting := stop{took: time.Second, ago: 2 * time.Second}
	for name, test := range map[string]struct {
		used, fell Usage
		last       stop
		want       bool
	}{
		"nothing was lost":                      {Usage{}, Usage{}, idle, false},
		"less than is left":                     {Usage{50 * percent, 0}, Usage{50 * percent, 0}, idle, false},
		"more than is left":                     {Usage{50 * percent, 0}, Usage{51 * percent, 0}, idle, true},
		"little, and nothing is left":           {Usage{100 * percent, 0}, Usage{6 * percent, 0}, idle, false},
		"a sixteenth, and nothing is left":      {Usage{100 * percent, 0}, Usage{7 * percent, 0}, idle, true},
		"inodes":                                {Usage{0, 3100}, Usage{0, 201}, idle, true},
		"inodes are left":                       {Usage{0, 1600}, Usage{0, 1600}, idle, false},
		"others gave room back":                 {Usage{100 * percent, 0}, Usage{-50 * percent, -100}, idle, false},
		"it rests":                              {Usage{100 * percent, 0}, Usage{15 * percent, 0}, resting, false},
		"it rests, and too much was lost":       {Usage{100 * percent, 0}, Usage{16 * percent, 0}, resting, true},
		"it rests, and much is left":            {Usage{50 * percent, 0}, Usage{59 * percent, 0}, resting, false},
		"it rests, inodes":                      {Usage{0, 3200}, Usage{0, 501}, resting, true},
		"the rest is over":                      {Usage{100 * percent, 0}, Usage{7 * percent, 0}, stop{took: time.Second, ago: 3 * time.Second}, true},
		"it grew, and has no rest":              {Usage{100 * percent, 0}, Usage{7 * percent, 0}, stop{took: time.Second, ago: time.Second, grew: true}, true},
		"more than it may have, and it is over": {Usage{110 * percent, 0}, Usage{7 * percent, 0}, idle, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustStop(account{most: bound, used: test.used, bound: bound, fell: test.fell}, test.last); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// The space above a bound that a rest allows is within what a volume may have: 1.25. That includes an eighth of the bound for writes until
// the server has a processor, or 1/16 where the bound is large.
func TestARestIsWithinTheBound(t *testing.T) {
	bound := Usage{1 << 30, 1 << 18}
	for used := int64(0); used <= bound.Bytes; used += 1 << 24 {
		a := account{most: bound, used: Usage{Bytes: used}, bound: bound}
		for a.fell.Bytes = 0; used+a.fell.Bytes <= bound.Bytes*19/16; a.fell.Bytes += 1 << 20 {
			if mustStop(a, stop{took: time.Hour}) {
				break
			}
		}
		if have := used + a.fell.Bytes; have > bound.Bytes*19/16 {
			t.Fatalf("from %d on, a volume may hold %d before it is counted", used, have)
		}
	}
}

// A volume of the default size, full of small files, is next to one that is written at 64 MB/s. Each count takes its time.
func TestANeighbourCostsAQuarterAtMost(t *testing.T) {
	const rate, tick = 64e6, 5 * time.Millisecond
	bound := Usage{1 << 30, 1 << 18}
	for _, count := range []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond} {
		a := account{most: bound, used: Usage{bound.Bytes, bound.Inodes}, bound: bound}
		last := stop{took: count, ago: time.Hour}
		var stood, went time.Duration
		for stood+went < 5*time.Minute {
			if mustStop(a, last) {
				stood += count
				a.fell, last.ago = Usage{}, 0
				continue
			}
			went += tick
			last.ago += tick
			a.fell.Bytes += int64(rate * tick.Seconds())
		}
		t.Logf("counts of %s: it stood for %s of %s", count, stood, stood+went)
		if stood-count > (stood+went)/(rest+1) { // The last one may have no rest yet.
			t.Errorf("counts of %s: it stood for %s of %s", count, stood, stood+went)
		}
	}
}

func TestGrew(t *testing.T) {
	bound := Usage{6400, 640}
	for name, test := range map[string]struct {
		now  Usage
		want bool
	}{
		"nothing": {Usage{1000, 100}, false}, "a little": {Usage{1100, 110}, false},
		"bytes": {Usage{1101, 100}, true}, "inodes": {Usage{0, 111}, true}, "less": {Usage{}, false},
	} {
		if got := grew(Usage{1000, 100}, test.now, bound); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
