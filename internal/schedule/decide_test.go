// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		hourly  = "0 * * * *"
		minutes = "* * * * *"
	)
	for name, tt := range map[string]struct {
		schedule, zone         string
		created, last, now     string
		deadline               time.Duration
		catchUp                v1alpha1.CatchUpPolicy
		policy                 v1alpha1.ConcurrencyPolicy
		suspended              bool
		active                 int
		start, skipped, next   string
		reason                 v1alpha1.SkipReason
		missed                 int
		replace, clockWentBack bool
	}{
		"before the first start": {schedule: hourly, created: "2026-01-01T00:10:00Z", now: "2026-01-01T00:59:59Z", next: "2026-01-01T01:00:00Z"},
		"the first start":        {schedule: hourly, created: "2026-01-01T00:10:00Z", now: "2026-01-01T01:00:00Z", start: "2026-01-01T01:00:00Z", next: "2026-01-01T02:00:00Z"},
		"the same start again":   {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T01:00:01Z", next: "2026-01-01T02:00:00Z"},
		"a start a little late":  {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:00:30Z", start: "2026-01-01T02:00:00Z", next: "2026-01-01T03:00:00Z"},
		"three starts are missed, and the last is made up for": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T05:30:00Z",
			start: "2026-01-01T05:00:00Z", missed: 3, next: "2026-01-01T06:00:00Z"},
		"more than 100 starts are missed": {schedule: minutes, last: "2026-01-01T01:00:00Z", now: "2026-01-01T05:30:00Z",
			start: "2026-01-01T05:30:00Z", missed: ManyMissed + 1, next: "2026-01-01T05:31:00Z"},
		"decades are missed": {schedule: minutes, last: "1970-01-01T00:00:00Z", now: "2026-01-01T05:30:59Z",
			start: "2026-01-01T05:30:00Z", missed: ManyMissed + 1, next: "2026-01-01T05:31:00Z"},
		"a schedule that is not even": {schedule: "* 0 * * *", last: "2026-01-01T00:10:00Z", now: "2026-01-01T10:00:00Z",
			start: "2026-01-01T00:59:00Z", missed: 48, next: "2026-01-02T00:00:00Z"},
		"a start before the schedule was created": {schedule: hourly, created: "2026-01-01T05:10:00Z", now: "2026-01-01T05:20:00Z", next: "2026-01-01T06:00:00Z"},
		"too late":       {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:05:00Z", deadline: 299 * time.Second, skipped: "2026-01-01T02:00:00Z", reason: v1alpha1.SkippedTooLate, next: "2026-01-01T03:00:00Z"},
		"just in time":   {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:05:00Z", deadline: 300 * time.Second, start: "2026-01-01T02:00:00Z", next: "2026-01-01T03:00:00Z"},
		"suspended":      {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T05:30:00Z", suspended: true, next: "2026-01-01T06:00:00Z"},
		"no catching up": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T05:30:00Z", catchUp: v1alpha1.CatchUpNone, skipped: "2026-01-01T05:00:00Z", reason: v1alpha1.SkippedTooLate, next: "2026-01-01T06:00:00Z"},
		"no catching up, and a leader that takes over": {schedule: hourly, last: "2026-01-01T04:00:00Z", now: "2026-01-01T05:00:50Z", catchUp: v1alpha1.CatchUpNone,
			start: "2026-01-01T05:00:00Z", next: "2026-01-01T06:00:00Z"},
		"no catching up, and a shorter deadline": {schedule: hourly, last: "2026-01-01T04:00:00Z", now: "2026-01-01T05:00:50Z", catchUp: v1alpha1.CatchUpNone, deadline: 20 * time.Second,
			skipped: "2026-01-01T05:00:00Z", reason: v1alpha1.SkippedTooLate, next: "2026-01-01T06:00:00Z"},
		"Forbid, and a run goes on": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:00:00Z", policy: v1alpha1.ConcurrencyForbid, active: 1,
			skipped: "2026-01-01T02:00:00Z", reason: v1alpha1.SkippedStillActive, next: "2026-01-01T03:00:00Z"},
		"Forbid, and the run ended later": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:40:00Z", policy: v1alpha1.ConcurrencyForbid,
			start: "2026-01-01T02:00:00Z", next: "2026-01-01T03:00:00Z"},
		"Forbid, and the run ended too late": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:40:00Z", policy: v1alpha1.ConcurrencyForbid, deadline: time.Minute,
			skipped: "2026-01-01T02:00:00Z", reason: v1alpha1.SkippedTooLate, next: "2026-01-01T03:00:00Z"},
		"Replace, and a run goes on": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:00:00Z", policy: v1alpha1.ConcurrencyReplace, active: 2,
			start: "2026-01-01T02:00:00Z", replace: true, next: "2026-01-01T03:00:00Z"},
		"Replace, and none goes on": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:00:00Z", policy: v1alpha1.ConcurrencyReplace,
			start: "2026-01-01T02:00:00Z", next: "2026-01-01T03:00:00Z"},
		"Allow, and runs go on": {schedule: hourly, last: "2026-01-01T01:00:00Z", now: "2026-01-01T02:00:00Z", policy: v1alpha1.ConcurrencyAllow, active: 9,
			start: "2026-01-01T02:00:00Z", next: "2026-01-01T03:00:00Z"},
		"the clock goes back a little":    {schedule: hourly, last: "2026-01-01T02:00:00Z", now: "2026-01-01T01:59:58Z", next: "2026-01-01T03:00:00Z"},
		"the clock goes back by a year":   {schedule: hourly, last: "2027-01-01T02:00:00Z", now: "2026-01-01T02:00:00Z", next: "2027-01-01T03:00:00Z", clockWentBack: true},
		"the clock goes forward by a day": {schedule: hourly, last: "2026-01-01T02:00:00Z", now: "2026-01-02T02:00:05Z", start: "2026-01-02T02:00:00Z", missed: 23, next: "2026-01-02T03:00:00Z"},
		"it was created in the future":    {schedule: hourly, created: "2026-01-01T02:30:00Z", now: "2026-01-01T01:00:00Z", next: "2026-01-01T03:00:00Z"},
		"an hour that is left out":        {schedule: "30 2 * * *", zone: "Europe/Berlin", last: "2026-03-28T01:30:00Z", now: "2026-03-29T12:00:00Z", next: "2026-03-30T00:30:00Z"},
		"an hour that there is twice": {schedule: "30 2 * * *", zone: "Europe/Berlin", last: "2026-10-25T00:30:00Z", now: "2026-10-25T01:30:00Z",
			start: "2026-10-25T01:30:00Z", next: "2026-10-26T01:30:00Z"},
		"a duration counts from the last start": {schedule: "@every 90m", last: "2026-01-01T00:10:00Z", now: "2026-01-01T01:00:00Z", next: "2026-01-01T01:40:00Z"},
		"a duration that passed three times": {schedule: "@every 90m", last: "2026-01-01T00:10:00Z", now: "2026-01-01T05:00:00Z",
			start: "2026-01-01T04:40:00Z", missed: 2, next: "2026-01-01T06:10:00Z"},
		"it never fires": {schedule: "0 0 30 2 *", created: "2020-01-01T00:00:00Z", now: "2026-01-01T05:00:00Z"},
	} {
		when := func(s string) time.Time {
			if s == "" {
				return time.Time{}
			}
			return at(t, s)
		}
		f := Facts{
			Plan: planOf(t, tt.schedule, tt.zone), Created: when(tt.created), Last: when(tt.last), Deadline: tt.deadline, CatchUp: tt.catchUp, Policy: tt.policy,
			Suspended: tt.suspended, Active: tt.active,
		}
		want := Decision{
			Start: when(tt.start), Replace: tt.replace, Skipped: when(tt.skipped), Reason: tt.reason, Missed: tt.missed, Next: when(tt.next), ClockWentBack: tt.clockWentBack,
		}
		if diff := cmp.Diff(want, Decide(f, at(t, tt.now))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// However often and whenever a schedule is looked at, each start takes place once, and none before its time.
func TestEachStartTakesPlaceOnce(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, 7 * time.Second, 59 * time.Second} {
		p, began := planOf(t, "*/5 * * * *", "Europe/Berlin"), map[time.Time]int{}
		begin := at(t, "2026-10-24T23:00:00Z")
		var last time.Time
		for now := begin; now.Before(begin.Add(4 * time.Hour)); now = now.Add(pause) {
			d := Decide(Facts{Plan: p, Created: begin, Last: last}, now)
			if d.Start.IsZero() {
				continue
			}
			if d.Start.After(now) || d.Missed != 0 {
				t.Fatalf("at %s: %+v", now, d)
			}
			began[d.Start]++
			last = d.Start
		}
		if len(began) != 4*12-1 {
			t.Errorf("each %s: %d starts", pause, len(began))
		}
		for start, times := range began {
			if times != 1 {
				t.Errorf("the start of %s took place %d times", start, times)
			}
		}
	}
}
