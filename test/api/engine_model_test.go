// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func isOutage(s v1alpha1.MotorStep) bool { return s.Spec.Type == v1alpha1.StepOutage }

func outage(reason string, mustAct bool, retryAfter time.Duration) *chat.Outage {
	return &chat.Outage{
		Reason: reason, Message: "The model endpoint is away.", MustAct: mustAct, RetryAfter: retryAfter, Usage: turn.Usage{PromptTokens: 3},
	}
}

func oneAttempt(run *v1alpha1.MotorRun) { run.Spec.MaxAttempts = 1 }

// threeSteps are answers with a call between any two.
func threeSteps() []chat.Answer {
	return []chat.Answer{says("", call("bash", `{"command":"echo one"}`)), says("", call("bash", `{"command":"echo two"}`)), says("done")}
}

// A model that is away in the middle of a run costs neither an attempt nor the conversation, also if another manager goes on, and however
// long it is within the time for it.
func TestEngineWaitsForItsModel(t *testing.T) {
	t.Parallel()
	for name, mustAct := range map[string]bool{"by itself": false, "when something was changed": true} {
		t.Run(name, func(t *testing.T) {
			var back atomic.Bool
			model := &stubModel{answers: threeSteps(), fail: func(n int32) error {
				if n >= 2 && !back.Load() {
					return outage(v1alpha1.ReasonModelUnavailable, mustAct, time.Millisecond)
				}
				return nil
			}}
			r := newEngineRig(t, model, oneAttempt)
			stop := r.startEngineWith("worker-1", holdsItsLease)
			// What the last of three tries cost may be lost with the manager.
			r.waitFor(func() bool { return model.asked.Load() >= 4 })
			stop()
			r.giveTo("worker-2", 2)
			r.skipped.Store(int64(50 * time.Minute))
			back.Store(true)
			r.startEngineWith("worker-2", holdsItsLease)
			steps := r.steps(journalEnded)
			outages := slices.DeleteFunc(slices.Clone(steps), func(s v1alpha1.MotorStep) bool { return !isOutage(s) })
			turns := slices.DeleteFunc(steps, isOutage)
			if len(turns) != 3 || !turns[2].Spec.Final || turns[2].Spec.Content != "done" {
				t.Errorf("the turns are %+v", turns)
			}
			if len(outages) != 1 || outages[0].Name != "run-a01-s0002-outage" || outages[0].Spec.Index != 2 || outages[0].Spec.Outage.MustAct != mustAct {
				t.Fatalf("the outages are %+v", outages)
			}
			if u := outages[0].Status.FailedUsage; u.PromptTokens < 6 || u.PromptTokens != u.TotalTokens {
				t.Errorf("its tries cost %+v", u)
			}
		})
	}
}

// When the time for it is over the attempt fails, and another one may be asked for.
func TestEngineGivesUpAModel(t *testing.T) {
	model := &stubModel{answers: threeSteps(), fail: func(n int32) error {
		if n >= 2 {
			return outage(v1alpha1.ReasonModelUnauthorized, true, time.Millisecond)
		}
		return nil
	}}
	r := newEngineRig(t, model)
	r.startEngineWith("worker-1", holdsItsLease)
	r.waitFor(func() bool { return model.asked.Load() >= 3 })
	r.skipped.Store(int64(time.Hour + time.Second))
	steps := slices.DeleteFunc(r.steps(journalEnded), isOutage)
	o := steps[len(steps)-1].Spec.Outcome
	if len(steps) != 2 || o == nil || o.Reason != v1alpha1.ReasonModelUnauthorized || !o.Retryable || !strings.Contains(o.Message, "3600 s") {
		t.Errorf("the steps are %+v, outcome %+v", steps, o)
	}
}

// A change of the MotorCortex is tried at once, however long the next try is away.
func TestEngineWakesWhenTheMotorCortexChanges(t *testing.T) {
	var back atomic.Bool
	model := &stubModel{answers: threeSteps(), fail: func(int32) error {
		if back.Load() {
			return nil
		}
		return outage(v1alpha1.ReasonModelNotFound, true, time.Hour)
	}}
	r := newEngineRig(t, model)
	r.startEngine("worker-1", nil)
	r.steps(func(steps []v1alpha1.MotorStep) bool { return len(steps) == 1 && isOutage(steps[0]) })
	back.Store(true)
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: r.run.Namespace, Name: v1alpha1.CortexName}}
	cortex.Spec.Models.Motor = &v1alpha1.ModelEndpoint{BaseURL: "https://model.example.org/v1", Model: "another", Finish: v1alpha1.FinishText}
	must(t, admin.Create(r.ctx, cortex))
	if steps := r.steps(journalEnded); !steps[len(steps)-1].Spec.Final {
		t.Errorf("the steps are %+v", steps)
	}
}
