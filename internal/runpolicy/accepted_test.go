// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// finishStep returns a step whose finish call was accepted.
func finishStep(attempt, index int32, arguments string) v1alpha1.MotorStep {
	return testStep(attempt, index, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "finish", Tool: toolapi.ToolFinish, Arguments: arguments}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "finish", OK: true}}
	})
}

// An accepted end counts, whatever comes before it is recorded: the Pod is deleted, the time is over, a person cancels.
func TestAnAcceptedEndIsNotLost(t *testing.T) {
	t.Parallel()
	const succeeded = `{"status":"Succeeded","summary":"Done.","value":{"n":1}}`
	finish := finishStep(1, 1, succeeded)
	checked := func(ok bool) v1alpha1.MotorStep {
		return testStep(1, 2, func(s *v1alpha1.MotorStep) {
			s.Spec.Checks = true
			s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "check", Tool: toolapi.ToolBash, Arguments: `{"command":"make test"}`}}
			s.Status.Results = []v1alpha1.ToolResult{{CallID: "check", OK: ok}}
		})
	}
	cut := finishStep(1, 1, succeeded[:20])
	unsettled := checked(true)
	unsettled.Status.Results = nil
	for name, tt := range map[string]struct {
		commands, attempts int
		steps              []v1alpha1.MotorStep
		want               bool
	}{
		"accepted":                     {0, 1, []v1alpha1.MotorStep{finish}, true},
		"a part of it":                 {0, 1, []v1alpha1.MotorStep{finishStep(1, 1, `{"status":"Partial","summary":"Half."}`)}, false},
		"the head of a step":           {0, 1, []v1alpha1.MotorStep{cut}, false},
		"the model went on":            {0, 1, []v1alpha1.MotorStep{finish, testStep(1, 2)}, false},
		"of the attempt before":        {0, 2, []v1alpha1.MotorStep{finish}, false},
		"checks are due":               {1, 1, []v1alpha1.MotorStep{finish}, false},
		"checks run":                   {1, 1, []v1alpha1.MotorStep{finish, unsettled}, false},
		"checks passed":                {1, 1, []v1alpha1.MotorStep{finish, checked(true)}, true},
		"checks failed":                {1, 1, []v1alpha1.MotorStep{finish, checked(false)}, false},
		"checks failed and it went on": {1, 1, []v1alpha1.MotorStep{finish, checked(false), testStep(1, 3)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for cause, change := range map[string]func(*Observation){
				"the Pod is gone": func(o *Observation) { o.SandboxGone = true },
				"it does not come": func(o *Observation) {
					o.Sandbox, o.SandboxSince, o.SandboxStartTimeout = &sandbox.State{Phase: sandbox.Starting}, t0, time.Second
				},
				"cancelled": func(o *Observation) { o.Run.Spec.Cancel = true },
				"too late":  func(o *Observation) { o.Run.Spec.Limits.ActiveDeadlineSeconds = 1 },
			} {
				run := testRun()
				run.Spec.Accept = &v1alpha1.RunAcceptance{ValueSchema: `{"type":"object"}`}
				for range tt.commands {
					run.Spec.Accept.Commands = append(run.Spec.Accept.Commands, v1alpha1.AcceptCommand{Command: "make test"})
				}
				run.Status.Attempts = make([]v1alpha1.AttemptStatus, tt.attempts)
				for i := range run.Status.Attempts {
					run.Status.Attempts[i].Index = int32(i) + 1
				}
				o := Observation{Run: run, Progress: ReadJournal(run, tt.steps)}
				change(&o)
				d := Decide(o, after(time.Hour))
				got := d.End != nil && d.End.Phase == v1alpha1.PhaseCompleted
				if got != tt.want || got && (d.End.Message != "Done." || d.End.Value != `{"n":1}` || d.Failure != nil) {
					t.Errorf("%s: %+v", cause, d)
				}
				if !got {
					continue
				}
				// It stays so, also when what caused it is no more.
				run.Status.Ending = EndingOf(o, d.End, after(time.Hour))
				if d := Decide(Observation{Run: run, Progress: ReadJournal(run, tt.steps)}, after(time.Hour+time.Second)); d.End == nil || d.End.Phase != v1alpha1.PhaseCompleted || d.End.Message != "Done." {
					t.Errorf("%s, in the next pass: %+v", cause, d)
				}
			}
		})
	}
}

// A replica of an earlier release ends an attempt with the text of its model. Where something must hold, that is no success.
func TestATextIsNoProof(t *testing.T) {
	t.Parallel()
	text := testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content = true, "All done." })
	closing := testStep(1, 2, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content = true, "Done." })
	finish := finishStep(1, 1, `{"status":"Succeeded","summary":"Done."}`)
	files := &v1alpha1.RunAcceptance{Files: []string{"a"}}
	for name, tt := range map[string]struct {
		accept *v1alpha1.RunAcceptance
		skill  *v1alpha1.RunAcceptance
		steps  []v1alpha1.MotorStep
		proved bool
	}{
		"nothing must hold": {nil, nil, []v1alpha1.MotorStep{text}, true},
		"the run's demands": {files, nil, []v1alpha1.MotorStep{text}, false},
		"the skill's":       {nil, files, []v1alpha1.MotorStep{text}, false},
		"finish was called": {files, nil, []v1alpha1.MotorStep{finish, closing}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testRun()
			run.Spec.Accept = tt.accept
			if tt.skill != nil {
				run.Status.Skill = &v1alpha1.RunSkill{Approved: true, Policy: &v1alpha1.SkillPolicy{Accept: tt.skill}}
			}
			p := ReadJournal(run, tt.steps)
			if (p.Final != nil) != tt.proved || (p.Failure != nil) == tt.proved {
				t.Errorf("final %v, failure %+v", p.Final, p.Failure)
			}
			if !tt.proved && (p.Failure.Reason != v1alpha1.ReasonAcceptanceFailed || p.Partial != "All done.") {
				t.Errorf("failure %+v, partial %q", p.Failure, p.Partial)
			}
		})
	}
}

// A person who is asked about the outcome of a check sees that it is one: their answer decides whether the run counts as done.
func TestTheOutcomeOfACheckIsAskedAsOne(t *testing.T) {
	t.Parallel()
	for _, checks := range []bool{false, true} {
		s := testStep(1, 1, func(s *v1alpha1.MotorStep) {
			s.Spec.Checks = checks
			s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "c", Tool: toolapi.ToolBash, Arguments: `{"command":"./publish"}`}}
			s.Status.Unknown = []v1alpha1.UnknownExecution{{Execution: "c", CallID: "c", Policy: string(v1alpha1.UnknownAskPerson)}}
		}, askedAbout("c", "c", v1alpha1.InputOutcomeUnknown, 20*sec))
		p := ReadJournal(testRun(), []v1alpha1.MotorStep{s}).Pending
		if p == nil || strings.Contains(p.Question, "It is a check of spec.accept") != checks {
			t.Errorf("checks %t: %+v", checks, p)
		}
	}
}
