// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when the runs of a MotorSchedule begin. It has no I/O, and takes the time of each decision.
//
//	schedule, timeZone ──► Plan ──┐
//	last start, clock, policies ──┴──► Decide ──► start one run, or none and why; when to look again
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // The manager's image has no time zone database.

	"github.com/robfig/cron/v3"
)

// shortest is the least time between two starts. The names of runs have the minute of their start: two in one minute would have the same.
const shortest = time.Minute

// maxSchedule is the most bytes of a schedule, as the kind has them.
const maxSchedule = 128

// Plan is the times at which runs begin.
type Plan struct {
	times cron.Schedule
	zone  *time.Location
	// every is the time between two starts of "@every", which depend on the last start. It is 0 for all others.
	every time.Duration
}

// Parse reads a schedule in the format of cron. The zone is a name of the time zone database, or "" for UTC. An error says which field is wrong, and how.
func Parse(schedule, zone string) (*Plan, error) {
	if len(schedule) > maxSchedule {
		return nil, fmt.Errorf("spec.schedule has more than %d bytes", maxSchedule)
	}
	// The parser takes a zone before the fields, and panics on one without fields.
	if strings.Contains(schedule, "TZ") {
		return nil, errors.New("spec.schedule has a time zone: write it into spec.timeZone")
	}
	// "Local" would be the zone of the replica that leads now.
	if strings.EqualFold(zone, "local") {
		return nil, fmt.Errorf("spec.timeZone is %q: write the name of a zone, such as Europe/Berlin", zone)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("spec.timeZone: there is no time zone %q", zone)
	}
	times, err := cron.ParseStandard(schedule)
	if err != nil {
		return nil, fmt.Errorf("spec.schedule: %w", err)
	}
	p := &Plan{times: times, zone: loc}
	switch t := times.(type) {
	case *cron.SpecSchedule:
		t.Location = loc
	case cron.ConstantDelaySchedule:
		if t.Delay < shortest {
			return nil, fmt.Errorf("spec.schedule: runs begin %s after each other at least", shortest)
		}
		p.every = t.Delay
	}
	return p, nil
}

// Next returns the first start after an instant, the zero time if there is none within five years.
func (p *Plan) Next(after time.Time) time.Time {
	fields, ok := p.times.(*cron.SpecSchedule)
	if !ok {
		return p.times.Next(after).UTC()
	}
	// The parser steps over a change of the clocks by full hours, and so misses days where one is of half an hour. Each time between two changes is looked
	// at for itself, by a clock that does not change.
	for period := after.In(p.zone); ; {
		_, offset := period.Zone()
		_, end := period.ZoneBounds()
		even := *fields
		even.Location = time.FixedZone("", offset)
		next := even.Next(after)
		switch {
		case next.IsZero():
			return time.Time{}
		case end.IsZero() || next.Before(end):
			return next.UTC()
		}
		// The start may be at the change itself.
		period, after = end, end.Add(-time.Second)
	}
}

// Latest returns the last start after one instant and not after another one, the zero time if there is none. It takes as long for years as for minutes: a
// clock that was wrong by decades must not keep the manager busy.
func (p *Plan) Latest(after, until time.Time) time.Time {
	first := p.Next(after)
	if first.IsZero() || first.After(until) {
		return time.Time{}
	}
	if p.every > 0 {
		return first.Add(until.Sub(first).Truncate(p.every))
	}
	// The start after low is not after until, and that after high is.
	low, high := after.Unix(), until.Unix()
	for high-low > 1 {
		middle := low + (high-low)/2
		if next := p.Next(time.Unix(middle, 0)); !next.IsZero() && !next.After(until) {
			low = middle
		} else {
			high = middle
		}
	}
	if latest := p.Next(time.Unix(low, 0)); !latest.IsZero() && !latest.After(until) && latest.After(after) {
		return latest
	}
	return first
}

// Missed returns how many starts are after one instant and not after another one, and counts no further than the most.
func (p *Plan) Missed(after, until time.Time, most int) int {
	count := 0
	for t := p.Next(after); count < most && !t.IsZero() && !t.After(until); t = p.Next(t) {
		count++
	}
	return count
}

// RunName returns the name of the run for a start. A start has the same name whenever and wherever it is decided on, so that it takes place once.
func RunName(schedule string, start time.Time) string {
	return fmt.Sprintf("%s-%d", schedule, start.Unix()/60)
}

// MaxName is the most characters of the name of a schedule: with a hyphen and the minute it is the name of a run.
const MaxName = 39
