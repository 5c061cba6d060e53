// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// onceSteps returns a turn that asked for a domain, and one that follows with some calls. The first calls have results: "tool", "tool=code" for one
// that failed, "tool?" for one whose end was not observed, "tool-" for one without a result.
func onceSteps(made ...string) []v1alpha1.MotorStep {
	asks := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, ToolCalls: []v1alpha1.ToolCall{
		{ID: "a1-s1-c0", Tool: toolapi.ToolRequestDomain, Arguments: `{"domain":"example.org","reason":"r"}`},
	}}}
	asks.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true}}
	asks.Status.Asks = []v1alpha1.StepAsk{{
		ID: calls.AskID(&asks, v1alpha1.InputDomainRequest, "a1-s1-c0"), Kind: v1alpha1.InputDomainRequest, CallID: "a1-s1-c0", Domain: "example.org",
		Outcome: v1alpha1.AskApproved, Decision: v1alpha1.DecisionAllowOnce,
	}}
	next := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 2}}
	for i, c := range made {
		id := "a1-s2-c" + string(rune('0'+i))
		tool, code, failed := strings.Cut(c, "=")
		plain := strings.TrimRight(tool, "-?")
		arguments := "{}"
		if plain == toolapi.ToolAskUser {
			arguments = `{"question":"q?"}`
		}
		next.Spec.ToolCalls = append(next.Spec.ToolCalls, v1alpha1.ToolCall{ID: id, Tool: plain, Arguments: arguments})
		switch {
		case strings.HasSuffix(tool, "?"):
			next.Status.Unknown = append(next.Status.Unknown, v1alpha1.UnknownExecution{Execution: id, CallID: id, Policy: "Model"})
		case !strings.HasSuffix(tool, "-"):
			next.Status.Results = append(next.Status.Results, v1alpha1.ToolResult{CallID: id, OK: !failed, ErrorCode: code})
		case plain == toolapi.ToolAskUser && len(next.Status.Results) == i:
			next.Status.Asks = append(next.Status.Asks, v1alpha1.StepAsk{ID: id, Kind: v1alpha1.InputQuestion, CallID: id})
		}
	}
	return []v1alpha1.MotorStep{asks, next}
}

// A domain that was allowed once ends with the first call that could use it, and does not count while the run stands still.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls   []string
		suspend bool
		want    bool
	}{
		"no call was made":                     {[]string{"bash-", "bash-"}, false, true},
		"one was made":                         {[]string{"bash", "bash-"}, false, false},
		"one failed":                           {[]string{"bash=exit_1", "bash-"}, false, false},
		"one that cannot use it":               {[]string{"read", "write", "bash-"}, false, true},
		"one that was refused":                 {[]string{"bash=command_not_allowed", "bash-"}, false, true},
		"one whose end nobody saw":             {[]string{"bash?", "bash-"}, false, false},
		"of an MCP server":                     {[]string{"mcp__docs__find", "bash-"}, false, false},
		"the turn is over":                     {[]string{"read"}, false, false},
		"beside a question that is asked":      {[]string{"read", "ask_user-"}, false, false},
		"before a question that is asked next": {[]string{"bash-", "ask_user-"}, false, true},
		"suspended":                            {[]string{"bash-"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &v1alpha1.MotorRun{}
			run.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolRequestDomain, toolapi.ToolBash}
			run.Spec.Suspend = tt.suspend
			steps := onceSteps(tt.calls...)
			run.Spec.Responses = []v1alpha1.Response{{ID: calls.AskID(&steps[0], v1alpha1.InputDomainRequest, "a1-s1-c0"), Decision: v1alpha1.DecisionAllowOnce}}
			p := ReadJournal(run, steps)
			if got := Domains(run, p, nil); (len(got) == 1) != tt.want {
				t.Errorf("the domains are %q", got)
			}
			for _, granted := range []bool{false, true} {
				run.Status.Egress = &v1alpha1.EgressStatus{}
				if granted {
					run.Status.Egress.Domains = []v1alpha1.Domain{"example.org"}
				}
				if counts, known := Once(run, p, nil); counts != tt.want || known != (granted == tt.want) {
					t.Errorf("granted %v: it counts %v, and that is known: %v", granted, counts, known)
				}
			}
		})
	}
}

// A call that was not made uses nothing up: the person allowed the domain for one call that is made.
func TestOnceIsNotUsedByACallThatWasNotMade(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		toolapi.CodeCommandNotAllowed: false, toolapi.CodeApprovalDenied: false, toolapi.CodeApprovalExpired: false, toolapi.CodeToolNotGranted: false,
		toolapi.CodeUnknownTool: false, toolapi.CodeAlreadyDone: false, toolapi.CodeStillRunning: false, toolapi.CodeInvalidArguments: false,
		toolapi.CodeTooManyCalls: false, toolapi.CodeRepeatedCall: false,
		// Their calls can have reached the network before they failed.
		toolapi.CodeTooLarge: true, toolapi.CodeMCPChanged: true,
		toolapi.CodeOutcomeUnknown: true, toolapi.CodeSkipped: true, toolapi.CodeTimeout: true, toolapi.CodeKilled: true,
	} {
		if got := usedOnce(&onceSteps("bash="+code, "bash-")[1]); got != want {
			t.Errorf("%s: used: %t", code, got)
		}
	}
}

// A lasting domain does not count as allowed once, even if it was also requested.
func TestOnceOfWhatLasts(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	run.Spec.Domains = []v1alpha1.Domain{"*.example.org", "example.org"}
	steps := onceSteps("bash", "bash-")
	run.Spec.Responses = []v1alpha1.Response{{ID: calls.AskID(&steps[0], v1alpha1.InputDomainRequest, "a1-s1-c0"), Decision: v1alpha1.DecisionAllowOnce}}
	if counts, known := Once(run, ReadJournal(run, steps), nil); counts || !known {
		t.Errorf("it counts %v, and that is known: %v", counts, known)
	}
}

// A program that ran in the background before a person allowed a domain once does not get the domain: the domain waits for the program's end.
func TestOnceWaitsForTheBackground(t *testing.T) {
	t.Parallel()
	for state, want := range map[v1alpha1.ProgramState]int{v1alpha1.ProgramRunning: 1, v1alpha1.ProgramStopped: 2, v1alpha1.ProgramLost: 2} {
		run := &v1alpha1.MotorRun{}
		run.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolRequestDomain, toolapi.ToolBash}
		run.Spec.Domains = []v1alpha1.Domain{"pypi.org"}
		steps := onceSteps("bash-")
		steps[0].Spec.ToolCalls = append(steps[0].Spec.ToolCalls, v1alpha1.ToolCall{ID: "a1-s1-c1", Tool: toolapi.ToolBash, Arguments: "{}"})
		steps[0].Status.Background = []v1alpha1.StepProgram{{Execution: "a1-s1-c1", CallID: "a1-s1-c1", State: state}}
		id := calls.AskID(&steps[0], v1alpha1.InputDomainRequest, "a1-s1-c0")
		run.Spec.Responses = []v1alpha1.Response{{ID: id, Decision: v1alpha1.DecisionAllowOnce}}
		run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: id, Kind: v1alpha1.InputDomainRequest, Domain: "example.org"})
		if got := Domains(run, ReadJournal(run, steps), nil); len(got) != want {
			t.Errorf("with a program that is %s, the domains are %q", state, got)
		}
		if !OncePending(run) {
			t.Error("the domain is not waited for")
		}
	}
}
