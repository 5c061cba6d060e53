// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// Paused reports whether the time passes now that status.paused counts. While the run has an open question, or its model is unavailable, the
// journal counts the time, suspended or not: the same time must not be credited to the run twice.
func Paused(run *v1alpha1.MotorRun, p Progress) bool {
	return notBegun(run) || awaitsRetry(run) || (run.Spec.Suspend || AwaitsTrial(&run.Status) || LacksRoom(run) || LacksSlot(run)) && p.Pending == nil && p.Outage == nil
}

// LacksRoom reports whether no node or quota has room for the sandbox of a run. Such a run waits as in a queue. A Pod that is refused for another reason
// is not helped by room.
func LacksRoom(run *v1alpha1.MotorRun) bool {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSandboxReady)
	return c != nil && c.Status == metav1.ConditionFalse && !hasFinished(run) &&
		(c.Reason == v1alpha1.ReasonUnschedulable || c.Reason == v1alpha1.ReasonSandboxRefused && strings.Contains(c.Message, "exceeded quota"))
}

// LacksSlot reports whether no replica of the manager has a slot for the run. Such a run has no sandbox, and waits as in a queue.
func LacksSlot(run *v1alpha1.MotorRun) bool {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSandboxReady)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonSlotsTaken && !hasFinished(run)
}

// notBegun reports whether the run waits for its turn, or, as the copy of another one, for a person.
func notBegun(run *v1alpha1.MotorRun) bool {
	return queued(run) || notAccepted(run, v1alpha1.ReasonCopiedRun)
}

// queued reports whether the run waits for its turn, for room, or for energy: it keeps its turn meanwhile.
func queued(run *v1alpha1.MotorRun) bool {
	return notAccepted(run, v1alpha1.ReasonQueued) || notAccepted(run, v1alpha1.ReasonNoEnergy) || AwaitsStorage(run)
}

// AwaitsStorage reports whether the run waits until the runs of its namespace keep less in the cluster.
func AwaitsStorage(run *v1alpha1.MotorRun) bool {
	return notAccepted(run, v1alpha1.ReasonStorageFull) && !hasFinished(run)
}

func notAccepted(run *v1alpha1.MotorRun, reason string) bool {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == reason
}

func awaitsRetry(run *v1alpha1.MotorRun) bool {
	p := run.Status.Pending()
	return p != nil && p.Kind == v1alpha1.InputRetry
}

const (
	// longestCall is longer than any call of a tool can take.
	longestCall = 10 * time.Minute
	// wakesBefore is how long before a run goes on by itself it must have again what it needs for that.
	wakesBefore = time.Minute
)

// Rests reports whether nothing in the sandbox of a run can need the way out or a credential before a person acts: no call is being made, no program is in
// the background, and no MCP server runs. If the answer changes by itself, it does so at the instant that is returned, which is zero otherwise.
// run.Status.PendingInputs must be up to date, and o are the times in which a manager led.
func Rests(run *v1alpha1.MotorRun, p Progress, o observed.Time, now time.Time) (rests bool, until time.Time) {
	q := run.Status.Pending()
	switch {
	case !HasModel(run), p.InBackground, run.Status.Ending != nil:
		return false, time.Time{}
	case run.Spec.Suspend:
		c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSuspended)
		if c == nil || c.Status != metav1.ConditionTrue {
			return false, time.Time{}
		}
		if ended := c.LastTransitionTime.Add(longestCall); p.Running != nil && now.Before(ended) {
			// A call that was under way goes on.
			return false, ended
		}
		return true, time.Time{}
	case q == nil || Answered(run, q):
		return false, time.Time{}
	case q.Kind == v1alpha1.InputRetry:
		return true, time.Time{}
	case RetriesAlone(q):
		return false, time.Time{}
	}
	if slices.ContainsFunc(run.Spec.MCPServers, func(s v1alpha1.MCPServer) bool { return len(s.Command) > 0 }) {
		// Their programs run between calls, until the run has waited for as long as it may take itself.
		asked := q.AskTime.Time
		ended := o.Extend(asked, asked.Add(time.Duration(run.Spec.Limits.ActiveDeadlineSeconds)*time.Second))
		if now.Before(ended) {
			return false, ended
		}
	}
	if q.OnTimeout == "" || q.OnTimeout == v1alpha1.OnTimeoutFail {
		return true, time.Time{}
	}
	goesOn := q.ExpirationTime.Add(-wakesBefore)
	if !now.Before(goesOn) {
		return false, time.Time{}
	}
	return true, goesOn
}

// AnswerUnseen reports whether a person has answered a run with a way out, and its controller has not seen that yet. While the run waited, its grant may
// have ended and its credentials may have been replaced: the loop must not go on before they are up to date.
func AnswerUnseen(run *v1alpha1.MotorRun) bool {
	q := run.Status.Pending()
	return q != nil && !q.Answered && run.Status.Egress != nil && Answered(run, q)
}

// stopped reports whether the run's own time stands still now, so that it cannot be over. A run that a person resumed is stopped until its status
// records the time of that.
func stopped(run *v1alpha1.MotorRun) bool {
	return run.Spec.Suspend || has(run, v1alpha1.ConditionSuspended) || notBegun(run) || AwaitsTrial(&run.Status) || LacksRoom(run) || LacksSlot(run)
}

// CountPause updates the count of pauses to now. It rounds in favour of the run: times are written in whole seconds.
func CountPause(st *v1alpha1.PauseStatus, paused bool, now time.Time) {
	switch {
	case paused && st.StartTime == nil:
		st.StartTime = new(metav1.NewTime(now.Truncate(time.Second)))
	case !paused && st.StartTime != nil:
		st.DurationSeconds = int64(pausedFor(*st, now) / time.Second)
		st.StartTime = nil
	}
}

// pausedFor returns the time of all pauses, in whole seconds.
func pausedFor(st v1alpha1.PauseStatus, now time.Time) time.Duration {
	total := time.Duration(st.DurationSeconds) * time.Second
	if st.StartTime != nil {
		// A clock that was set back must not reduce the time that was counted.
		total += max(0, now.Sub(st.StartTime.Time)+time.Second-1).Truncate(time.Second)
	}
	return total
}

// Deadline returns when the run's own time is over, including pauses and waits until now. It is zero, for never, during a pause that status.paused
// counts, because then it moves with the clock; the pass that ends the pause sets it. An open question counts as if the answer took all of its
// time: see Answering.
func Deadline(run *v1alpha1.MotorRun, p Progress) time.Time {
	if stopped(run) || run.Status.Paused.StartTime != nil {
		return time.Time{}
	}
	return deadline(run, p, time.Duration(run.Status.Paused.DurationSeconds)*time.Second)
}

// Answering returns the progress as it will be when the answer to the open question is used now, or the model answers.
func (p Progress) Answering(now time.Time) Progress {
	p.closeOutage(now)
	if p.Pending != nil {
		p.Waited += max(0, now.Sub(p.Pending.AskTime.Time))
		p.Pending = nil
	}
	return p
}

// deadline adds to the run's time the time of people and of pauses. The time that a person took is known when the answer was used. Until then the
// whole time for it is added, because a run must not time out between an answer and its use. An answer that came while the run was suspended is
// used when the run goes on.
func deadline(run *v1alpha1.MotorRun, p Progress, paused time.Duration) time.Time {
	budget := time.Duration(run.Spec.Limits.ActiveDeadlineSeconds) * time.Second
	at := run.CreationTimestamp.Add(budget + p.Waited + paused + outageTime(run, p))
	if p.Pending != nil {
		until := p.Pending.ExpirationTime.Time
		if resumed := resumedAt(run); resumed.After(until) {
			until = resumed
		}
		at = at.Add(until.Sub(p.Pending.AskTime.Time))
	}
	return at
}

// resumedAt returns when the run's last suspension ended, zero if it was never suspended.
func resumedAt(run *v1alpha1.MotorRun) time.Time {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSuspended)
	if c == nil || c.Status == metav1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// Extend moves the deadlines that the journal speaks of by the gaps in them.
func (p *Progress) Extend(run *v1alpha1.MotorRun, o observed.Time) {
	if p.Outage != nil {
		p.Outage.Observed = o
	}
	q := p.Pending
	if q == nil {
		return
	}
	expires := o.Extend(q.AskTime.Time, q.ExpirationTime.Time)
	if expires.Equal(q.ExpirationTime.Time) {
		return
	}
	q.ExpirationTime = metav1.NewTime(expires)
	if q.Kind == v1alpha1.InputApproval {
		// The text names the instant.
		q.Question = approvalText(run, q)
	}
}

// CountGaps adds to the pauses of the run the gaps that it lived through and that were not counted yet. The part of a gap within an open pause,
// question or outage of the model is counted with that.
func CountGaps(run *v1alpha1.MotorRun, p Progress, o observed.Time) {
	st := &run.Status.Paused
	from := run.CreationTimestamp.Time
	if at := st.ObservedTime; at != nil && at.After(from) {
		from = at.Time
	}
	var lost time.Duration
	for _, g := range o.Gaps {
		if !g.To.After(from) {
			continue
		}
		to := g.To
		for _, wait := range openWaits(st, p) {
			if wait.Before(to) {
				to = wait
			}
		}
		lost += g.Within(from, to)
		st.ObservedTime = new(metav1.NewTime(g.To))
	}
	st.DurationSeconds += int64((lost + time.Second - 1) / time.Second)
}

// openWaits returns the starts of the run's open waits, whose time is counted when they end.
func openWaits(st *v1alpha1.PauseStatus, p Progress) []time.Time {
	var waits []time.Time
	if st.StartTime != nil {
		waits = append(waits, st.StartTime.Time)
	}
	if p.Pending != nil {
		waits = append(waits, p.Pending.AskTime.Time)
	}
	if p.Outage != nil {
		waits = append(waits, p.Outage.Since)
	}
	return waits
}
