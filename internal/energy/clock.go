// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// hour is an hour in microseconds, the resolution of the API's finest time.
const hour = int64(time.Hour / time.Microsecond)

// regenerate returns the level at now, and up to when regeneration is in it. Each microsecond counts once: what was too short for a millionth stays to be
// counted, and a clock that went back adds nothing until it is again where it was.
func regenerate(has Amount, since time.Time, rate Amount, now time.Time) (Amount, time.Time) {
	elapsed := now.Sub(since).Microseconds()
	switch {
	case elapsed <= 0:
		return has, since
	case has >= Full:
		return Full, now
	case rate <= 0:
		return has, now
	case elapsed >= took(Full-has, rate):
		return Full, now
	}
	// The product is less than that of a full body and an hour, and a rate.
	gained := Amount(elapsed * int64(rate) / hour)
	if gained == 0 {
		return has, since
	}
	return has + gained, since.Add(time.Duration(took(gained, rate)) * time.Microsecond)
}

// took returns the microseconds in which an amount comes back, rounded up.
func took(a, rate Amount) int64 { return (int64(a)*hour + int64(rate) - 1) / int64(rate) }

// bounded returns the instant up to which regeneration counts, for a clock that was far ahead and was set back. At most a full body was credited for the
// time that the clock ran ahead, and real time brings as much in the time of a full regeneration: waiting for that counts nothing twice. Without the bound,
// a clock that was wrong for a second by a year would leave a body without regeneration for a year.
func bounded(since time.Time, rate Amount, now time.Time) time.Time {
	if rate <= 0 {
		return since
	}
	if latest := now.Add(time.Duration(took(Full, rate)) * time.Microsecond); since.After(latest) {
		return latest
	}
	return since
}

// LevelAt returns the level at now.
func LevelAt(st *v1alpha1.EnergyStatus, now time.Time) Amount {
	has, _ := regenerate(min(of(st.Level), Full), st.ObservedTime.Time, of(st.RegenerationPerHour), now)
	return has
}

// EnoughAt returns when the level is enough, if nothing drains it: the zero time if it never is. The instant is in the past if it is enough already. It
// does not change with the time at which it is asked for, so that a message can name it.
func EnoughAt(st *v1alpha1.EnergyStatus, need Amount) time.Time {
	missing, rate := need-of(st.Level), of(st.RegenerationPerHour)
	switch {
	case missing <= 0:
		return st.ObservedTime.Time
	case rate <= 0:
		return time.Time{}
	}
	return st.ObservedTime.Add(time.Duration(took(missing, rate)) * time.Microsecond)
}

// Observe returns the status at now, with what came back since it was written. st is nil for a body whose energy was just switched on.
func Observe(e *v1alpha1.Energy, st *v1alpha1.EnergyStatus, now time.Time) *v1alpha1.EnergyStatus {
	now = now.Truncate(time.Microsecond)
	rate := of(e.RegenerationPerHour)
	if st == nil {
		st = &v1alpha1.EnergyStatus{Level: level(of(e.Initial)), ObservedTime: metav1.NewMicroTime(now)}
	} else {
		st = st.DeepCopy()
		// The rate of the time that has passed is the former one.
		has, until := regenerate(min(of(st.Level), Full), st.ObservedTime.Time, of(st.RegenerationPerHour), now)
		st.Level, st.ObservedTime = level(has), metav1.NewMicroTime(bounded(until, rate, now))
	}
	st.RegenerationPerHour = rate.String()
	st.Possible = possible(e, st)
	return st
}
