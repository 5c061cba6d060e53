// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// ruledRun has rules of every kind.
func ruledRun(required v1alpha1.ApprovalMode, domains ...v1alpha1.Domain) *v1alpha1.MotorRun {
	run := testRun()
	run.Spec.Domains = domains
	run.Spec.Approval = &v1alpha1.RunApproval{
		Required: required, Tools: []v1alpha1.ToolName{"code", "ask_user"}, MCPTools: []string{"mail/send", "github/*"},
		Bash:  &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"git push *", "rm -rf *"}},
		Fetch: &v1alpha1.FetchApproval{Methods: []string{"POST", "GET"}},
	}
	return run
}

// bashCall returns the arguments of a bash call.
func bashCall(t testing.TB, command string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestApprovalReason(t *testing.T) {
	t.Parallel()
	const never, irrev, always = v1alpha1.ApprovalNever, v1alpha1.ApprovalIrreversible, v1alpha1.ApprovalAlways
	for _, c := range []struct {
		run        *v1alpha1.MotorRun
		tool, args string
		want       string
	}{
		{run: testRun(), tool: "bash", args: `{"command":"git push"}`},
		{run: testRun(), tool: "bash", args: `nonsense`},
		{run: plainRun(never, "example.org"), tool: "bash", args: `{"command":"git push"}`},
		{run: ruledRun(never), tool: "code", args: `{"language":"python","source":"1"}`, want: "spec.approval.tools: code"},
		{run: ruledRun(always), tool: "code", args: `{}`, want: "spec.approval.tools: code"},
		{run: ruledRun(always), tool: "ask_user", args: `{"question":"?"}`},
		{run: ruledRun(always), tool: "request_domain", args: `{}`},
		{run: ruledRun(always), tool: "request_approval", args: `{}`},
		{run: ruledRun(always), tool: "oneshot", args: `{}`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"cd x && git push origin main"}`, want: `spec.approval.bash.commands "git push *": git push origin main`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"git status"}`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"for f in logs/*; do while read -r l; do echo $l; done < $f; done | sort > all"}`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"x=/dev/tcp/a/1; { printf DELETE >&0; cat; } < $x"}`, want: `spec.approval.required Irreversible: where it redirects to cannot be told: < $x`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"sh < $f"}`, want: `spec.approval.bash.commands: what the shell reads and runs cannot be told: sh < $f`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"while read l; do $l; done < $f"}`, want: `spec.approval.bash.commands: the name of the command cannot be told: $l;`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"exec 3< $f"}`, want: `spec.approval.bash.commands: where it redirects to cannot be told: 3< $f`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"cat <> $f"}`, want: `spec.approval.bash.commands: where it redirects to cannot be told: <> $f`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"cat < /dev/tcp/a/1"}`, want: `spec.approval.bash.commands: it connects to another host: < /dev/tcp/a/1`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"rm -r -f x\n"}`, want: `spec.approval.bash.commands "rm -rf *": rm -r -f x`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"echo x | sh"}`, want: `spec.approval.bash.commands: what the shell reads and runs cannot be told: sh`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"./deploy.sh"}`, want: `spec.approval.bash.commands: what a script runs is not looked into: ./deploy.sh`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"if"}`, want: `spec.approval.bash.commands: what the line runs cannot be told: it cannot be parsed: 1:1: ` + "`if` must be followed by a statement list"},
		{run: ruledRun(never), tool: "bash", args: `{"command":1}`, want: `spec.approval.bash.commands: what the line runs cannot be told: the argument "command" is no text`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"ls","Command":"git push"}`, want: `spec.approval.bash.commands: what the line runs cannot be told: the argument "Command" may be taken for "command"`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"ls","command":"git push"}`, want: `spec.approval.bash.commands: what the line runs cannot be told: it is no JSON object`},
		{run: ruledRun(never), tool: "bash", args: `{"command":"ls"} {"command":"git push"}`, want: `spec.approval.bash.commands: what the line runs cannot be told: it is no JSON object`},
		{run: ruledRun(never), tool: "bash", args: `[]`, want: `spec.approval.bash.commands: what the line runs cannot be told: it is no JSON object`},
		{run: ruledRun(never), tool: "fetch", args: `{"url":"https://example.org/"}`, want: `spec.approval.fetch.methods GET: https://example.org/`},
		{run: ruledRun(never), tool: "fetch", args: `{"url":"https://example.org/","method":"post"}`, want: `spec.approval.fetch.methods POST: https://example.org/`},
		{run: ruledRun(never), tool: "fetch", args: `{"url":"https://example.org/","method":"HEAD"}`},
		{run: ruledRun(never), tool: "fetch", args: `{"method":null,"url":"u"}`, want: `spec.approval.fetch.methods GET: u`},
		{run: ruledRun(never), tool: "fetch", args: `{"METHOD":"POST","url":"u"}`, want: `spec.approval.fetch.methods: the request cannot be told: the argument "METHOD" may be taken for "method"`},
		{run: ruledRun(never), tool: "fetch", args: `x`, want: `spec.approval.fetch.methods: the request cannot be told: invalid character 'x' looking for beginning of value`},
		{run: ruledRun(never), tool: "mcp__mail__send", args: `{}`, want: `spec.approval.mcpTools "mail/send"`},
		{run: ruledRun(never), tool: "mcp__mail__list", args: `{}`},
		{run: ruledRun(never), tool: "mcp__github__any", args: `{}`, want: `spec.approval.mcpTools "github/*"`},
		{run: plainRun(irrev), tool: "mcp__mail__list", args: `{}`, want: `spec.approval.required Irreversible: a tool of an MCP server may do anything`},
		{run: plainRun(irrev), tool: "save_credential", args: `{}`, want: `spec.approval.required Irreversible: a credential is stored`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"u","method":"DELETE"}`, want: `spec.approval.required Irreversible: DELETE u`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"u","method":"OPTIONS"}`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"https://a.example/?a=1&method=flickr.x"}`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"https://a.example/?a=1&_method=DELETE"}`, want: `spec.approval.required Irreversible: the request cannot be told: its address may stand for another method`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"https://a.example/?_%6Dethod=DELETE"}`, want: `spec.approval.required Irreversible: the request cannot be told: its address may stand for another method`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"u?X-HTTP-Method-Override=PUT"}`, want: `spec.approval.required Irreversible: the request cannot be told: its address may stand for another method`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"u","body":"x"}`, want: `spec.approval.required Irreversible: the request cannot be told: a request that only reads has no body`},
		{run: plainRun(irrev), tool: "fetch", args: `{"url":"u","method":"HEAD","bodyFile":"x"}`, want: `spec.approval.required Irreversible: the request cannot be told: a request that only reads has no body`},
		{run: plainRun(irrev), tool: "bash", args: `{"command":"git push"}`},
		{run: plainRun(irrev), tool: "bash", args: `{"command":"$x"}`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"git push"}`, want: `spec.approval.required Irreversible: git push`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"$x"}`, want: `spec.approval.required Irreversible: the name of the command cannot be told: $x`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"ls && npm test && python3 x.py"}`, want: `spec.approval.required Irreversible: npm test, python3 x.py`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"git status; ls; curl -X POST https://a.example/; make; make; make"}`, want: `spec.approval.required Irreversible: git status, curl -X POST https://a.example/, make, and 2 more`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: bashCall(t, "git status # "+strings.Repeat("x", 5000)+"\ncurl -X DELETE u\n: "+strings.Repeat("y", 5000)), want: `spec.approval.required Irreversible: git status, curl -X DELETE u`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: bashCall(t, "git "+strings.Repeat("x", 500)+"; git push"), want: `spec.approval.required Irreversible: git ` + strings.Repeat("x", 55) + `…, git push`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"ls -l | grep x > y && rm -rf z"}`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: `{"command":"unheard-of"}`, want: `spec.approval.required Irreversible: unheard-of`},
		{run: plainRun(irrev, "example.org"), tool: "bash", args: bashCall(t, strings.Repeat("a|", 40000)+"a"), want: `spec.approval.required Irreversible: what the line runs cannot be told: it is longer than 32768 bytes`},
		{run: plainRun(irrev, "example.org"), tool: "code", args: `{}`, want: `spec.approval.required Irreversible: a program may do anything that the way out allows`},
		{run: plainRun(irrev), tool: "code", args: `{}`},
		{run: plainRun(irrev, "example.org"), tool: "write", args: `{}`},
		{run: plainRun(always), tool: "bash", args: `{"command":"ls"}`, want: "spec.approval.required Always: bash"},
		{run: plainRun(always), tool: "write", args: `{}`, want: "spec.approval.required Always: write"},
		{run: plainRun(always), tool: "save_credential", args: `{}`, want: "spec.approval.required Always: save_credential"},
		{run: plainRun(always), tool: "mcp__x__y", args: `{}`, want: "spec.approval.required Always: mcp__x__y"},
		{run: plainRun(always), tool: "read", args: `{}`}, {run: plainRun(always), tool: "list", args: `{}`}, {run: plainRun(always), tool: "glob", args: `{}`},
		{run: plainRun(always), tool: "grep", args: `{}`},
		{run: plainRun(always), tool: "search_web", args: `{}`, want: "spec.approval.required Always: search_web"},
		{run: plainRun(always), tool: "save_artifact", args: `{}`, want: "spec.approval.required Always: save_artifact"},
	} {
		if got := reasonOf(c.run, c.tool, c.args); got != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
		if c.want != "" && !MayNeedApproval(c.run) {
			t.Errorf("%s %s: the model is not told that calls can need approval", c.tool, c.args)
		}
	}
	if MayNeedApproval(testRun()) || MayNeedApproval(plainRun(never, "example.org")) {
		t.Error("calls of a run without a rule can need approval")
	}
}

// TestNamesOtherMethod has the name of a parameter be read as a server reads it.
func TestNamesOtherMethod(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://a.example/": false, "https://a.example/_method=DELETE": false, "u?method=flickr.x": false, "u?a=_method=DELETE": false, "u?q=%zz": false, "u?payment_method=x": false,
		"u?_method=DELETE": true, "u?_METHOD": true, "u?__method=PUT": true, "u?a=1;_method=PUT": true, "u?a=1&_method=PUT": true, "u?a?_method=PUT": true, "u#?_method=PUT": true,
		"u?_%6Dethod=DELETE": true, "u?%5fmethod=DELETE": true, "u?%5F%6d%65%74%68%6f%64=DELETE": true, "u?_method%3D=x": false, "u?+_method=PUT": true, "u?.method=PUT": true,
		"u?X-HTTP-%4Dethod-Override=PUT": true, "u?x_http_method_override=PUT": true, "u?_X-Http-Method=PUT": true, "u?http.method.override=PUT": true, "u?method_override": true,
		"u?%zz=1": true, "u?a=1&%6": true,
	} {
		if got := namesOtherMethod(address); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// TestWayOut has a bash call irreversible as soon as anything lets the sandbox out.
func TestWayOut(t *testing.T) {
	t.Parallel()
	push := bashCall(t, "git push")
	for name, change := range map[string]func(*v1alpha1.MotorRun){
		"domains": func(r *v1alpha1.MotorRun) { r.Spec.Domains = []v1alpha1.Domain{"a.example"} },
		"retries": func(r *v1alpha1.MotorRun) {
			r.Spec.Responses = []v1alpha1.Response{{}, {AddDomains: []v1alpha1.Domain{"a.example"}}}
		},
		"once": func(r *v1alpha1.MotorRun) {
			r.Spec.Responses = []v1alpha1.Response{{ID: "x", Decision: v1alpha1.DecisionAllowOnce}}
		},
		"run": func(r *v1alpha1.MotorRun) {
			r.Spec.Responses = []v1alpha1.Response{{ID: "x", Decision: v1alpha1.DecisionAllowRun}}
		},
	} {
		run := testRun("q")
		if why, _ := Irreversible(run, "bash", push); why != "" {
			t.Errorf("without a way out: %q", why)
		}
		change(run)
		if why, _ := Irreversible(run, "bash", push); why != "git push" {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestReasonIsSafe has a reason in one line of bounded length, whatever the model wrote.
func TestReasonIsSafe(t *testing.T) {
	t.Parallel()
	run := ruledRun(v1alpha1.ApprovalAlways, "a.example")
	args := bashCall(t, strings.Repeat("git \u202e"+strings.Repeat("\U0001F600", 500)+"\n", 10))
	if why := reasonOf(plainRun(v1alpha1.ApprovalIrreversible, "a.example"), "bash", args); !strings.HasSuffix(why, "…, and 7 more") || utf8.RuneCountInString(why) > 512 || strings.Contains(why, "\u202e") {
		t.Errorf("many commands: reason %q", why)
	}
	for _, command := range []string{
		"git push \x1b[2J\u202e\u200b '\n'" + strings.Repeat("\U0001F600", 5000), "$x" + strings.Repeat("\u202e", 5000), strings.Repeat("(", 10000), "git push 'а\u0000b'", "git push \xff",
	} {
		for _, tool := range []string{"bash", "fetch", "mcp__github__x", "x\u202e\n"} {
			args, err := json.Marshal(map[string]string{"command": command, "url": command, "method": command})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []string{string(args), command, "{" + command} {
				why := reasonOf(run, tool, a)
				if strings.ContainsAny(why, "\n\r\x1b\x00") || strings.ContainsAny(why, "\u202e\u200b") || utf8.RuneCountInString(why) > 512 || !utf8.ValidString(why) {
					t.Errorf("%s: reason %q", tool, why)
				}
			}
		}
	}
}

func TestCommandRefused(t *testing.T) {
	t.Parallel()
	run := testRun()
	if got := CommandRefused(run, "bash", `{"command":"rm -rf x"}`); got != "" {
		t.Errorf("without a list: %q", got)
	}
	run.Spec.Bash = &v1alpha1.BashRules{}
	if got := CommandRefused(run, "bash", `{"command":"rm -rf x"}`); got != "" {
		t.Errorf("with a list that is unset: %q", got)
	}
	run.Spec.Bash.AllowedCommands = []v1alpha1.CommandPattern{}
	if got, want := CommandRefused(run, "bash", `{"command":"ls"}`), "Nothing was run: the command is not allowed: ls.\nThis task may run no commands at all."; got != want {
		t.Errorf("with an empty list: %q", got)
	}
	run.Spec.Bash.AllowedCommands = []v1alpha1.CommandPattern{"ls *", "git status"}
	const tail = ".\nEvery command of the line, also of what it has a shell, env, xargs or find run, must be one of these, where * stands for any text in a word, and " +
		"at the end for any further arguments:\nls *\ngit status"
	for _, c := range []struct{ tool, args, want string }{
		{"bash", `{"command":"ls -l && git status"}`, ""},
		{"code", `{"source":"rm"}`, ""},
		{"bash", `{"command":"ls -l && git push"}`, "Nothing was run: the command is not allowed: git push" + tail},
		{"bash", `{"command":"$x"}`, "Nothing was run: the name of the command cannot be told: $x" + tail},
		{"bash", `{"command":"PATH=. ls"}`, "Nothing was run: which programs its names stand for cannot be told: it sets PATH for programs" + tail},
		{"bash", `x`, "Nothing was run: the arguments cannot be read: invalid character 'x' looking for beginning of value" + tail},
		{"bash", `{"command":"ls | \u202e("}`, "Nothing was run: what the line runs cannot be told: it cannot be parsed: 1:6: `foo(` must be followed by `)`" + tail},
	} {
		if got := CommandRefused(run, c.tool, c.args); got != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
	many := make([]v1alpha1.CommandPattern, 64)
	for i := range many {
		many[i] = v1alpha1.CommandPattern(fmt.Sprintf("%d%s", i, strings.Repeat("x", 250)))
	}
	run.Spec.Bash.AllowedCommands = many
	if got := CommandRefused(run, "bash", `{"command":"`+strings.Repeat("ls;", 10000)+`"}`); len(got) > 4096 || !strings.Contains(got, "more") {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}

func TestApprovalsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := testStep(10, 1000)
	if got := AskID(&s, v1alpha1.InputApproval, "a10-s1000-c63-r3"); got != AskID(&s, v1alpha1.InputOutcomeUnknown, "a10-s1000-c63-r3-approval") || len(got) > 64 {
		t.Errorf("the id %q", got)
	}
}

// An approval for the run covers calls of the same tool by the same rule. A call that another rule covers too, or that cannot be determined, needs
// approval.
func TestOpenRule(t *testing.T) {
	t.Parallel()
	const push, remove = `spec.approval.bash.commands "git push *"`, `spec.approval.bash.commands "rm -rf *"`
	approved := func(attempt int32, tool, rule string, decision v1alpha1.Decision, outcome v1alpha1.AskOutcome) v1alpha1.MotorStep {
		s := testStep(attempt, 1, call(tool, "{}"))
		s.Status.Asks = []v1alpha1.StepAsk{{ID: "a", Kind: v1alpha1.InputApproval, CallID: s.Spec.ToolCalls[0].ID, Rule: rule, Decision: decision, Outcome: outcome}}
		return s
	}
	forRun := func(tool, rule string) v1alpha1.MotorStep {
		return approved(1, tool, rule, v1alpha1.DecisionApproveRun, v1alpha1.AskApproved)
	}
	for name, tt := range map[string]struct {
		command string
		steps   []v1alpha1.MotorStep
		want    string // the name of the rule, "untold", or "" if no person need approve the call
	}{
		"nothing was approved":       {"git push", nil, push},
		"no rule":                    {"git status", nil, ""},
		"approved for the run":       {"git push origin x", []v1alpha1.MotorStep{forRun("bash", push)}, ""},
		"in an attempt before":       {"git push", []v1alpha1.MotorStep{forRun("bash", push), testStep(2, 1)}, ""},
		"approved once":              {"git push", []v1alpha1.MotorStep{approved(1, "bash", push, v1alpha1.DecisionApproveOnce, v1alpha1.AskApproved)}, push},
		"the run's time was over":    {"git push", []v1alpha1.MotorStep{approved(1, "bash", push, v1alpha1.DecisionApproveRun, v1alpha1.AskExpired)}, push},
		"another tool was approved":  {"git push", []v1alpha1.MotorStep{forRun("code", push)}, push},
		"another rule was approved":  {"git push", []v1alpha1.MotorStep{forRun("bash", remove)}, push},
		"another rule is about it":   {"git push; rm -rf x", []v1alpha1.MotorStep{forRun("bash", push)}, remove},
		"both rules were approved":   {"git push; rm -rf x", []v1alpha1.MotorStep{forRun("bash", push), forRun("bash", remove)}, ""},
		"a part cannot be told":      {"git push; $X", []v1alpha1.MotorStep{forRun("bash", push)}, "untold"},
		"none of it can be told":     {"$X", []v1alpha1.MotorStep{forRun("bash", "")}, "untold"},
		"it cannot be parsed":        {"git push (", []v1alpha1.MotorStep{forRun("bash", push)}, "untold"},
		"what a script in it may do": {"bash x.sh; git push", []v1alpha1.MotorStep{forRun("bash", push)}, "untold"},
	} {
		got := ""
		if rule := OpenRule(ruledRun(v1alpha1.ApprovalNever), tt.steps, "bash", bashCall(t, tt.command)); rule != nil {
			if got = rule.Name; got == "" {
				got = "untold"
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	// Irreversible is a rule of its own, per tool.
	run := plainRun(v1alpha1.ApprovalIrreversible, "example.org")
	steps := []v1alpha1.MotorStep{forRun("bash", "spec.approval.required Irreversible: bash")}
	if r := OpenRule(run, steps, "bash", bashCall(t, "git push")); r != nil {
		t.Errorf("approved for the run, it asks %+v", r)
	}
	if r := OpenRule(run, steps, "fetch", `{"method":"POST","url":"https://example.org"}`); r == nil || r.Name != "spec.approval.required Irreversible: fetch POST" {
		t.Errorf("another tool asks %+v", r)
	}
	for _, command := range []string{"$X --force", "bash evil.sh", `eval "$(cat f)"`, "git push; ./x.sh", "git push ("} {
		if r := OpenRule(run, steps, "bash", bashCall(t, command)); r == nil || r.Name != "" {
			t.Errorf("%s: asks %+v", command, r)
		}
	}
	if r := OpenRule(run, nil, "code", `{"language":"python","source":"1"}`); r == nil || r.Name != "" {
		t.Errorf("a program asks %+v", r)
	}
}
