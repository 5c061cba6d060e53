// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	fromDigest := func(tool, args string) string {
		return "call:" + strings.TrimPrefix(ArgsDigest(tool, args), "sha256:")[:40]
	}
	open, closed := plainRun(v1alpha1.ApprovalNever, "example.org"), ruledRun(v1alpha1.ApprovalNever)
	for _, c := range []struct {
		run        *v1alpha1.MotorRun
		tool, args string
		want       string
	}{
		{open, "bash", `{"command":"ls","idempotencyKey":"k-1"}`, "user:k-1"},
		{testRun(), "fetch", `{"url":"u","idempotencyKey":"order 7"}`, "user:sha256-aef9b1bc5a7f0a0d2c0b3a0f7b2a7f4f0f0f0f0f"},
		{testRun(), "write", `{"path":"x","idempotencyKey":"k"}`, ""},
		{testRun(), "bash", `{"command":"ls"}`, ""},
		{open, "bash", `{"command":"git push"}`, fromDigest("bash", `{"command":"git push"}`)},
		{open, "bash", ` {"command": "git push"} `, fromDigest("bash", `{"command":"git push"}`)},
		{testRun(), "bash", `{"command":"git push"}`, ""},
		{closed, "bash", `{"command":"rm -rf x"}`, fromDigest("bash", `{"command":"rm -rf x"}`)},
		// Nobody can tell that these have an effect, and each time they may give something else.
		{open, "bash", `{"command":"bash x.sh"}`, ""},
		{open, "bash", `{"command":"$x"}`, ""},
		{open, "bash", `{"command":"curl \"$url\""}`, ""},
		{open, "bash", `{"command":"npm test"}`, ""},
		{open, "bash", `nonsense`, ""},
		{closed, "code", `{"source":"1"}`, ""},
		{closed, "fetch", `{"url":"u"}`, ""},
		{closed, "fetch", `{"url":"u","method":"POST"}`, fromDigest("fetch", `{"url":"u","method":"POST"}`)},
		{testRun(), "fetch", `{"url":"u","method":"DELETE"}`, fromDigest("fetch", `{"url":"u","method":"DELETE"}`)},
		{closed, "mcp__mail__send", `{}`, fromDigest("mcp__mail__send", `{}`)},
		{closed, "mcp__github__list", `{}`, ""},
		{testRun(), "mcp__mail__send", `{}`, ""},
		{closed, "save_credential", `{}`, ""},
		{closed, "request_approval", `{}`, ""},
	} {
		got := IdempotencyKey(c.run, c.tool, c.args)
		if strings.HasPrefix(c.want, "user:sha256-") {
			if !regexp.MustCompile(`^user:sha256-[0-9a-f]{40}$`).MatchString(got) {
				t.Errorf("%s %s: key %q", c.tool, c.args, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s %s: key %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

// TestGivenKeysAreFit has keys that go into a header and into an environment, and that stay different.
func TestGivenKeysAreFit(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []string{"a", "A", "a b", "a\tb", "é", "x\r\nHost: y", strings.Repeat("k", 123), strings.Repeat("k", 124), strings.Repeat("k", 128), "\u202e", "~!"} {
		got := IdempotencyKey(testRun(), "bash", fmt.Sprintf(`{"command":"ls","idempotencyKey":%s}`, data(key, 1000)))
		if !regexp.MustCompile(`^user:[!-~]+$`).MatchString(got) || len(got) > toolapi.MaxIdempotencyKey || seen[got] {
			t.Errorf("%q gives %q", key, got)
		}
		seen[got] = true
	}
}

// finished gives the last call of the step a result.
func finished(r v1alpha1.ToolResult) stepOption {
	return func(s *v1alpha1.MotorStep) {
		r.CallID = s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID
		s.Status.Results = append(s.Status.Results, r)
	}
}

func approved(outcome v1alpha1.ApprovalOutcome) stepOption {
	return func(s *v1alpha1.MotorStep) {
		id := s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID
		s.Status.Approvals = append(s.Status.Approvals, v1alpha1.StepApproval{Execution: id, CallID: id, Outcome: outcome})
	}
}

func TestAlreadyDone(t *testing.T) {
	t.Parallel()
	const push = `{"command":"git push"}`
	run := plainRun(v1alpha1.ApprovalNever, "example.org")
	asking := ruledRun(v1alpha1.ApprovalNever, "example.org")
	good := finished(v1alpha1.ToolResult{OK: true, Output: "pushed", OutputFile: ".motor/output/x", Provenance: "web"})
	lost := finished(v1alpha1.ToolResult{ErrorCode: "outcome_unknown", Provenance: "internal"})
	doneBy := func(id, file string) *toolapi.Result {
		return &toolapi.Result{
			OK: true, Output: "(already done by call " + id + "; not made again. For another effect give another idempotencyKey.)\npushed",
			Provenance: toolapi.ProvenanceWeb, OutputFile: file,
		}
	}
	maybe := func(id string) *toolapi.Result {
		return &toolapi.Result{
			ErrorCode: "outcome_unknown",
			Output: "The call " + id + " was to have the same effect, and nobody saw its end: it may have done all of its work, a part, or nothing. This call was not " +
				"made. Find out what became of that one. If it did nothing, make this call with another idempotencyKey, or other arguments.",
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
		{"first", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push))}, "a0-s1-c0", nil},
		{"same turn", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), good, call("bash", push))}, "a0-s1-c1", doneBy("a0-s1-c0", ".motor/output/x")},
		{"other keys of JSON", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", ` { "command" : "git push" }`), good), testStep(0, 2, call("bash", push))}, "a0-s2-c0", doneBy("a0-s1-c0", ".motor/output/x")},
		{"earlier attempt", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), good), testStep(1, 1, call("bash", push))}, "a1-s1-c0", doneBy("a0-s1-c0", "")},
		{"not recorded yet", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), good)}, "a0-s2-c0", doneBy("a0-s1-c0", ".motor/output/x")},
		{"the first of several", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), good, call("bash", push), good, call("bash", push))}, "a0-s1-c2", doneBy("a0-s1-c0", ".motor/output/x")},
		{"later ones do not count", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push)), testStep(0, 2, call("bash", push), good)}, "a0-s1-c0", nil},
		{"failed", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "exit_1"}), call("bash", push))}, "a0-s1-c1", nil},
		{"denied", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "approval_denied"}), call("bash", push))}, "a0-s1-c1", nil},
		{"another command", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", `{"command":"git push x"}`), good, call("bash", push))}, "a0-s1-c1", nil},
		{"another tool", run, []v1alpha1.MotorStep{testStep(0, 1, call("code", push), good, call("bash", push))}, "a0-s1-c1", nil},
		{"not irreversible", testRun(), []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), good, call("bash", push))}, "a0-s1-c1", nil},
		{"unknown", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), lost, call("bash", push))}, "a0-s1-c1", maybe("a0-s1-c0")},
		{"skipped", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), finished(v1alpha1.ToolResult{ErrorCode: "skipped"}), call("bash", push))}, "a0-s1-c1", maybe("a0-s1-c0")},
		{"the first unknown", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), lost, call("bash", push), lost, call("bash", push))}, "a0-s1-c2", maybe("a0-s1-c0")},
		{"done after unknown", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), lost, call("bash", push), good, call("bash", push))}, "a0-s1-c2", doneBy("a0-s1-c1", ".motor/output/x")},
		{"no result in an ended attempt", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push)), testStep(1, 1, call("bash", push))}, "a1-s1-c0", maybe("a0-s1-c0")},
		{"no result in this attempt", run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", push)), testStep(1, 2, call("bash", push))}, "a1-s2-c0", nil},
		{"its turn did not come", run, []v1alpha1.MotorStep{testStep(0, 1, call("bash", `{"command":"ls"}`), call("bash", push)), testStep(1, 1, call("bash", push))}, "a1-s1-c0", nil},
		{"behind a question", run, []v1alpha1.MotorStep{testStep(0, 1, ask("?"), call("bash", push)), testStep(1, 1, call("bash", push))}, "a1-s1-c0", maybe("a0-s1-c1")},
		{"not approved", asking, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push)), testStep(1, 1, call("bash", push))}, "a1-s1-c0", nil},
		{"asked", asking, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), approved("")), testStep(1, 1, call("bash", push))}, "a1-s1-c0", nil},
		{"approved", asking, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), approved("Approved")), testStep(1, 1, call("bash", push))}, "a1-s1-c0", maybe("a0-s1-c0")},
		{"found unknown", asking, []v1alpha1.MotorStep{testStep(0, 1, call("bash", push), unknown("a0-s1-c0", "a0-s1-c0", "Person", 0)), testStep(1, 1, call("bash", push))}, "a1-s1-c0", maybe("a0-s1-c0")},
	} {
		if diff := cmp.Diff(c.want, AlreadyDone(c.run, c.steps, c.id, "bash", push)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestAlreadyDoneByKey has the model's key decide, and not the arguments.
func TestAlreadyDoneByKey(t *testing.T) {
	t.Parallel()
	with := func(command, key string) string {
		return fmt.Sprintf(`{"command":%q,"idempotencyKey":%q}`, command, key)
	}
	steps := []v1alpha1.MotorStep{testStep(0, 1, call("bash", with("git push a", "k")), finished(v1alpha1.ToolResult{OK: true}))}
	for _, c := range []struct {
		args string
		done bool
	}{
		{with("git push b", "k"), true}, {with("ls", "k"), true}, {with("git push a", "k2"), false}, {`{"command":"git push a"}`, false},
	} {
		if got := AlreadyDone(testRun(), steps, "a0-s2-c0", "bash", c.args) != nil; got != c.done {
			t.Errorf("%s: already done: %v", c.args, got)
		}
	}
}

// TestAlreadyDoneIsBounded has the result no longer than a result may be.
func TestAlreadyDoneIsBounded(t *testing.T) {
	t.Parallel()
	args := `{"url":"u","method":"POST"}`
	steps := []v1alpha1.MotorStep{testStep(0, 1, call("fetch", args), finished(v1alpha1.ToolResult{OK: true, Output: strings.Repeat("é", toolapi.MaxOutputBytes/2)}))}
	got := AlreadyDone(testRun(), steps, "a0-s2-c0", "fetch", args)
	if got == nil || len(got.Output) > toolapi.MaxOutputBytes || !strings.HasSuffix(got.Output, "é…") {
		t.Errorf("%+.200v", got)
	}
}
