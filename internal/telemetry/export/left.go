// SPDX-License-Identifier: Apache-2.0

package export

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
)

// grace is how long after its end an attempt or a run is told. What belongs to it can be recorded, and seen, a little later.
const grace = 5 * time.Second

// cursor is how much of a run has been told.
type cursor struct {
	// attempt and index are those of the last step that was told. Steps settle one after the other.
	attempt, index int32
	// attempts is how many attempts were told, and run whether the run itself was.
	attempts int
	run      bool
}

// known is a run as it is, and how to read its steps: nil if there is none of that attempt and index.
type known struct {
	run *v1alpha1.MotorRun
	// step reads a step, and outage the outage that a step waited for.
	step, outage func(attempt, index int32) (*v1alpha1.MotorStep, error)
	// deleted runs have ended, and none of their steps will be settled.
	deleted bool
}

// portion is the next part of a run to tell.
type portion struct {
	of    *v1alpha1.MotorRun
	spans []span.Span
	steps []v1alpha1.MotorStep
	next  cursor
	// more is true if there is more already, and at is when there will be, zero if that is not known.
	more bool
	at   time.Time
}

// left returns what is left to tell of a run after a cursor: at most that many steps, each once it is settled, and each attempt and the run once they
// are over.
func (k *known) left(c cursor, now time.Time, most int) (*portion, error) {
	p := &portion{of: k.run, next: c}
	attempts := k.run.Status.Attempts
	for p.next.attempts < len(attempts) {
		if len(p.steps) >= most {
			p.more = true
			break
		}
		goes, err := k.advance(p, now)
		if err != nil {
			return nil, err
		}
		if !goes {
			break
		}
	}
	if end := k.run.Status.CompletionTime; p.next.attempts == len(attempts) && end != nil && !c.run {
		if p.next.run = k.passed(p, end.Time, now); p.next.run {
			p.at = time.Time{}
		}
	}
	k.tell(p, c)
	return p, nil
}

// advance adds the next step to the portion, or the end of the attempt. It returns false if neither can be told yet.
func (k *known) advance(p *portion, now time.Time) (bool, error) {
	attempt, index := k.run.Status.Attempts[p.next.attempts].Index, int32(1)
	if p.next.attempt == attempt {
		index = p.next.index + 1
	}
	s, err := k.step(attempt, index)
	if err != nil {
		return false, err
	}
	over := k.over(p, now)
	if s == nil && !over || s != nil && !over && !span.Settled(s) {
		return false, nil
	}
	// The outage is over: with the step that waited for it, or with the attempt.
	outage, err := k.outage(attempt, index)
	if err != nil {
		return false, err
	}
	if outage != nil {
		p.steps = append(p.steps, *outage)
	}
	if s == nil {
		p.next.attempts++
		return true, nil
	}
	p.steps, p.next.attempt, p.next.index = append(p.steps, *s), attempt, index
	return true, nil
}

// over reports whether the attempt that is next is over, and notes when it will be.
func (k *known) over(p *portion, now time.Time) bool {
	i := p.next.attempts
	end := span.EndOfAttempt(k.run, i)
	switch {
	case end != nil:
		return k.passed(p, end.Time, now)
	case i+1 < len(k.run.Status.Attempts):
		return true
	}
	return false
}

// passed reports whether an end is long enough ago, and notes when it will be.
func (k *known) passed(p *portion, end, now time.Time) bool {
	if at := end.Add(grace); now.Before(at) && !k.deleted {
		p.at = at
		return false
	}
	return true
}

// tell puts the spans of the portion into it.
func (k *known) tell(p *portion, c cursor) {
	told := map[[2]int32]bool{}
	for i := range p.steps {
		told[[2]int32{p.steps[i].Spec.Attempt, p.steps[i].Spec.Index}] = true
	}
	attempts := k.run.Status.Attempts[min(c.attempts, len(k.run.Status.Attempts)):p.next.attempts]
	for _, s := range span.Of(k.run, p.steps) {
		var tells bool
		switch s.Kind {
		case span.KindRun:
			tells = p.next.run && !c.run
		case span.KindAttempt:
			for i := range attempts {
				tells = tells || attempts[i].Index == s.Attempt
			}
		case span.KindStep, span.KindModel, span.KindOutage, span.KindTool, span.KindAsk:
			tells = told[[2]int32{s.Attempt, s.Step}]
		}
		if tells && s.Ended() {
			p.spans = append(p.spans, s)
		}
	}
}

// deletedAt returns a run that was deleted as one that ended then, if it had not. It is a copy of what the spans follow from.
func deletedAt(run *v1alpha1.MotorRun, now time.Time) *v1alpha1.MotorRun {
	last := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Name: run.Name, Namespace: run.Namespace, UID: run.UID, CreationTimestamp: run.CreationTimestamp, Annotations: run.Annotations,
	}}
	last.Status = v1alpha1.MotorRunStatus{
		Attempts: run.Status.Attempts, CompletionTime: run.Status.CompletionTime, Conditions: run.Status.Conditions, Model: run.Status.Model, Reason: run.Status.Reason,
		Usage: run.Status.Usage,
	}
	if last.Status.CompletionTime == nil {
		last.Status.CompletionTime, last.Status.Reason = new(metav1.NewTime(now)), resultDeleted
	}
	return last
}

// resultDeleted is the result of a run that was deleted before it ended.
const resultDeleted = "Deleted"
