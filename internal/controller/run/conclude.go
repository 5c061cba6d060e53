// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/energy"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// maxSummary is the most of the model's closing text that the status carries.
const maxSummary = 8192

// maxPartial bounds the partial result of an attempt whose answers were used up.
const maxPartial = 4096

// conclude puts the decision of the pass into effect: it ends the run if that is over, and its attempt if that is.
func (r *Reconciler) conclude(_ context.Context, s *pass.Run) (bool, error) {
	d := s.Decision
	switch {
	case d.End != nil:
		r.end(s, d.End)
		return false, nil
	case d.Next != nil:
		begin(s, d)
	case d.Failure != nil:
		runpolicy.Fail(&s.Run.Status, d.Failure, d.FinishedAt)
	}
	s.Concluded = true
	s.Run.Status.PendingInputs = v1alpha1.PendingList(cmp.Or(d.Retry, s.Progress.Pending, runpolicy.BudgetAsk(s.Run, s.Progress)))
	showModel(s)
	wakeForDeadline(s, d.WakeAt)
	// A new sandbox is made when it is written that there has to be one.
	return d.Next == nil || !d.Next.NewSandbox, nil
}

// end ends the run, or first retains its sandbox for a last look.
func (r *Reconciler) end(s *pass.Run, e *runpolicy.End) {
	o := r.observation(s)
	until := runpolicy.LookUntil(o, e, s.Now)
	st := &s.Run.Status
	if !until.IsZero() && runpolicy.EndsUnseen(st, e) {
		s.Unseen = true
		until = time.Time{}
	}
	if until.IsZero() {
		end(s, e)
		return
	}
	s.Message = fmt.Sprintf("The run ends (%s). What it leaves behind is being collected.", e.Reason)
	if s.EndsIn = r.endsIn(s); s.EndsIn > 0 {
		s.Wake(s.Now.Add(s.EndsIn))
		return
	}
	st.Ending, st.PendingInputs = runpolicy.EndingOf(o, e, s.Now), nil
	s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonRunEnded, "The run is ending.")
	wakeForDeadline(s, until)
}

// endsIn returns for how long status.ending need not say that the run ends, 0 if it must. The worker that recorded the last answer takes the last look without
// being told, and usually closes the step before. The journal has the end and takes precedence over all that could come meanwhile. Every other end, or
// one beside something that is being decided, is told at once.
func (r *Reconciler) endsIn(s *pass.Run) time.Duration {
	if r.Config.ShowPause == 0 || s.Progress.Final == nil || !goesItsWay(s.Run) {
		return 0
	}
	return r.writes.EndsIn(s.Run, r.Config.ShowPause, r.own())
}

// end records the result. The sandbox is deleted when the result is written and not before. The write is refused if the run was changed meanwhile,
// for instance by a late answer that this decision did not know of. Then the sandbox is still needed.
func end(s *pass.Run, e *runpolicy.End) {
	st := &s.Run.Status
	succeeded := metav1.ConditionFalse
	if e.Phase == v1alpha1.PhaseCompleted {
		succeeded = metav1.ConditionTrue
	}
	st.Phase, st.Message = e.Phase, fit.CutEncoded(e.Message, pass.MaxMessage)
	st.CompletionTime = new(metav1.NewTime(s.Now))
	st.PendingInputs, st.Egress, st.Artifacts, st.Losses = nil, nil, nil, nil
	runpolicy.CountPause(&st.Paused, false, s.Now)
	if st.Energy != nil {
		st.Energy.Consumed = v1alpha1.EnergyAmount(energy.Cost(&st.Energy.EnergyRates, st.Steps).String())
	}
	st.Result = result(s, e)
	st.Ending = nil
	endAttempt(st, e)
	s.Set(v1alpha1.ConditionSucceeded, succeeded, e.Reason, e.Message)
	s.Set(v1alpha1.ConditionFinished, metav1.ConditionTrue, e.Reason, e.Message)
	s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonRunEnded, "The run has ended.")
	for conditionType, reason := range map[string]string{
		v1alpha1.ConditionSandboxReady: v1alpha1.ReasonSandboxRemoved, v1alpha1.ConditionSuspended: v1alpha1.ReasonRunEnded,
		v1alpha1.ConditionEgressReady: v1alpha1.ReasonRunEnded, v1alpha1.ConditionModelAvailable: v1alpha1.ReasonRunEnded,
	} {
		if apimeta.FindStatusCondition(st.Conditions, conditionType) != nil {
			s.Set(conditionType, metav1.ConditionFalse, reason, "The run has ended, and its sandbox goes with it.")
		}
	}
}

// endAttempt ends the last attempt with the run. One that had failed before stays as it was, unless it turned out to have
// succeeded after all.
func endAttempt(st *v1alpha1.MotorRunStatus, e *runpolicy.End) {
	a := st.LatestAttempt()
	if a == nil {
		return
	}
	if a.Failure == nil || e.Phase == v1alpha1.PhaseCompleted {
		a.CompletionTime, a.Failure = st.CompletionTime, e.Failure
	}
}

// result sums up all attempts. Pauses count as waiting, because nothing was done in them.
func result(s *pass.Run, e *runpolicy.End) *v1alpha1.RunResult {
	p := s.Progress.Answering(s.Now)
	total := s.Now.Sub(s.Run.CreationTimestamp.Time)
	waited := p.Waited + p.Away + time.Duration(s.Run.Status.Paused.DurationSeconds)*time.Second
	r := &v1alpha1.RunResult{
		OK:      e.Phase == v1alpha1.PhaseCompleted,
		Summary: fit.CutEncoded(e.Message, maxSummary),
		Stats: v1alpha1.RunStats{
			Iterations: p.Turns, ToolCalls: p.ToolCalls, Errors: p.Errors,
			DurationMilliseconds: ms(total), ModelMilliseconds: ms(p.Model), ToolMilliseconds: ms(p.Tool), WaitingMilliseconds: ms(waited),
			OverheadMilliseconds: ms(total - p.Model - p.Tool - waited),
			Tokens:               p.Usage.TotalTokens, Cost: p.Usage.Cost, Currency: p.Usage.Currency,
		},
	}
	r.Artifacts, r.ArtifactsOmitted = fit.ShowArtifacts(p.Artifacts)
	r.Skills, r.NotCollected = fit.ShowSkills(p.Skills), notCollected(s)
	if drained := s.Run.Status.Energy; drained != nil {
		r.Stats.EnergyCost = drained.Consumed
	}
	if !r.OK {
		r.Partial = fit.CutEncoded(p.Partial, maxPartial)
	}
	r.Value, r.Packages = cmp.Or(p.Value, e.Value), p.Packages
	return r
}

// notCollected returns why files that the run may have left behind are missing.
func notCollected(s *pass.Run) string {
	if s.Unseen {
		return "no last look at the sandbox was taken, because workers ended while they carried the run on; what was collected at the last pause is kept"
	}
	if s.Run.Status.Ending != nil && !s.Progress.Closed {
		return "the last look at the sandbox was not over in time; what was collected at the last pause is kept"
	}
	return s.Progress.NotCollected
}

// ms never returns a negative number: creation times have a resolution of a second only.
func ms(d time.Duration) int64 { return max(0, d.Milliseconds()) }

// begin ends the current attempt and begins the next one, in one write: no reader can see the one without the other. The next pass removes the
// former attempt's objects, once that is written.
func begin(s *pass.Run, d runpolicy.Decision) {
	st := &s.Run.Status
	runpolicy.Fail(st, d.Failure, d.FinishedAt)
	if d.Next.NewSandbox && s.Pod != nil {
		st.Sandbox = &v1alpha1.SandboxStatus{PodName: s.Pod.Name, PodUID: string(s.Pod.UID)}
	}
	runpolicy.Begin(st, d.Next, s.Now)
	st.Ending = nil
	// The former attempt's question is not open any more.
	s.Progress.Pending, s.Progress.Outage = nil, nil
	if d.Next.NewSandbox {
		s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxReplaced, fmt.Sprintf(
			"Attempt %d gets a new sandbox. The former one failed: %s", d.Next.Index, d.Failure.Message), false)
	}
}
