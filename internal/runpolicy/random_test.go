// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// randomStep returns any step that the API takes, sensible or not.
func randomStep(r *rand.Rand, index int32) v1alpha1.MotorStep {
	attempt := int32(1)
	if r.IntN(10) == 0 {
		attempt = 2
	}
	var options []stepOption
	for range r.IntN(4) {
		switch r.IntN(8) {
		case 0:
			options = append(options, call("bash", "{}"))
		case 1:
			options = append(options, asking("Which?", time.Duration(r.IntN(300))*sec))
		case 2:
			options = append(options, call("ask_user", `{"options":[1,2]`))
		case 3:
			options = append(options, []stepOption{requesting("example.org", time.Duration(r.IntN(300))*sec), request("org")}[r.IntN(2)])
		case 4:
			options = append(options, answered("example.org", []string{"", "domain_denied", "domain_not_allowed"}[r.IntN(3)]))
		case 6:
			options = append(options, call("bash", "{}"), func(s *v1alpha1.MotorStep) {
				id := s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID
				asked := time.Duration(r.IntN(300)) * sec
				approval(id, id, []v1alpha1.AskOutcome{"", "Approved", "Denied", "Expired"}[r.IntN(4)], asked, asked+time.Duration(r.IntN(100))*sec)(s)
			})
		case 5:
			options = append(options, done("ask_user", r.IntN(2) == 0, r.Int64N(100_000), "x"))
		default:
			options = append(options, done("bash", r.IntN(2) == 0, r.Int64N(100_000), "漢\x00"))
		}
	}
	s := testStep(attempt, index, options...)
	s.CreationTimestamp.Time = after(time.Duration(r.IntN(200)) * sec)
	if r.IntN(20) == 0 {
		s.UID = ""
	}
	return s
}

func randomObservation(r *rand.Rand, steps []v1alpha1.MotorStep) Observation {
	run := mayAsk()
	for i := range steps {
		for _, c := range steps[i].Spec.ToolCalls {
			if r.IntN(3) == 0 {
				run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: calls.AskID(&steps[i], v1alpha1.InputQuestion, c.ID), Answer: "a"})
			} else if r.IntN(3) == 0 {
				decide(run, calls.AskID(&steps[i], v1alpha1.InputQuestion, c.ID), v1alpha1.DecisionAllowRun)
			}
		}
	}
	run.Spec.Cancel = r.IntN(10) == 0
	run.Spec.Limits = v1alpha1.RunLimits{ActiveDeadlineSeconds: r.Int32N(300), InputDeadlineSeconds: r.Int32N(100), ApprovalDeadlineSeconds: r.Int32N(100)}
	o := Observation{Run: run, Progress: ReadJournal(run, steps), SandboxGone: r.IntN(10) == 0, SandboxStartTimeout: time.Duration(r.IntN(100)) * sec}
	if r.IntN(3) > 0 {
		o.Sandbox = &sandbox.State{Phase: sandbox.Phase(r.IntN(4)), Reason: "Any", FinishedAt: after(time.Duration(r.IntN(400)) * sec)}
		o.SandboxSince = after(time.Duration(r.IntN(100)) * sec)
	}
	return o
}

// step brings the run to the next instant at which something is decided, as the controller does.
func step(o *Observation, d Decision, now time.Time) (Decision, time.Time) {
	if d.Failure != nil {
		Fail(&o.Run.Status, d.Failure, d.FinishedAt)
	}
	if d.Next != nil {
		Begin(&o.Run.Status, d.Next, now)
		o.Progress, o.Sandbox, o.SandboxGone = Progress{Attempt: d.Next.Index}, runningPod, false
	} else {
		now = d.WakeAt
	}
	return Decide(*o, now), now
}

func TestDecideRandomly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var steps []v1alpha1.MotorStep
		for i := range int32(r.IntN(6)) {
			steps = append(steps, randomStep(r, i+1))
		}
		now := after(time.Duration(r.IntN(400)) * sec)
		o := randomObservation(r, steps)
		o.Run.Spec.MaxAttempts = r.Int32N(4)
		o.Run.Status.Attempts = AttemptsOf(&o.Run.Status, o.Progress, t0)
		d := Decide(o, now)
		if again := Decide(o, now); cmp.Diff(d, again) != "" {
			t.Fatalf("seed %d: the same observation, another decision", seed)
		}
		// A run that goes on unobserved is decided at the latest when it wakes, again and again.
		for wakes := 0; ; wakes++ {
			switch {
			case d.End != nil && (d.Failure != nil || d.Next != nil || d.Retry != nil || !d.WakeAt.IsZero()):
				t.Fatalf("seed %d: an ended run goes on: %+v", seed, d)
			case d.End != nil && (d.End.Phase == v1alpha1.PhaseFailed) != (d.End.Failure != nil):
				t.Fatalf("seed %d: %s with failure %v", seed, d.End.Phase, d.End.Failure)
			case d.End == nil && d.Next == nil && !d.WakeAt.After(now):
				t.Fatalf("seed %d: wakes at %s, it is %s", seed, d.WakeAt, now)
			case (d.Failure != nil) != (d.Next != nil || d.Retry != nil), d.Next != nil && d.Retry != nil:
				t.Fatalf("seed %d: %+v", seed, d)
			case wakes > 12:
				t.Fatalf("seed %d: never decided", seed)
			}
			if d.End != nil {
				break
			}
			d, now = step(&o, d, now)
		}
	}
}

// The end in the journal is the end, whatever is observed later.
func TestJournalsEndIsTheEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var steps []v1alpha1.MotorStep
		for i := range int32(r.IntN(4)) {
			s := randomStep(r, i+1)
			s.Spec.Attempt = 1
			steps = append(steps, s)
		}
		last := testStep(1, int32(len(steps))+1, final(fmt.Sprint("done ", seed)))
		want := v1alpha1.ReasonCompleted
		if r.IntN(2) == 0 {
			last, want = testStep(1, int32(len(steps))+1, outcome("Why")), "Why"
		}
		steps = append(steps, last)
		var first *End
		for range 5 {
			d := Decide(randomObservation(r, steps), after(time.Duration(r.IntN(1000))*sec))
			if d.End == nil || d.End.Reason != want {
				t.Fatalf("seed %d: %+v, want %s", seed, d.End, want)
			}
			if first == nil {
				first = d.End
			}
			if diff := cmp.Diff(first, d.End); diff != "" {
				t.Fatalf("seed %d: the end changed:\n%s", seed, diff)
			}
		}
	}
}
