// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// status is one as the API has it.
func status(has v1alpha1.EnergyLevel, rate string, at time.Time) *v1alpha1.EnergyStatus {
	return &v1alpha1.EnergyStatus{Level: has, RegenerationPerHour: rate, ObservedTime: metav1.NewMicroTime(at)}
}

func TestTheLevelComesBackWithTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		has   v1alpha1.EnergyLevel
		rate  string
		after time.Duration
		want  string
	}{
		"an hour":                         {"0.2", "0.1", time.Hour, "0.3"},
		"half of one":                     {"0.2", "0.1", 30 * time.Minute, "0.25"},
		"no time":                         {"0.2", "0.1", 0, "0.2"},
		"too short for a millionth":       {"0.2", "0.1", 10 * time.Millisecond, "0.2"},
		"never more than full":            {"0.95", "0.1", time.Hour, "1"},
		"a full body":                     {"1", "0.1", time.Hour, "1"},
		"a century":                       {"0", "0.1", 100 * 365 * 24 * time.Hour, "1"},
		"longer than a duration":          {"0", "0.000001", 1<<63 - 1, "1"},
		"the fastest":                     {"0", "999.999999", time.Second, "0.277777"},
		"the slowest":                     {"0", "0.000001", 24 * time.Hour, "0.000024"},
		"nothing comes back":              {"0.2", "0", time.Hour, "0.2"},
		"a clock that went back":          {"0.2", "0.1", -time.Hour, "0.2"},
		"a full body whose clock is back": {"1", "0.1", -time.Hour, "1"},
		"more than full is full":          {"1.0", "0.1", 0, "1"},
	} {
		if got := LevelAt(status(tt.has, tt.rate, noon), noon.Add(tt.after)).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The body is looked at at random instants, and the clock goes back now and then. All that came back in the end is the time up to the latest instant.
func TestEachMicrosecondCountsOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 16)) //nolint:gosec // A test must be repeatable.
		rate := Amount(1 + random.Int64N(200_000))
		e := &v1alpha1.Energy{RegenerationPerHour: rate.String(), Initial: "0"}
		st, now, latest := Observe(e, nil, noon), noon, noon
		for range 500 {
			now = now.Add(time.Duration(random.Int64N(int64(20*time.Second))) * time.Nanosecond)
			if random.IntN(5) == 0 {
				now = now.Add(-time.Duration(random.Int64N(int64(time.Minute))))
			}
			if now.After(latest) {
				latest = now
			}
			before := of(st.Level)
			if st = Observe(e, st, now); of(st.Level) < before {
				t.Fatalf("seed %d: the level fell from %s to %s", seed, before, st.Level)
			}
		}
		st = Observe(e, st, latest)
		want := Amount(latest.Sub(noon).Microseconds() * int64(rate) / hour)
		// Each look loses less than a microsecond, and 500 of them less than a millionth at this rate.
		if got := of(st.Level); got > want || got < want-1 {
			t.Errorf("seed %d: %s came back, want %s", seed, got, want)
		}
	}
}

// A clock that was ahead filled the body. Set back, it must not fill it a second time for the same hours, and must not leave it without regeneration for long.
func TestAClockThatWasFarAheadIsWaitedForAtMostOneRegeneration(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0.1"}
	ahead := noon.Add(365 * 24 * time.Hour)
	st := Observe(e, status("0.2", "0.1", noon), ahead)
	if st.Level != "1" || !st.ObservedTime.Equal(&metav1.MicroTime{Time: ahead}) {
		t.Fatalf("ahead: %+v", st)
	}
	st.Level = "0"
	if !IsStale(e, st, noon) {
		t.Error("nothing writes that the clock was set back")
	}
	st = Observe(e, st, noon)
	if until := st.ObservedTime.Sub(noon); st.Level != "0" || until != 10*time.Hour {
		t.Fatalf("set back: %s, nothing comes back for %s", st.Level, until)
	}
	if IsStale(e, st, noon.Add(time.Minute)) {
		t.Error("it is written again and again")
	}
	for _, tt := range []struct {
		after time.Duration
		want  v1alpha1.EnergyLevel
	}{{time.Hour, "0"}, {10 * time.Hour, "0"}, {11 * time.Hour, "0.1"}, {20 * time.Hour, "1"}} {
		if st = Observe(e, st, noon.Add(tt.after)); st.Level != tt.want {
			t.Errorf("after %s: %s, want %s", tt.after, st.Level, tt.want)
		}
	}
	// A short jump back is waited for in full.
	if st := Observe(e, status("0.2", "0.1", noon.Add(time.Hour)), noon); !st.ObservedTime.Equal(&metav1.MicroTime{Time: noon.Add(time.Hour)}) {
		t.Errorf("an hour back: counted up to %s", st.ObservedTime)
	}
}

func TestANewRateCountsFromItsOwnTimeOn(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0.5"}
	st := status("0.1", "0.1", noon)
	if !IsStale(e, st, noon) {
		t.Error("the new rate is not written")
	}
	st = Observe(e, st, noon.Add(time.Hour))
	if st.Level != "0.2" || st.RegenerationPerHour != "0.5" {
		t.Errorf("at the change: %+v", st)
	}
	if got := LevelAt(st, noon.Add(2*time.Hour)).String(); got != "0.7" {
		t.Errorf("an hour later: %s", got)
	}
}

func TestTheInstantOfEnoughDoesNotMove(t *testing.T) {
	t.Parallel()
	st := status("0.1", "0.1", noon)
	for need, want := range map[Amount]time.Time{
		100_000: noon, 0: noon, 300_000: noon.Add(2 * time.Hour), Full: noon.Add(9 * time.Hour), 100_001: noon.Add(36 * time.Millisecond),
	} {
		at := EnoughAt(st, need)
		if !at.Equal(want) {
			t.Errorf("%s is there at %s, want %s", need, at, want)
		}
		if need > 100_000 && (LevelAt(st, at) < need || LevelAt(st, at.Add(-time.Microsecond)) >= need) {
			t.Errorf("%s: at %s there is %s, and just before %s", need, at, LevelAt(st, at), LevelAt(st, at.Add(-time.Microsecond)))
		}
	}
	if at := EnoughAt(status("0.1", "0", noon), 300_000); !at.IsZero() {
		t.Errorf("without regeneration it is enough at %s", at)
	}
	e := &v1alpha1.Energy{RegenerationPerHour: "0.1"}
	for _, after := range []time.Duration{time.Millisecond, time.Minute, 90 * time.Minute} {
		if moved := EnoughAt(Observe(e, st, noon.Add(after)), 300_000).Sub(noon.Add(2 * time.Hour)); moved < 0 || moved > time.Microsecond {
			t.Errorf("seen %s later it moved by %s", after, moved)
		}
	}
}

func TestABodyBeginsWithItsInitialLevel(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{Initial: "0.4", RegenerationPerHour: "0.1"}
	if !IsStale(e, nil, noon) {
		t.Error("its first level is not written")
	}
	st := Observe(e, nil, noon)
	if st.Level != "0.4" || !st.ObservedTime.Equal(&metav1.MicroTime{Time: noon}) || len(st.Possible) != len(Kinds) {
		t.Errorf("it begins with %+v", st)
	}
	if IsStale(e, st, noon.Add(time.Minute)) {
		t.Error("it is written again although nothing is new")
	}
	for i, want := range []struct {
		need v1alpha1.EnergyLevel
		at   time.Time
	}{{"0.05", noon}, {"0.3", noon}, {"0.3", noon}, {"0.500001", noon.Add(time.Hour + time.Second)}} {
		if p := st.Possible[i]; p.Kind != Kinds[i] || p.MinimumLevel != want.need || !p.Time.Time.Equal(want.at) {
			t.Errorf("%s is possible with %s at %s, want %+v", p.Kind, p.MinimumLevel, p.Time, want)
		}
	}
}
