// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// maxSummary is the most of the model's closing text that the status carries.
const maxSummary = 8192

// cleanUp keeps a finished run as it is: what it came to is never decided again, and a sandbox of it that it finds goes
// at the end of the pass.
func (r *MotorRunReconciler) cleanUp(ctx context.Context, s *scope) (bool, error) {
	if !isFinished(s.run) {
		return true, nil
	}
	pod, err := getPod(ctx, r.Client, s.run)
	if err != nil || pod == nil || !isOwn(pod, s.run) {
		return false, err
	}
	s.pod = pod
	return false, nil
}

// conclude ends the run if it is over.
func (r *MotorRunReconciler) conclude(ctx context.Context, s *scope) (bool, error) {
	d := r.decide(s)
	if d.End != nil && s.progress.Final == nil && s.progress.Failure == nil {
		// The cache may not have the step yet that ends the run in its own way.
		if err := r.readJournal(ctx, r.Live, s); err != nil {
			return false, err
		}
		if _, err := r.progress(ctx, s); err != nil {
			return false, err
		}
		d = r.decide(s)
	}
	if d.End != nil {
		end(s, d.End)
		return false, nil
	}
	s.wake(d.WakeAt)
	return true, nil
}

func (r *MotorRunReconciler) decide(s *scope) runpolicy.Decision {
	o := runpolicy.Observation{
		Run: s.run, Progress: s.progress, Sandbox: s.podState, SandboxGone: s.sandboxGone,
		SandboxStartTimeout: r.Config.SandboxStartTimeout,
	}
	if s.pod != nil {
		o.SandboxCreatedAt = s.pod.CreationTimestamp.Time
	}
	return runpolicy.Decide(o, s.now)
}

// end notes the result. The sandbox goes when the result is written and not before: the write is refused if the run
// was changed meanwhile, by the late answer that this decision did not know of, and then the sandbox is still needed.
func end(s *scope, e *runpolicy.End) {
	st := &s.run.Status
	succeeded := metav1.ConditionFalse
	if e.Phase == v1alpha1.PhaseCompleted {
		succeeded = metav1.ConditionTrue
	}
	st.Phase, st.Message = e.Phase, runpolicy.CutEncoded(e.Message, maxMessage)
	st.FinishedAt = new(metav1.NewTime(s.now))
	st.PendingInput = nil
	st.Result = result(s, e)
	if len(st.Attempts) > 0 {
		a := &st.Attempts[len(st.Attempts)-1]
		a.FinishedAt, a.Failure = st.FinishedAt, e.Failure
	}
	s.set(v1alpha1.ConditionSucceeded, succeeded, e.Reason, e.Message)
	s.set(v1alpha1.ConditionFinished, metav1.ConditionTrue, e.Reason, e.Message)
	s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonRunEnded, "The run has ended.")
	if apimeta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSandboxReady) != nil {
		s.set(v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, v1alpha1.ReasonSandboxRemoved, "The run has ended, and its sandbox goes with it.")
	}
}

func (r *MotorRunReconciler) removePod(ctx context.Context, s *scope) error {
	if s.pod == nil || s.pod.DeletionTimestamp != nil {
		return nil
	}
	uid := s.pod.UID
	if err := r.Delete(ctx, s.pod, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the sandbox Pod: %w", err)
	}
	return nil
}

func result(s *scope, e *runpolicy.End) *v1alpha1.RunResult {
	p := s.progress
	total := s.now.Sub(s.run.CreationTimestamp.Time)
	waited := p.Waited
	if p.Pending != nil {
		waited += s.now.Sub(p.Pending.AskedAt.Time)
	}
	return &v1alpha1.RunResult{
		OK:      e.Phase == v1alpha1.PhaseCompleted,
		Summary: runpolicy.CutEncoded(e.Message, maxSummary),
		Stats: v1alpha1.RunStats{
			Iterations: p.Turns, ToolCalls: p.ToolCalls, Errors: p.Errors,
			DurationMs: ms(total), ModelMs: ms(p.Model), ToolMs: ms(p.Tool), WaitingMs: ms(waited),
			OverheadMs: ms(total - p.Model - p.Tool - waited),
			Tokens:     p.Usage.TotalTokens,
		},
	}
}

// ms never goes below zero: creation times have a resolution of a second only.
func ms(d time.Duration) int64 { return max(0, d.Milliseconds()) }
