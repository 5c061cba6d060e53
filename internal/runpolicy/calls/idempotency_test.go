// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// TestIdempotencyKey has no key but one that the model gave.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args, want string }{
		{"bash", `{"command":"ls","idempotencyKey":"k-1"}`, "^user:k-1$"}, {"fetch", `{"url":"u","idempotencyKey":"order 7"}`, "^user:sha256-[0-9a-f]{40}$"},
		{"write", `{"path":"x","idempotencyKey":"k"}`, "^$"}, {"code", `{"idempotencyKey":"k"}`, "^$"}, {"bash", `{"command":"git push"}`, "^$"}, {"bash", "nonsense", "^$"},
		{"fetch", `{"url":"u","method":"POST"}`, "^$"}, {"mcp__mail__send", `{"idempotencyKey":"k"}`, "^$"}, {"bash", `{"command":"ls","idempotencyKey":""}`, "^$"},
	} {
		if got := IdempotencyKey(c.tool, c.args); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s %s: key %q, want %s", c.tool, c.args, got, c.want)
		}
	}
}

// TestGivenKeysAreFit has keys that go into a header and into an environment, and that stay different.
func TestGivenKeysAreFit(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []string{"a", "A", "a b", "a\tb", "é", "x\r\nHost: y", strings.Repeat("k", 123), strings.Repeat("k", 124), strings.Repeat("k", 128), "\u202e", "~!"} {
		got := IdempotencyKey("bash", fmt.Sprintf(`{"command":"ls","idempotencyKey":%s}`, fit.Quoted(key, 1000)))
		if !regexp.MustCompile(`^user:[!-~]+$`).MatchString(got) || len(got) > toolapi.MaxIdempotencyKey || seen[got] {
			t.Errorf("%q gives %q", key, got)
		}
		seen[got] = true
	}
}

func approved(outcome v1alpha1.AskOutcome) stepOption {
	return func(s *v1alpha1.MotorStep) {
		id := s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID
		s.Status.Asks = append(s.Status.Asks, v1alpha1.StepAsk{ID: id, Kind: v1alpha1.InputApproval, Execution: id, CallID: id, Outcome: outcome})
	}
}

func TestAlreadyDone(t *testing.T) {
	t.Parallel()
	const push = `{"command":"git push"}`
	run := plainRun(v1alpha1.ApprovalNever, "example.org")
	asking := ruledRun(v1alpha1.ApprovalNever, "example.org")
	good := finished(v1alpha1.ToolResult{OK: true, Output: "pushed", OutputFile: ".motor/output/x", Provenance: "Web"})
	lost := finished(v1alpha1.ToolResult{ErrorCode: "outcome_unknown", Provenance: "Internal"})
	maybe := func(id string) *toolapi.Result {
		return &toolapi.Result{
			ErrorCode: "outcome_unknown",
			Output: "The call " + id + " was to have the same effect, and its end is unknown: it may have done all of its work, a part, or nothing. This call was not " +
				"made. Find out what became of that one. If it did nothing, make a call with other arguments, and with another idempotencyKey if it has one.",
			Provenance: toolapi.ProvenanceInternal,
		}
	}
	for _, c := range []struct {
		name  string
		run   *v1alpha1.MotorRun
		steps []v1alpha1.MotorStep
		id    string
		want  *toolapi.Result
	}{
		{"first", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push))}, "a1-s1-c0", nil},
		{"same turn", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), good, call("bash", push))}, "a1-s1-c1", nil},
		{"other keys of JSON", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", ` { "command" : "git push" }`), good), testStep(1, 2, call("bash", push))}, "a1-s2-c0", nil},
		{"earlier attempt", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), good), testStep(2, 1, call("bash", push))}, "a2-s1-c0", nil},
		{"not recorded yet", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), good)}, "a1-s2-c0", nil},
		{"the first of several", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), good, call("bash", push), good, call("bash", push))}, "a1-s1-c2", nil},
		{"later ones do not count", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push)), testStep(1, 2, call("bash", push), good)}, "a1-s1-c0", nil},
		{"failed", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "exit_1"}), call("bash", push))}, "a1-s1-c1", nil},
		{"denied", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "approval_denied"}), call("bash", push))}, "a1-s1-c1", nil},
		{"another command", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", `{"command":"git push x"}`), good, call("bash", push))}, "a1-s1-c1", nil},
		{"another tool", run, []v1alpha1.MotorStep{testStep(1, 1, call("code", push), good, call("bash", push))}, "a1-s1-c1", nil},
		{"not irreversible", testRun(), []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), good, call("bash", push))}, "a1-s1-c1", nil},
		{"unknown", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), lost, call("bash", push))}, "a1-s1-c1", maybe("a1-s1-c0")},
		{"skipped", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "skipped"}), call("bash", push))}, "a1-s1-c1", maybe("a1-s1-c0")},
		{"the first unknown", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), lost, call("bash", push), lost, call("bash", push))}, "a1-s1-c2", maybe("a1-s1-c0")},
		{"one that succeeded makes no difference", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), lost, call("bash", push), good, call("bash", push))}, "a1-s1-c2", maybe("a1-s1-c0")},
		{"no result in an ended attempt", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push)), testStep(2, 1, call("bash", push))}, "a2-s1-c0", maybe("a1-s1-c0")},
		{"no result in this attempt", run, []v1alpha1.MotorStep{testStep(2, 1, call("bash", push)), testStep(2, 2, call("bash", push))}, "a2-s2-c0", nil},
		{"its turn did not come", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", `{"command":"ls"}`), call("bash", push)), testStep(2, 1, call("bash", push))}, "a2-s1-c0", nil},
		{"behind a question", run, []v1alpha1.MotorStep{testStep(1, 1, ask("?"), call("bash", push)), testStep(2, 1, call("bash", push))}, "a2-s1-c0", maybe("a1-s1-c1")},
		{"not approved", asking, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push)), testStep(2, 1, call("bash", push))}, "a2-s1-c0", nil},
		{"asked", asking, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), approved("")), testStep(2, 1, call("bash", push))}, "a2-s1-c0", nil},
		{"approved", asking, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), approved("Approved")), testStep(2, 1, call("bash", push))}, "a2-s1-c0", maybe("a1-s1-c0")},
		{"found unknown", asking, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push), unknown("a1-s1-c0", "a1-s1-c0", "Person", 0)), testStep(2, 1, call("bash", push))}, "a2-s1-c0", maybe("a1-s1-c0")},
	} {
		if diff := cmp.Diff(c.want, AlreadyDone(c.run, c.steps, c.id, "bash", push)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestAlreadyDoneByKey has the model's key decide, and not the arguments. A call that is not made is no success.
func TestAlreadyDoneByKey(t *testing.T) {
	t.Parallel()
	with := func(command, key string) string {
		return fmt.Sprintf(`{"command":%q,"idempotencyKey":%q}`, command, key)
	}
	good := finished(v1alpha1.ToolResult{OK: true, Output: "pushed", OutputFile: ".motor/output/x", Provenance: "Web"})
	again := finished(v1alpha1.ToolResult{ErrorCode: "already_done", Output: "x"})
	lost := finished(v1alpha1.ToolResult{ErrorCode: "outcome_unknown", Provenance: "Internal"})
	k := call("bash", with("git push a", "k"))
	doneBy := func(id, file string) *toolapi.Result {
		return &toolapi.Result{ErrorCode: toolapi.CodeAlreadyDone, Output: toolapi.AlreadyDoneText(id) + "pushed", Provenance: toolapi.ProvenanceWeb, OutputFile: file}
	}
	const file = ".motor/output/x"
	for _, c := range []struct {
		name, args, id string
		steps          []v1alpha1.MotorStep
		want           *toolapi.Result
	}{
		{"same key", with("git push b", "k"), "a1-s2-c0", []v1alpha1.MotorStep{testStep(1, 1, k, good)}, doneBy("a1-s1-c0", file)},
		{"same key, another command", with("ls", "k"), "a1-s2-c0", []v1alpha1.MotorStep{testStep(1, 1, k, good)}, doneBy("a1-s1-c0", file)},
		{"another key", with("git push a", "k2"), "a1-s2-c0", []v1alpha1.MotorStep{testStep(1, 1, k, good)}, nil},
		{"no key", `{"command":"git push a"}`, "a1-s2-c0", []v1alpha1.MotorStep{testStep(1, 1, k, good)}, nil},
		{"same turn", with("git push a", "k"), "a1-s1-c1", []v1alpha1.MotorStep{testStep(1, 1, k, good, k)}, doneBy("a1-s1-c0", file)},
		{"earlier attempt", with("git push a", "k"), "a2-s1-c0", []v1alpha1.MotorStep{testStep(1, 1, k, good), testStep(2, 1, k)}, doneBy("a1-s1-c0", "")},
		{"a third time", with("git push a", "k"), "a1-s1-c2", []v1alpha1.MotorStep{testStep(1, 1, k, good, k, again, k)}, doneBy("a1-s1-c0", file)},
		{"it failed", with("git push a", "k"), "a1-s1-c1", []v1alpha1.MotorStep{testStep(1, 1, k, finished(v1alpha1.ToolResult{ErrorCode: "exit_1"}), k)}, nil},
		{"later ones do not count", with("git push a", "k"), "a1-s1-c0", []v1alpha1.MotorStep{testStep(1, 1, k), testStep(1, 2, k, good)}, nil},
		{"done after unknown", with("git push a", "k"), "a1-s1-c2", []v1alpha1.MotorStep{testStep(1, 1, k, lost, k, good, k)}, doneBy("a1-s1-c1", file)},
	} {
		if diff := cmp.Diff(c.want, AlreadyDone(testRun(), c.steps, c.id, "bash", c.args)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	got := AlreadyDone(testRun(), []v1alpha1.MotorStep{testStep(1, 1, k, lost)}, "a1-s2-c0", "bash", with("git push a", "k"))
	if got == nil || got.ErrorCode != toolapi.CodeOutcomeUnknown || !strings.Contains(got.Output, "a1-s1-c0") {
		t.Errorf("unknown: %+v", got)
	}
}

// TestUnknownUnderAnotherKey checks that a call which may have had an irreversible effect is not made again because its key was added, changed or
// left out. A call that is harmless to repeat is made.
func TestUnknownUnderAnotherKey(t *testing.T) {
	t.Parallel()
	lost := finished(v1alpha1.ToolResult{ErrorCode: "outcome_unknown", Provenance: "Internal"})
	good := finished(v1alpha1.ToolResult{OK: true, Output: "pushed"})
	bash := func(command, key string) string {
		return fmt.Sprintf(`{"command":%q%s}`, command, key)
	}
	fetch := func(method, key string) string {
		return fmt.Sprintf(`{"url":"https://example.org/","method":%q%s}`, method, key)
	}
	const none, one, other = "", `,"idempotencyKey":"k"`, ` , "idempotencyKey":"k2"`
	for _, c := range []struct {
		tool, before, after string
		result              stepOption
		made                bool
	}{
		{"bash", bash("git push", none), bash("git push", one), lost, false},
		{"bash", bash("git push", one), bash("git push", other), lost, false},
		{"bash", bash("git push", one), bash("git push", none), lost, false},
		{"bash", bash("git push", one), bash("git push", `,"idempotencykey":"k2"`), lost, false},
		{"fetch", fetch("POST", none), fetch("POST", one), lost, false},
		{"fetch", fetch("POST", one), fetch("POST", other), lost, false},
		{"fetch", fetch("POST", one), fetch("POST", none), lost, false},
		{"bash", bash("git push", one), bash("git push x", other), lost, true},
		{"bash", bash("git push", one), bash("git push", other), good, true},
		{"bash", bash("ls", one), bash("ls", other), lost, true},
		{"bash", bash("ls", one), bash("ls", none), lost, true},
		{"mcp__mail__send", `{"idempotencyKey":"a"}`, `{"idempotencyKey":"b"}`, lost, true},
	} {
		steps := []v1alpha1.MotorStep{testStep(1, 1, call(c.tool, c.before), c.result)}
		got := AlreadyDone(plainRun(v1alpha1.ApprovalNever, "example.org"), steps, "a1-s2-c0", c.tool, c.after)
		if made := got == nil; made != c.made || !made && got.ErrorCode != toolapi.CodeOutcomeUnknown {
			t.Errorf("%s %s after %s: %+v", c.tool, c.after, c.before, got)
		}
	}
}

// TestMadeTwice has what is the same be made again: git push, git commit, git push are three calls.
func TestMadeTwice(t *testing.T) {
	t.Parallel()
	good := finished(v1alpha1.ToolResult{OK: true, Output: "ok"})
	for tool, args := range map[string]string{
		"bash": `{"command":"git push"}`, "fetch": `{"url":"u","method":"POST"}`, "code": `{"source":"1"}`, "mcp__mail__send": `{"to":"x"}`,
	} {
		steps := []v1alpha1.MotorStep{testStep(1, 1, call(tool, args), good), testStep(1, 2, call("bash", `{"command":"git commit"}`), good)}
		for _, run := range []*v1alpha1.MotorRun{ruledRun(v1alpha1.ApprovalAlways, "example.org"), plainRun(v1alpha1.ApprovalNever, "example.org")} {
			if got := AlreadyDone(run, steps, "a1-s3-c0", tool, args); got != nil {
				t.Errorf("%s %s: %+v", tool, args, got)
			}
		}
	}
}

// TestAlreadyDoneIsBounded has the result no longer than a result may be.
func TestAlreadyDoneIsBounded(t *testing.T) {
	t.Parallel()
	args := `{"url":"u","method":"POST","idempotencyKey":"k"}`
	steps := []v1alpha1.MotorStep{testStep(1, 1, call("fetch", args), finished(v1alpha1.ToolResult{OK: true, Output: strings.Repeat("é", toolapi.MaxOutputBytes/2)}))}
	got := AlreadyDone(testRun(), steps, "a1-s2-c0", "fetch", args)
	if got == nil || len(got.Output) > toolapi.MaxOutputBytes || !strings.HasSuffix(got.Output, "é…") {
		t.Errorf("%+.200v", got)
	}
}

// A later approval for the run does not mean that a call which was never approved may have been started.
func TestALaterApprovalStartedNothing(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Spec.Approval = &v1alpha1.RunApproval{Tools: []v1alpha1.ToolName{"bash"}}
	first := testStep(1, 1, call("bash", "{}"))
	later := testStep(2, 1, call("bash", "{}"), approved(v1alpha1.AskApproved))
	a := &later.Status.Asks[0]
	a.Decision, a.Rule = v1alpha1.DecisionApproveRun, "spec.approval.tools: bash"
	for e := range before([]v1alpha1.MotorStep{first, later}, "a2-s2-c0", "bash") {
		if e.call.ID == "a1-s1-c0" && e.isUnknown(run, 1) {
			t.Error("the call of the first attempt may have been started")
		}
	}
}
