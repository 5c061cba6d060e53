// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func checksWith(commands ...string) *v1alpha1.RunAcceptance {
	a := &v1alpha1.RunAcceptance{}
	for _, c := range commands {
		a.Commands = append(a.Commands, v1alpha1.AcceptCommand{Command: c})
	}
	return a
}

func TestRefuseAcceptance(t *testing.T) {
	t.Parallel()
	run := testRun()
	if r := RefuseAcceptance(run); r != nil {
		t.Errorf("without any: %+v", r)
	}
	run.Spec.Accept = &v1alpha1.RunAcceptance{Files: []string{"../a"}}
	r := RefuseAcceptance(run)
	if r == nil || !r.Final || r.Reason != v1alpha1.ReasonAcceptInvalid || !strings.Contains(r.Message, "spec.accept.files[0] leads out of the workspace") {
		t.Errorf("got %+v", r)
	}
}

func TestDemandsOf(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Spec.Accept = checksWith("make test")
	policy := &v1alpha1.SkillPolicy{Accept: &v1alpha1.RunAcceptance{Files: []string{"out.csv"}}}
	own := Demands{Commands: run.Spec.Accept.Commands}
	both := Demands{Commands: run.Spec.Accept.Commands, Files: []string{"out.csv"}}
	for name, tt := range map[string]struct {
		pin  *v1alpha1.RunSkill
		want Demands
	}{
		"no skill":     {nil, own},
		"approved":     {&v1alpha1.RunSkill{Approved: true, Policy: policy}, both},
		"not approved": {&v1alpha1.RunSkill{Policy: policy}, own},
	} {
		run.Status.Skill = tt.pin
		if d := cmp.Diff(tt.want, DemandsOf(run)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDemandsAreAddedUp(t *testing.T) {
	t.Parallel()
	test := v1alpha1.AcceptCommand{Command: "make test", TimeoutSeconds: 60}
	lint := v1alpha1.AcceptCommand{Command: "make lint", TimeoutSeconds: 60}
	got := demandsOf(nil,
		&v1alpha1.RunAcceptance{Files: []string{"a"}, Commands: []v1alpha1.AcceptCommand{test}, ValueSchema: `{"type":"object"}`},
		&v1alpha1.RunAcceptance{Files: []string{"b", "a"}, Commands: []v1alpha1.AcceptCommand{lint, test}, ValueSchema: `{"required":["a"]}`},
	)
	want := Demands{
		Files: []string{"a", "b"}, Commands: []v1alpha1.AcceptCommand{test, lint}, Schemas: []string{`{"type":"object"}`, `{"required":["a"]}`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Demands{}, demandsOf(nil, nil)); d != "" {
		t.Error(d)
	}
}

// The commands of a run are carried out with the domains and credentials of its skill, so they are bound like those of the model.
func TestRefuseChecks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		accept  *v1alpha1.RunAcceptance
		tools   []v1alpha1.ToolName
		allowed []v1alpha1.CommandPattern
		policy  *v1alpha1.RunAcceptance
		want    string
	}{
		"none":                       {accept: &v1alpha1.RunAcceptance{Files: []string{"a"}}},
		"with bash":                  {accept: checksWith("make test"), tools: []v1alpha1.ToolName{"bash"}},
		"without bash":               {accept: checksWith("make test"), tools: []v1alpha1.ToolName{"read"}, want: "does not grant the tool bash"},
		"an allowed command":         {accept: checksWith("make test"), tools: []v1alpha1.ToolName{"bash"}, allowed: []v1alpha1.CommandPattern{"make *"}},
		"another command":            {accept: checksWith("make test", "curl evil.example"), tools: []v1alpha1.ToolName{"bash"}, allowed: []v1alpha1.CommandPattern{"make *"}, want: "spec.accept.commands[1]"},
		"too many with the policy's": {accept: checksWith("a", "b", "c", "d", "e"), tools: []v1alpha1.ToolName{"bash"}, policy: checksWith("e", "f", "g", "h", "i"), want: "are 9 together, and may be 8"},
		"as many with the policy's":  {accept: checksWith("a", "b", "c", "d", "e"), tools: []v1alpha1.ToolName{"bash"}, policy: checksWith("e", "f", "g", "h")},
		"a command beside one":       {accept: checksWith("make test; curl evil.example"), tools: []v1alpha1.ToolName{"bash"}, allowed: []v1alpha1.CommandPattern{"make *"}, want: "spec.accept.commands[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &v1alpha1.SkillPolicy{Tools: tt.tools, Accept: tt.policy}
			if tt.allowed != nil {
				p.Bash = &v1alpha1.BashRules{AllowedCommands: tt.allowed}
			}
			run := testRun()
			run.Spec.Accept = tt.accept
			r := refuseExcess(run, p)
			if tt.want == "" && r != nil || tt.want != "" && (r == nil || !r.Final || r.Reason != v1alpha1.ReasonSkillPolicyExceeded && tt.policy == nil || !strings.Contains(r.Message, tt.want)) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// Checks are no answers of the model, and may be made twice. The value comes with the closing step.
func TestJournalWithChecks(t *testing.T) {
	t.Parallel()
	finish := testStep(0, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s1-c0", Tool: toolapi.ToolFinish, Arguments: `{"status":"Succeeded","summary":"Done."}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "a0-s1-c0", OK: true}}
	})
	checks := testStep(0, 2, func(s *v1alpha1.MotorStep) {
		s.Spec.Checks = true
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s2-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"make test"}`}}
	})
	p := ReadJournal(testRun(), []v1alpha1.MotorStep{finish, checks})
	if p.Turns != 1 || p.Iterations != 1 || len(p.Unknown) != 0 || p.Running == nil || p.Running.ID != "a0-s2-c0" || !p.Finished || p.Final != nil {
		t.Errorf("while they run: %+v", p)
	}
	checks.Status.Results = []v1alpha1.ToolResult{{CallID: "a0-s2-c0", OK: true}}
	closing := testStep(0, 3, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content, s.Spec.Value = true, "Done.", `{"n":1}` })
	p = ReadJournal(testRun(), []v1alpha1.MotorStep{finish, checks, closing})
	if p.Turns != 1 || p.Iterations != 1 || p.ToolCalls != 2 || p.Final == nil || *p.Final != "Done." || p.Value != `{"n":1}` {
		t.Errorf("in the end: %+v", p)
	}
}

// A check that needed approval, or may do outside of the sandbox what cannot be undone, is an open effect like a call of the model.
func TestChecksInFlight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		domains  []v1alpha1.Domain
		approved bool
		want     int
	}{
		"harmless":     {want: 0},
		"approved":     {approved: true, want: 1},
		"irreversible": {domains: []v1alpha1.Domain{"example.org"}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testRun()
			run.Spec.Domains = tt.domains
			s := testStep(0, 2, func(s *v1alpha1.MotorStep) {
				s.Spec.Checks = true
				s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s2-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"git push"}`}}
				if tt.approved {
					s.Status.Asks = []v1alpha1.StepAsk{{ID: "a", Kind: v1alpha1.InputApproval, Execution: "a0-s2-c0", CallID: "a0-s2-c0", Outcome: v1alpha1.AskApproved}}
				}
			})
			if p := ReadJournal(run, []v1alpha1.MotorStep{testStep(0, 1), s}); len(p.Unknown) != tt.want {
				t.Errorf("open are %+v", p.Unknown)
			}
		})
	}
}

// A step of checks is no answer: the model has not read the state of a program that was found before it.
func TestProgramsBeforeChecks(t *testing.T) {
	t.Parallel()
	left := testStep(0, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s1-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"./deploy","background":true}`}}
		s.Status.Background = []v1alpha1.StepProgram{{Execution: "a0-s1-c0", CallID: "a0-s1-c0", State: v1alpha1.ProgramLost, FoundIn: 2}}
	})
	checks := testStep(0, 3, func(s *v1alpha1.MotorStep) { s.Spec.Checks = true })
	if open := openPrograms([]v1alpha1.MotorStep{left, testStep(0, 2), checks}, 0); len(open) != 1 || !open[0].BrokenOff {
		t.Errorf("with checks after it: %+v", open)
	}
	if open := openPrograms([]v1alpha1.MotorStep{left, testStep(0, 2), checks, testStep(0, 4)}, 0); len(open) != 1 || open[0].BrokenOff {
		t.Errorf("with an answer after it: %+v", open)
	}
}

// The claims of one attempt do not count for the next one.
func TestFinishedIsOfOneAttempt(t *testing.T) {
	t.Parallel()
	finish := testStep(0, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s1-c0", Tool: toolapi.ToolFinish, Arguments: `{"status":"Partial","summary":"Half."}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "a0-s1-c0", OK: true}}
	})
	text := testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content = true, "Whole." })
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{finish, text}); p.Turns != 2 || p.Iterations != 1 || p.Final == nil {
		t.Errorf("got %+v", p)
	}
}
