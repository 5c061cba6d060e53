// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func newRun(uid string, mode v1alpha1.RunMode, more ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run-" + uid, UID: types.UID(uid)}, Spec: v1alpha1.MotorRunSpec{Mode: mode}}
	for _, m := range more {
		m(run)
	}
	return run
}

func withTool(tool v1alpha1.ToolName) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.Tools = append(run.Spec.Tools, tool) }
}

func withDomain(run *v1alpha1.MotorRun) { run.Spec.Domains = []v1alpha1.Domain{"example.org"} }

func TestTheGatesLookAtTheLevelBeforeTheDrain(t *testing.T) {
	t.Parallel()
	browser, agentic := newRun("b", v1alpha1.ModeAgentic, withTool("browser")), newRun("a", v1alpha1.ModeAgentic)
	network, oneshot := newRun("n", v1alpha1.ModeOneshot, withDomain), newRun("o", v1alpha1.ModeOneshot)
	for _, tt := range []struct {
		has v1alpha1.EnergyLevel
		run *v1alpha1.MotorRun
		// left is the level afterwards, "" if the run cannot begin.
		left v1alpha1.EnergyLevel
	}{
		{"1", browser, "0.8"}, {"0.500001", browser, "0.300001"}, {"0.5", browser, ""},
		{"0.5", agentic, "0.4"}, {"0.3", agentic, "0.2"}, {"0.299999", agentic, ""},
		{"0.3", network, "0.15"}, {"0.299999", network, ""},
		{"0.3", oneshot, "0.25"}, {"0.05", oneshot, "0"}, {"0.049999", oneshot, ""}, {"0", oneshot, ""},
	} {
		e := &v1alpha1.Energy{RegenerationPerHour: "0.1"}
		st := Observe(e, status(tt.has, "0.1", noon), noon)
		rates, short := Drain(e, st, tt.run, noon)
		switch {
		case tt.left == "" && (short == nil || short.Level != of(tt.has) || short.Need <= short.Level || st.Level != tt.has || len(st.Open) > 0):
			t.Errorf("%s at %s: %+v, left %s", tt.run.Name, tt.has, short, st.Level)
		case tt.left != "" && (short != nil || st.Level != tt.left || len(st.Open) != 1 || st.Open[0].EnergyRates != rates || rates.Kind != KindOf(tt.run)):
			t.Errorf("%s at %s: %+v, left %s, want %s", tt.run.Name, tt.has, short, st.Level, tt.left)
		}
	}
}

func TestAShortageSaysWhenThereIsEnough(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0.1"}
	st := Observe(e, status("0.1", "0.1", noon), noon)
	_, short := Drain(e, st, newRun("a", v1alpha1.ModeAgentic), noon)
	if want := (Shortage{Level: 100_000, Need: 300_000, EnoughAt: noon.Add(2 * time.Hour)}); *short != want {
		t.Errorf("%+v, want %+v", *short, want)
	}
	never := &v1alpha1.Energy{RegenerationPerHour: "0"}
	if _, short := Drain(never, Observe(never, status("0.1", "0", noon), noon), newRun("a", v1alpha1.ModeAgentic), noon); !short.EnoughAt.IsZero() {
		t.Errorf("without regeneration: %+v", *short)
	}
}

func TestARunDrainsOnceAndIsSettledOnce(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0"}
	st, run := Observe(e, nil, noon), newRun("a", v1alpha1.ModeAgentic)
	st.Level = "1"
	first, _ := Drain(e, st, run, noon)
	// The spec that came meanwhile does not change what it costs.
	e.Preset = v1alpha1.EnergyFlat
	if again, short := Drain(e, st, run, noon.Add(time.Minute)); short != nil || again != first || st.Level != "0.9" || len(st.Open) != 1 {
		t.Errorf("a second time: %+v, %+v, %+v", again, short, st)
	}
	cost := Cost(&st.Open[0].EnergyRates, 12)
	if rest, ok := Settle(e, st, "a", cost, noon.Add(time.Hour)); !ok || rest != 70_000 || st.Level != "0.83" {
		t.Errorf("settled: %s, %v, %s", rest, ok, st.Level)
	}
	want := v1alpha1.EnergySettled{
		RunUID: "a", RunName: "run-a", Kind: v1alpha1.EnergyAgentic, Base: "0.1", Consumed: "0.17", Time: metav1.NewTime(noon.Add(time.Hour)),
	}
	if len(st.Open) != 0 || len(st.Recent) != 1 || st.Recent[0] != want {
		t.Errorf("the ledger has %+v", st)
	}
	if rest, ok := Settle(e, st, "a", cost, noon.Add(2*time.Hour)); ok || rest != 0 || st.Level != "0.83" || len(st.Recent) != 1 {
		t.Errorf("settled again: %s, %v, %+v", rest, ok, st)
	}
}

func TestTheLevelStaysBetweenNothingAndFull(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0"}
	st := Observe(e, status("0.3", "0", noon), noon)
	Drain(e, st, newRun("a", v1alpha1.ModeAgentic), noon)
	if rest, _ := Settle(e, st, "a", 5*Full, noon); rest != 4_900_000 || st.Level != "0" || st.Recent[0].Consumed != "5" {
		t.Errorf("a run that cost more than there was: %s, %+v", rest, st)
	}
	st = Observe(e, status("1", "0", noon), noon)
	Drain(e, st, newRun("b", v1alpha1.ModeAgentic), noon)
	st.Level = "0.95"
	if rest, _ := Settle(e, st, "b", 0, noon); rest != -100_000 || st.Level != "1" || st.Recent[0].Consumed != "0" {
		t.Errorf("a base that is given back: %s, %+v", rest, st)
	}
}

func TestTheLedgerHasBounds(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0", Drains: []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyOneshot, Base: "0", MinimumLevel: "0"}}}
	st := Observe(e, status("1", "0", noon), noon)
	for i := range MaxOpen {
		if _, short := Drain(e, st, newRun(fmt.Sprint(i), v1alpha1.ModeOneshot), noon); short != nil {
			t.Fatalf("run %d: %+v", i, short)
		}
	}
	if _, short := Drain(e, st, newRun("more", v1alpha1.ModeOneshot), noon); short == nil || !short.Crowded {
		t.Errorf("one more: %+v", short)
	}
	if _, short := Drain(e, st, newRun("7", v1alpha1.ModeOneshot), noon); short != nil {
		t.Errorf("one that is there: %+v", short)
	}
	for i := range MaxOpen {
		Settle(e, st, fmt.Sprint(i), 0, noon)
	}
	if len(st.Open) != 0 || len(st.Recent) != maxRecent || st.Recent[0].RunUID != fmt.Sprint(MaxOpen-1) {
		t.Errorf("%d open, %d recent, the latest %s", len(st.Open), len(st.Recent), st.Recent[0].RunUID)
	}
}

func TestTheNextInstantIsThatOfTheNextKind(t *testing.T) {
	t.Parallel()
	e := &v1alpha1.Energy{RegenerationPerHour: "0.1"}
	st := Observe(e, status("0.04", "0.1", noon), noon)
	for _, want := range []v1alpha1.EnergyLevel{"0.05", "0.3", "0.500001", "1"} {
		next := Reaches(st, st.ObservedTime.Time)
		if IsStale(e, st, next.Add(-time.Millisecond)) || !IsStale(e, st, next) {
			t.Errorf("%s: it is not written at %s alone", want, next)
		}
		if st = Observe(e, st, next); st.Level != want {
			t.Errorf("at %s there is %s, want %s", next, st.Level, want)
		}
	}
	if next := Reaches(st, noon); !next.IsZero() || IsStale(e, st, noon.Add(1000*time.Hour)) {
		t.Errorf("a full body reaches something at %s", next)
	}
	other := &v1alpha1.Energy{RegenerationPerHour: "0.1", Drains: []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyOneshot, MinimumLevel: "0.2"}}}
	if !IsStale(other, st, noon) {
		t.Error("other gates are not written")
	}
}

// world is a ledger with the runs that it is about. Every write of it is a compare-and-swap.
type world struct {
	random  *rand.Rand
	energy  *v1alpha1.Energy
	stored  *v1alpha1.EnergyStatus
	version int
	now     time.Time
	runs    []*worldRun
}

type worldRun struct {
	*v1alpha1.MotorRun
	accepted, ended bool
	iterations      int32
	// drained is true since a drain of it was stored.
	drained bool
	rates   v1alpha1.EnergyRates
}

// write stores a status if nothing was stored since version. Now and then the writer dies before.
func (w *world) write(st *v1alpha1.EnergyStatus, version int) bool {
	if version != w.version || w.random.IntN(4) == 0 {
		return false
	}
	w.stored, w.version = st, w.version+1
	return true
}

// drain has a leader accept a run. The leader may die between the two writes, and all of it may happen again.
func (w *world) drain(run *worldRun, st *v1alpha1.EnergyStatus, version int) {
	if run.accepted || run.ended {
		return
	}
	rates, short := Drain(w.energy, st, run.MotorRun, w.now)
	if short != nil || !w.write(st, version) {
		return
	}
	run.drained, run.rates = true, rates
	run.accepted = w.random.IntN(3) > 0
}

func (w *world) settle(run *worldRun, st *v1alpha1.EnergyStatus, version int) {
	open := Find(st, string(run.UID))
	if !run.ended || open == nil {
		return
	}
	Settle(w.energy, st, string(run.UID), run.cost(), w.now)
	w.write(st, version)
}

func (r *worldRun) cost() Amount {
	if !r.accepted {
		return 0
	}
	return Cost(&r.rates, r.iterations)
}

// want returns the level by the runs alone.
func (w *world) want() Amount {
	sum := Full
	for _, run := range w.runs {
		switch open := Find(w.stored, string(run.UID)); {
		case open != nil:
			sum -= BaseOf(&open.EnergyRates)
		case run.drained:
			sum -= run.cost()
		}
	}
	return sum
}

// Leaders race, die between their writes, and do everything twice. However that goes, each run counts once, and none is lost.
func TestWhateverLeadersDoEachRunCountsOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		w := &world{
			random: rand.New(rand.NewPCG(seed, 69)), now: noon, //nolint:gosec // A test must be repeatable.
			energy: &v1alpha1.Energy{Initial: "1", RegenerationPerHour: "0", Drains: []v1alpha1.EnergyDrain{
				{Kind: v1alpha1.EnergyAgentic, Base: "0.002", FreeIterations: new(int32(2)), PerIteration: "0.000301"},
				{Kind: v1alpha1.EnergyOneshot, Base: "0.001"},
			}},
		}
		w.stored = Observe(w.energy, nil, noon)
		for i := range 60 {
			mode := v1alpha1.ModeAgentic
			if i%3 == 0 {
				mode = v1alpha1.ModeOneshot
			}
			w.runs = append(w.runs, &worldRun{MotorRun: newRun(fmt.Sprint(i), mode)})
		}
		for range 2000 {
			w.act()
			if got, want := of(w.stored.Level), w.want(); got != want {
				t.Fatalf("seed %d: the level is %s, and by the runs %s", seed, got, want)
			}
		}
		w.finish()
		if len(w.stored.Open) != 0 || of(w.stored.Level) != w.want() {
			t.Errorf("seed %d: %d are open in the end, the level is %s, and by the runs %s", seed, len(w.stored.Open), w.stored.Level, w.want())
		}
	}
}

// act does one thing, with a second leader that read before it.
func (w *world) act() {
	w.now = w.now.Add(time.Duration(w.random.IntN(120)-30) * time.Second)
	run, other := w.runs[w.random.IntN(len(w.runs))], w.runs[w.random.IntN(len(w.runs))]
	late, version := Observe(w.energy, w.stored, w.now), w.version
	switch w.random.IntN(6) {
	case 0, 1:
		w.drain(run, Observe(w.energy, w.stored, w.now), w.version)
		w.drain(run, late, version)
	case 2:
		w.drain(run, Observe(w.energy, w.stored, w.now), w.version)
		w.drain(other, late, version)
	case 3:
		if run.accepted && !run.ended {
			run.iterations = w.random.Int32N(9)
		}
		run.ended = run.ended || run.accepted || w.random.IntN(4) == 0
	case 4:
		w.settle(run, Observe(w.energy, w.stored, w.now), w.version)
		w.settle(run, late, version)
	case 5:
		w.settle(run, Observe(w.energy, w.stored, w.now), w.version)
		w.settle(other, late, version)
		w.settle(run, Observe(w.energy, w.stored, w.now), w.version)
	}
}

// finish ends all runs, and settles until nothing is open.
func (w *world) finish() {
	for range 1000 {
		for _, run := range w.runs {
			run.ended = true
			w.settle(run, Observe(w.energy, w.stored, w.now), w.version)
		}
		if len(w.stored.Open) == 0 {
			return
		}
	}
}
