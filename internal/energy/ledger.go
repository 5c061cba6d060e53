// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// MaxOpen is how many runs that have drained their base can be unsettled at the same time, and maxRecent how many settled ones are shown: the status of
	// a MotorCortex is one object of etcd.
	MaxOpen   = 512
	maxRecent = 32
)

// Shortage is why a run cannot begin now.
type Shortage struct {
	// Level is what there is, Need what the run needs.
	Level, Need Amount
	// EnoughAt is when there is enough if nothing else drains it: the zero time if there never is.
	EnoughAt time.Time
	// Crowded is true if there is enough, and too many runs are not settled.
	Crowded bool
	// Behind is the name of a run that comes first, "" if none does. There is enough then.
	Behind string
}

// Never reports whether there is too little, and nothing comes back.
func (s *Shortage) Never() bool { return s.EnoughAt.IsZero() && !s.Crowded && s.Behind == "" }

// Wait returns the shortage of a run for which there is enough, while another one comes first.
func Wait(e *v1alpha1.Energy, has v1alpha1.EnergyLevel, kind v1alpha1.EnergyKind, behind string) *Shortage {
	return &Shortage{Level: of(has), Need: RowOf(e, kind).Need(), Behind: behind}
}

// Find returns the entry of a run that has drained its base and is not settled, nil if there is none. The pointer is into the status.
func Find(st *v1alpha1.EnergyStatus, uid string) *v1alpha1.EnergyOpen {
	if st == nil {
		return nil
	}
	i := slices.IndexFunc(st.Open, func(o v1alpha1.EnergyOpen) bool { return o.RunUID == uid })
	if i < 0 {
		return nil
	}
	return &st.Open[i]
}

// Drain drains the base of a run from a status that Observe returned, unless it is drained already. It returns what the run costs, and leaves the status as
// it is if there is a shortage.
func Drain(e *v1alpha1.Energy, st *v1alpha1.EnergyStatus, run *v1alpha1.MotorRun, now time.Time) (v1alpha1.EnergyRates, *Shortage) {
	uid := string(run.UID)
	if open := Find(st, uid); open != nil {
		return open.EnergyRates, nil
	}
	kind := KindOf(run)
	row := RowOf(e, kind)
	has, need := of(st.Level), row.Need()
	switch {
	case has < need:
		return v1alpha1.EnergyRates{}, &Shortage{Level: has, Need: need, EnoughAt: EnoughAt(st, need)}
	case len(st.Open) >= MaxOpen:
		return v1alpha1.EnergyRates{}, &Shortage{Level: has, Need: need, Crowded: true}
	}
	rates := row.Rates(kind)
	st.Level = level(has - row.Base)
	st.Open = append(st.Open, v1alpha1.EnergyOpen{RunUID: uid, RunName: run.Name, Time: metav1.NewTime(now), EnergyRates: rates})
	st.Possible = possible(e, st)
	return rates, nil
}

// Settle moves the entry of a run to those that are settled, and drains what the run cost beyond its base. What it cost less is given back. It returns what
// is drained now, below 0 if something is given back, and false if the run has no entry: it is settled, or never drained anything.
func Settle(e *v1alpha1.Energy, st *v1alpha1.EnergyStatus, uid string, consumed Amount, now time.Time) (Amount, bool) {
	open := Find(st, uid)
	if open == nil {
		return 0, false
	}
	settled := v1alpha1.EnergySettled{
		RunUID: uid, RunName: open.RunName, Kind: open.Kind, Base: open.Base,
		Consumed: v1alpha1.EnergyAmount(consumed.String()), Time: metav1.NewTime(now),
	}
	rest := consumed - of(open.Base)
	st.Level = level(of(st.Level) - rest)
	st.Open = slices.DeleteFunc(st.Open, func(o v1alpha1.EnergyOpen) bool { return o.RunUID == uid })
	st.Recent = slices.DeleteFunc(st.Recent, func(r v1alpha1.EnergySettled) bool { return r.RunUID == uid })
	st.Recent = append([]v1alpha1.EnergySettled{settled}, st.Recent[:min(len(st.Recent), maxRecent-1)]...)
	st.Possible = possible(e, st)
	return rest, true
}

// Reaches returns the next instant after now at which another kind of run becomes possible, or the body is full: the zero time if there is none.
func Reaches(st *v1alpha1.EnergyStatus, now time.Time) time.Time {
	next := time.Time{}
	levels := []Amount{Full}
	for i := range st.Possible {
		levels = append(levels, of(st.Possible[i].MinimumLevel))
	}
	for _, l := range levels {
		if at := EnoughAt(st, l); of(st.Level) < l && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// IsStale reports whether the status has to be written although no run drains anything: it is not there, another kind of run became possible since it was
// written, the body is full, the clock was set back by far, or spec.energy is another one.
func IsStale(e *v1alpha1.Energy, st *v1alpha1.EnergyStatus, now time.Time) bool {
	if st == nil {
		return true
	}
	since, rate := st.ObservedTime.Time, of(e.RegenerationPerHour)
	if next := Reaches(st, since); !next.IsZero() && !next.After(now) {
		return true
	}
	return rate != of(st.RegenerationPerHour) || !bounded(since, rate, now).Equal(since) || !slices.EqualFunc(possible(e, st), st.Possible, sameNeed)
}

func sameNeed(a, b v1alpha1.EnergyPossible) bool {
	return a.Kind == b.Kind && of(a.MinimumLevel) == of(b.MinimumLevel)
}

// Covers reports whether the level of a status that Observe returned is at least another one.
func Covers(st *v1alpha1.EnergyStatus, need v1alpha1.EnergyLevel) bool {
	return of(st.Level) >= of(need)
}

// possible returns from when on each kind of run is possible.
func possible(e *v1alpha1.Energy, st *v1alpha1.EnergyStatus) []v1alpha1.EnergyPossible {
	list := make([]v1alpha1.EnergyPossible, 0, len(Kinds))
	for _, kind := range Kinds {
		need := RowOf(e, kind).Need()
		p := v1alpha1.EnergyPossible{Kind: kind, MinimumLevel: level(need)}
		if at := EnoughAt(st, need); !at.IsZero() {
			// The API has whole seconds. One rounded down would name a time at which it is not enough yet.
			p.Time = new(metav1.NewTime(at.Add(time.Second - 1).Truncate(time.Second)))
		}
		list = append(list, p)
	}
	return list
}
