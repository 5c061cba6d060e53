// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/prompt"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// askingWorld is a world in which domains can be requested.
func askingWorld(t *testing.T, answers ...chat.Answer) (*world, *fakeDomains) {
	t.Helper()
	w := newWorld(t, config.Config{RequestDomain: true, Domains: []string{"open"}}, nil, answers...)
	d := &fakeDomains{allowed: map[string]bool{}}
	w.loop.Domains = d
	return w, d
}

// mustWait runs the loop, which must then wait for the call, or for nothing if id is "".
func (w *world) mustWait(t *testing.T, answers map[string]string, id string) {
	t.Helper()
	out, err := w.run(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if out.Kind == outcome.Awaiting {
		got = out.Waiting.ID
	}
	if got != id {
		t.Fatalf("waits for %q, not %q: %+v", got, id, out)
	}
}

// results are codes and outputs of the last turn with calls, "-" for none.
func (w *world) results() []string {
	var all []string
	for _, step := range w.journal.load() {
		if len(step.Calls) == 0 {
			break
		}
		all = nil
		for _, res := range step.Results {
			switch {
			case res == nil:
				all = append(all, "-")
			case res.OK:
				all = append(all, res.Output)
			default:
				all = append(all, res.ErrorCode)
			}
		}
	}
	return all
}

func TestRequestDomainWaits(t *testing.T) {
	w, _ := askingWorld(t, says("", wants("a.org"), bash("first"), question("which?"), wants("b.org"), wants("open"), wants("never")), says("done"))
	w.mustWait(t, nil, "a1-s1-c0")
	decided := []string{"-", "output of a1-s1-c1", "-", "-", "open can be reached already", toolapi.CodeDomainNotAllowed}
	if d := cmp.Diff(decided, w.results()); d != "" {
		t.Fatal(d)
	}
	// They are asked one after the other.
	answers := map[string]string{"a1-s1-c3": "Deny"}
	w.mustWait(t, answers, "a1-s1-c0")
	if asks := w.journal.load()[0].Asks; len(asks) != 1 || asks[0].Outcome != "" {
		t.Fatalf("recorded %+v", asks)
	}
	answers["a1-s1-c0"] = "AllowOnce"
	w.mustWait(t, answers, "a1-s1-c2")
	answers["a1-s1-c2"] = "this"
	w.mustWait(t, answers, "")
	decided[0], decided[2], decided[3] = "a.org can be reached: AllowOnce", "The person replied: this", toolapi.CodeDomainDenied
	if d := cmp.Diff(decided, w.results()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a1-s1-c1"}, w.sandbox.executedIDs()); d != "" {
		t.Errorf("reached the sandbox: %s", d)
	}
}

// A person's decision is shown, also when the domain is open by the time that the loop is started on the decision.
func TestDecisionComesBeforeWhatIsAllowed(t *testing.T) {
	w, d := askingWorld(t, says("", wants("a.org"), wants("b.org")), says("done"))
	w.mustWait(t, nil, "a1-s1-c0")
	d.allowed["a.org"], d.allowed["b.org"] = true, true
	w.mustWait(t, map[string]string{"a1-s1-c0": "AllowRun"}, "")
	if d := cmp.Diff([]string{"a.org can be reached: AllowRun", "b.org can be reached already"}, w.results()); d != "" {
		t.Error(d)
	}
}

func TestRequestDomainIsRefused(t *testing.T) {
	tests := map[string]struct {
		change func(*Loop)
		call   turn.Call
		code   string
		says   string
	}{
		"not offered": {func(l *Loop) { l.Config.RequestDomain = false }, wants("a.org"), toolapi.CodeToolNotGranted, "was not granted"},
		"nobody":      {func(l *Loop) { l.Domains = nil }, wants("a.org"), toolapi.CodeDomainNotAllowed, "no run of this cluster can ask for domains"},
		"no domain":   {nil, call(toolapi.ToolRequestDomain, `{"reason":"x"}`), toolapi.CodeInvalidArguments, `"domain" is missing`},
		"no JSON":     {nil, call(toolapi.ToolRequestDomain, `{"domain`), toolapi.CodeInvalidArguments, "not JSON"},
		"empty":       {nil, wants(""), toolapi.CodeInvalidArguments, `"domain" must be a string of 1 to 261`},
		"bounds":      {nil, wants("never"), toolapi.CodeDomainNotAllowed, "by no run"},
	}
	for name, tt := range tests {
		w, _ := askingWorld(t, says("", tt.call), says("done"))
		if tt.change != nil {
			tt.change(w.loop)
		}
		w.mustWait(t, nil, "")
		res := w.journal.load()[0].Results[0]
		if res.OK || res.ErrorCode != tt.code || !strings.Contains(res.Output, tt.says) || res.Provenance != toolapi.ProvenanceInternal {
			t.Errorf("%s: %+v", name, res)
		}
	}
	// A request is valid if the policy accepts it, even if the schema does not: the controller asks the policy's question.
	w, _ := askingWorld(t, says("", call(toolapi.ToolRequestDomain, `{"domain":"a.org"}`)))
	w.mustWait(t, nil, "a1-s1-c0")
}

// A request in spec.tools alone is offered too.
func TestRequestDomainIsOffered(t *testing.T) {
	for name, cfg := range map[string]config.Config{
		"granted":      {Tools: []string{toolapi.ToolRequestDomain}},
		"with domains": {RequestDomain: true},
		"both":         {RequestDomain: true, Tools: []string{toolapi.ToolRequestDomain}},
	} {
		if got := cfg.Offered(catalog.Builtin()); !cmp.Equal(got, []string{toolapi.ToolAskUser, toolapi.ToolFinish, toolapi.ToolRequestDomain}) {
			t.Errorf("%s: %v", name, got)
		}
		if p := prompt.System(cfg); !strings.Contains(p, "call request_domain: the person decides.") {
			t.Errorf("%s: %s", name, p)
		}
	}
}

// A model that was denied the same domain twice cannot ask again. A person who was asked is heard.
func TestRequestIsNotRepeatedAfterDenials(t *testing.T) {
	script := []chat.Answer{says("", wants("a.org")), says("", wants("a.org")), says("", wants("a.org")), says("done")}
	answers := map[string]string{"a1-s1-c0": "Deny", "a1-s2-c0": "Deny"}
	w, _ := askingWorld(t, script...)
	out, err := w.run(t.Context(), answers)
	if err != nil || out.Kind != outcome.Failed || out.Failure.Reason != outcome.ReasonRepeatedToolFailure {
		t.Fatalf("%+v %v", out, err)
	}
	if d := cmp.Diff([]string{toolapi.CodeRepeatedCall}, w.results()); d != "" {
		t.Error(d)
	}
	w, _ = askingWorld(t, script...)
	w.mustWait(t, map[string]string{"a1-s1-c0": "Deny"}, "a1-s2-c0")
	step := record.New(w.loop.Config, w.journal.load(), script[2])
	step.Asks = []turn.Ask{w.person.Ask(turn.AskDomain, step.Calls[0], step.Calls[0].ID)}
	denied := w.journal.load()[1]
	denied.Results[0] = &toolapi.Result{ErrorCode: toolapi.CodeDomainDenied}
	if err := errors.Join(w.journal.Settle(t.Context(), denied), w.journal.Append(t.Context(), step)); err != nil {
		t.Fatal(err)
	}
	answers["a1-s3-c0"] = "AllowRun"
	w.mustWait(t, answers, "")
	if d := cmp.Diff([]string{"a.org can be reached: AllowRun"}, w.results()); d != "" {
		t.Error(d)
	}
	// Another call was made in between: the person may have wanted to see that first.
	delete(answers, "a1-s3-c0")
	w, _ = askingWorld(t, says("", wants("a.org")), says("", wants("a.org"), bash("x")), says("", wants("a.org")))
	w.mustWait(t, answers, "a1-s3-c0")
}

func savingWorld(t *testing.T, answers ...chat.Answer) (*world, *fakeStore) {
	t.Helper()
	w := newWorld(t, config.Config{Tools: []string{toolapi.ToolBash, toolapi.ToolSaveCredential}}, nil, answers...)
	w.sandbox.ready = false
	w.loop.Ready = func(context.Context) error { w.sandbox.ready = true; return nil }
	s := &fakeStore{fault: noFault, ready: func() bool { return w.sandbox.ready }, saved: map[string]int{}}
	w.loop.Credentials = s
	return w, s
}

func TestSaveCredential(t *testing.T) {
	calls := []turn.Call{
		saves("one"), bash("x"), saves("refused"), call(toolapi.ToolSaveCredential, `{"name":"x","path":"y","hosts":[]}`),
		call(toolapi.ToolSaveCredential, `{"name":"x","path":"y"}`), call(toolapi.ToolSaveCredential, ""),
	}
	w, s := savingWorld(t, says("", calls...), says("done"))
	w.mustWait(t, nil, "")
	want := []string{
		"stored one", "output of a1-s1-c1", toolapi.CodeCredentialRefused, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments,
		toolapi.CodeInvalidArguments,
	}
	if d := cmp.Diff(want, w.results()); d != "" {
		t.Error(d)
	}
	if len(s.saved) != 1 || len(w.sandbox.executed) != 1 {
		t.Errorf("saved %v, executed %v", s.saved, w.sandbox.executedIDs())
	}

	w, s = savingWorld(t, says("", saves("one")), says("done"))
	w.loop.Config.Tools = []string{toolapi.ToolBash}
	w.mustWait(t, nil, "")
	if d := cmp.Diff([]string{toolapi.CodeToolNotGranted}, w.results()); d != "" || len(s.saved) > 0 {
		t.Error(d)
	}
	w, _ = savingWorld(t, says("", saves("one")), says("done"))
	w.loop.Credentials = nil
	w.mustWait(t, nil, "")
	if d := cmp.Diff([]string{toolapi.CodeCredentialRefused}, w.results()); d != "" {
		t.Error(d)
	}
}

// A credential is stored again if the end of the first try was not seen, and a store that fails keeps the results before it.
func TestSaveCredentialThatFails(t *testing.T) {
	w, s := savingWorld(t, says("", bash("x"), saves("one")), says("done"))
	s.fault = failAt("save: after", errAPI)
	if _, err := w.run(t.Context(), nil); err == nil {
		t.Fatal("no error")
	}
	if step := w.journal.load()[0]; len(step.Unknown) > 0 || step.Results[1] != nil {
		t.Errorf("%+v", step)
	}
	s.fault = failAt("save: before", &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost, Message: "gone"})
	out, err := w.run(t.Context(), nil)
	if err != nil || out.Kind != outcome.Failed || out.Failure.Reason != outcome.ReasonSandboxLost {
		t.Fatalf("%+v %v", out, err)
	}
	if d := cmp.Diff([]string{"output of a1-s1-c0", "-"}, w.results()); d != "" {
		t.Error(d)
	}
	s.fault = noFault
	w.mustWait(t, nil, "")
	if s.saved["one"] != 2 || len(w.sandbox.executed) != 1 {
		t.Errorf("%v, %v", s.saved, w.sandbox.executedIDs())
	}
}

// With egress, the sandbox must not decide that its output does not come from the web.
func TestWebWithDomains(t *testing.T) {
	cfg := config.Config{Tools: []string{toolapi.ToolBash, toolapi.ToolCode, toolapi.ToolRead, toolapi.ToolList, toolapi.ToolWrite}}
	calls := []turn.Call{
		bash("x"), call(toolapi.ToolCode, `{"language":"python","source":"x"}`), read("x"), call(toolapi.ToolList, ""),
		call(toolapi.ToolWrite, `{"path":"x","content":"y"}`), read("none"),
	}
	for name, tt := range map[string]struct {
		domains []string
		tainted bool
	}{
		"neither": {}, "with a domain": {domains: []string{"example.org"}}, "with a file from there": {tainted: true},
	} {
		cfg.Domains, cfg.Tainted = tt.domains, tt.tainted
		w := newWorld(t, cfg, func(c toolapi.Call) toolapi.Result {
			if strings.Contains(string(c.Arguments), "none") {
				return toolapi.Result{ErrorCode: toolapi.CodeNotFound, Provenance: toolapi.ProvenanceUser}
			}
			return toolapi.Result{OK: true, Provenance: toolapi.ProvenanceUser}
		}, says("", calls...), says("done"))
		w.mustWait(t, nil, "")
		var got []string
		for _, res := range w.journal.load()[0].Results {
			got = append(got, string(res.Provenance))
		}
		want := "[Internal Internal Internal Internal Internal Internal]"
		if tt.domains != nil || tt.tainted {
			want = "[Web Web Web Web Internal Internal]"
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
