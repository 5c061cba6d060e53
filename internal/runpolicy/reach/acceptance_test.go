// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
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
