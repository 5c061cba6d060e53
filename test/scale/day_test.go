// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"math"
	"testing"
	"time"
)

// flat is a day without a peak in which each run has one size, so that its figures can be worked out.
var flat = Load{
	Runs: 20_000, Peak: 1, Steps: 10, Spread: 1, Step: 6 * time.Second, Text: 700, Asks: 0.5, Answer: time.Hour,
}

var roomy = Cluster{Slots: 10_000, Managers: 2, Succeeded: 12 * time.Hour, Failed: 12 * time.Hour, Compaction: 10 * time.Minute}

// wantAbout fails the test unless got is want, or above it by no more than a crowd that comes by chance, or by a fiftieth.
func wantAbout(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want || got > want+6*math.Sqrt(want)+want/50 {
		t.Errorf("%s: %.0f at most, the mean is %.0f", what, got, want)
	}
}

// By Little's law as many things are there as come in the time for which each stays.
func TestADayHasWhatCanBeWorkedOut(t *testing.T) {
	d := Simulate(flat, roomy, Measured, 1)
	perSecond := float64(flat.Runs) / day.Seconds()
	wantAbout(t, "in hand", float64(d.InHand), perSecond*60)
	wantAbout(t, "waiting for people", float64(d.Waiting), perSecond*flat.Asks*time.Hour.Seconds())
	bytes := 10*(Measured.StepBytes+flat.Text) + Measured.RunBytes
	if want := perSecond * roomy.Succeeded.Seconds() * float64(bytes); float64(d.Kept) < want || float64(d.Kept) > 1.1*want {
		t.Errorf("%d bytes are kept at most, the mean is about %.0f", d.Kept, want)
	}
	if d.Stored <= d.Kept {
		t.Errorf("etcd stores %d bytes with the former versions of %d", d.Stored, d.Kept)
	}
	if want := float64(flat.Runs * 10); math.Abs(float64(d.Steps)-want) > want/50 {
		t.Errorf("%d steps, want about %.0f", d.Steps, want)
	}
	if d.Queued != 0 || d.Longest != 0 {
		t.Errorf("with a slot for each, %d runs wait for %s", d.Queued, d.Longest)
	}
}

func TestADayWithOneThingChanged(t *testing.T) {
	before := Simulate(flat, roomy, Measured, 1)
	for name, tt := range map[string]struct {
		change func(*Load, *Cluster)
		want   func(d Day) bool
	}{
		"the same":  {func(*Load, *Cluster) {}, func(d Day) bool { return d == before }},
		"few slots": {func(_ *Load, c *Cluster) { c.Slots = 12 }, func(d Day) bool { return d.InHand == 12 && d.Queued > 0 && d.Longest > 0 }},
		"a long queue": {func(_ *Load, c *Cluster) { c.Slots, c.Succeeded = 2, time.Minute }, func(d Day) bool {
			return d.Kept > int64(d.Queued)*Measured.RunBytes
		}},
		"a bucket":      {func(_ *Load, c *Cluster) { c.Archived = time.Hour }, func(d Day) bool { return d.Kept < before.Kept/8 }},
		"a peak":        {func(l *Load, _ *Cluster) { l.Peak = 2 }, func(d Day) bool { return d.Writes > 1.3*before.Writes && d.InHand > before.InHand }},
		"more managers": {func(_ *Load, c *Cluster) { c.Managers = 4 }, func(d Day) bool { return d.Watched > 1.9*before.Watched && d.Writes < 1.2*before.Writes }},
		"longer texts":  {func(l *Load, _ *Cluster) { l.Text *= 10 }, func(d Day) bool { return d.Kept > 2*before.Kept }},
		"rare compaction": {func(_ *Load, c *Cluster) { c.Compaction = time.Hour }, func(d Day) bool {
			return d.Kept == before.Kept && d.Stored-d.Kept > 3*(before.Stored-before.Kept)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			load, cluster := flat, roomy
			tt.change(&load, &cluster)
			if d := Simulate(load, cluster, Measured, 1); !tt.want(d) {
				t.Errorf("%+v, before %+v", d, before)
			}
		})
	}
}
