// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// gatedWorld is a world whose calls are judged. No decision has been made yet.
func gatedWorld(t *testing.T, cfg config.Config, behave func(toolapi.Call) toolapi.Result, answers ...chat.Answer) (*world, *fakePolicy) {
	t.Helper()
	cfg.Tools = []string{
		toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolRequestApproval, toolapi.ToolSaveCredential, toolapi.ToolSearchWeb,
	}
	cfg.Search = true
	w := newWorld(t, cfg, behave, answers...)
	p := &fakePolicy{journal: w.journal, fakePerson: w.person}
	w.loop.Policy = p
	return w, p
}

// mustAsk runs the loop, which must then wait for the approval of an execution.
func (w *world) mustAsk(t *testing.T, answers map[string]string, callID, execution string) {
	t.Helper()
	out, err := w.run(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	if out.Kind != outcome.Awaiting || out.Waiting.Kind != turn.AskApproval || out.Waiting.CallID != callID || out.Waiting.Execution != execution {
		t.Fatalf("waits for %+v, not for the approval of %s", out, execution)
	}
}

// The result of an approved call shows that a person approved it.
func TestApprovedCallsAreTold(t *testing.T) {
	t.Parallel()
	w, p := gatedWorld(t, config.Config{}, nil, says("", bash("gated")), says("done"))
	w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
	p.said["a1-s1-c0"] = "Approve"
	w.mustWait(t, nil, "")
	const told = "\n[the person approved this call]"
	if msgs := conversation.Transcript(w.loop.Config, w.journal.load()[:1]); !strings.Contains(msgs[len(msgs)-1].Content, told) {
		t.Errorf("told %q", msgs[len(msgs)-1].Content)
	}
}

func isQuestion(a turn.Ask) bool { return a.Kind == turn.AskQuestion }

func TestApproval(t *testing.T) {
	const id = "a1-s1-c1"
	for name, tt := range map[string]struct {
		call     turn.Call
		said     string
		over     bool
		outcome  turn.AskOutcome // "" while it waits
		code     string          // of its result, "ok" if it succeeded
		executed string          // of all calls of the turn
	}{
		"nobody has decided":               {call: bash("gated"), executed: "a1-s1-c0"},
		"approved":                         {bash("gated"), "Approve", false, turn.AskApproved, "ok", "a1-s1-c0 a1-s1-c1 a1-s1-c2"},
		"denied":                           {bash("gated"), "Deny", false, turn.AskDenied, toolapi.CodeApprovalDenied, "a1-s1-c0 a1-s1-c2"},
		"its time is over":                 {bash("gated"), "", true, turn.AskExpired, toolapi.CodeApprovalExpired, "a1-s1-c0 a1-s1-c2"},
		"approved too late":                {bash("gated"), "Approve", true, turn.AskExpired, toolapi.CodeApprovalExpired, "a1-s1-c0 a1-s1-c2"},
		"something else was said":          {call: bash("gated"), said: "AllowRun", executed: "a1-s1-c0"},
		"a request nobody has decided":     {call: request("push"), executed: "a1-s1-c0"},
		"a request approved":               {request("push"), "Approve", false, turn.AskApproved, "ok", "a1-s1-c0 a1-s1-c2"},
		"a request denied":                 {request("push"), "Deny", false, turn.AskDenied, toolapi.CodeApprovalDenied, "a1-s1-c0 a1-s1-c2"},
		"a request whose time is over":     {request("push"), "", true, turn.AskExpired, toolapi.CodeApprovalExpired, "a1-s1-c0 a1-s1-c2"},
		"what the engine does is approved": {saves("gated"), "Approve", false, turn.AskApproved, "ok", "a1-s1-c0 a1-s1-c2"},
		"what the engine does is denied":   {saves("gated"), "Deny", false, turn.AskDenied, toolapi.CodeApprovalDenied, "a1-s1-c0 a1-s1-c2"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := gatedWorld(t, config.Config{}, nil, says("", bash("before"), tt.call, bash("after"), question("all well?")), says("done"))
			saved := map[string]int{}
			w.loop.Credentials = &fakeStore{fault: noFault, saved: saved, ready: func() bool { return true }}
			w.mustAsk(t, nil, id, id)
			asked := w.journal.load()[0]
			if a := asked.Asks; len(a) != 1 || a[0].Kind != turn.AskApproval || a[0].Execution != id || a[0].CallID != id || a[0].Digest != "digest of "+tt.call.Arguments || a[0].Outcome != "" {
				t.Fatalf("recorded before anybody was asked: %+v", a)
			}
			if asked.Results[0] == nil || asked.Results[2] != nil || len(saved) > 0 {
				t.Fatalf("while a person is asked: %+v, saved %v", asked.Results, saved)
			}
			p.said[id], p.over[id] = tt.said, tt.over
			if tt.outcome == "" {
				w.mustAsk(t, nil, id, id)
			} else {
				w.mustWait(t, nil, "a1-s1-c3")
				w.mustWait(t, map[string]string{"a1-s1-c3": "yes"}, "")
			}
			step := w.journal.load()[0]
			if a := slices.DeleteFunc(step.Asks, isQuestion); len(a) != 1 || a[0].Outcome != tt.outcome || (a[0].By != "") != (tt.outcome == turn.AskApproved || tt.outcome == turn.AskDenied) {
				t.Errorf("recorded %+v", a)
			}
			if got := strings.Join(w.sandbox.executedIDs(), " "); got != tt.executed {
				t.Errorf("executed %s\nwant     %s", got, tt.executed)
			}
			if res := step.Results[1]; (res == nil) != (tt.outcome == "") || res != nil && (res.OK != (tt.code == "ok") || !res.OK && res.ErrorCode != tt.code) {
				t.Errorf("result %+v", res)
			}
			if ok := tt.code == "ok" && tt.call.Tool == toolapi.ToolSaveCredential; (len(saved) > 0) != ok {
				t.Errorf("saved %v", saved)
			}
		})
	}
}

// A decision is final, even if later responses and the policy differ.
func TestADecisionCountsForEver(t *testing.T) {
	for _, first := range []string{"Approve", "Deny"} {
		w, p := gatedWorld(t, config.Config{}, nil, says("", bash("gated")), says("done"))
		w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
		p.said["a1-s1-c0"] = first
		// The decision is recorded, and nothing after it.
		broken := errors.New("broken")
		w.journal.fault = failAt("settle: after", broken)
		if _, err := w.run(t.Context(), nil); !errors.Is(err, broken) || len(w.sandbox.executed) > 0 {
			t.Fatal(err, w.sandbox.executed)
		}
		w.journal.fault = noFault
		p.said["a1-s1-c0"] = map[string]string{"Approve": "Deny", "Deny": "Approve"}[first]
		p.over["a1-s1-c0"] = true
		w.mustWait(t, nil, "")
		if made := len(w.sandbox.executed) == 1; made != (first == "Approve") {
			t.Errorf("%s was decided first; executed %v", first, w.sandbox.executed)
		}
	}
}

// A recorded request is waited for, also by a loop whose policy would no longer make it.
func TestARequestIsNotForgotten(t *testing.T) {
	w, p := gatedWorld(t, config.Config{}, nil, says("", bash("gated")), says("done"))
	w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
	w.loop.Policy = laxPolicy{p}
	w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
	p.said["a1-s1-c0"] = "Deny"
	w.mustWait(t, nil, "")
	if len(w.sandbox.executed) > 0 {
		t.Errorf("executed %v", w.sandbox.executed)
	}
}

type laxPolicy struct{ *fakePolicy }

func (laxPolicy) NeedsApproval(turn.Call) bool { return false }

// Another loop recorded first, and its record counts for this one.
func TestTheFirstDecisionIsUsed(t *testing.T) {
	w, p := gatedWorld(t, config.Config{}, nil, says("", bash("gated")), says("done"))
	w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
	turns := w.journal.load()
	other := w.journal.load()[0]
	other.Asks[0].Outcome, other.Asks[0].ClosedAt = turn.AskExpired, time.Unix(1, 0).UTC()
	if err := w.journal.Settle(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	p.said["a1-s1-c0"] = "Approve"
	if _, err := w.loop.Run(t.Context(), turns); err != nil {
		t.Fatal(err)
	}
	if res := w.journal.load()[0].Results[0]; res.ErrorCode != toolapi.CodeApprovalExpired || len(w.sandbox.executed) > 0 {
		t.Errorf("result %+v, executed %v", res, w.sandbox.executed)
	}
}

// A call that a person repeats is approved again. A read-only call is not.
func TestApprovalOfWhatIsMadeAgain(t *testing.T) {
	const first, second = "a1-s1-c0", "a1-s1-c0-r1"
	for name, tt := range map[string]struct {
		call     turn.Call
		said     map[string]string
		over     string
		asks     string // the execution that is to be approved at last, "" if the run completes
		executed []string
		code     string
	}{
		"asked again":    {call: bash("gated lost"), said: map[string]string{first: "Approve"}, asks: second, executed: []string{first}},
		"approved again": {bash("gated lost"), map[string]string{first: "Approve", second: "Approve"}, "", "", []string{first, second}, "ok"},
		"denied":         {bash("gated lost"), map[string]string{first: "Approve", second: "Deny"}, "", "", []string{first}, toolapi.CodeSkipped},
		"expired":        {bash("gated lost"), map[string]string{first: "Approve"}, second, "", []string{first}, toolapi.CodeOutcomeUnknown},
		"reading":        {read("gated lost"), map[string]string{first: "Approve"}, "", "", []string{first, second}, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := gatedWorld(t, config.Config{}, lostUntil(1), says("", tt.call), says("done"))
			p.said, p.over = tt.said, map[string]bool{tt.over: true}
			answers := map[string]string{first: "Retry"}
			if tt.asks != "" {
				w.mustAsk(t, answers, first, tt.asks)
			} else {
				w.mustWait(t, answers, "")
			}
			step := w.journal.load()[0]
			if d := cmp.Diff(tt.executed, w.sandbox.executedIDs()); d != "" {
				t.Error(d)
			}
			if res := step.Results[0]; tt.code != "" && (res.OK != (tt.code == "ok") || !res.OK && res.ErrorCode != tt.code) {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestForbiddenCalls(t *testing.T) {
	w, _ := gatedWorld(t, config.Config{}, nil, says("", bash("forbidden gated"), bash("fine")), says("done"))
	w.mustWait(t, nil, "")
	if d := cmp.Diff([]string{toolapi.CodeCommandNotAllowed, "output of a1-s1-c1"}, w.results()); d != "" {
		t.Error(d)
	}
	if a := w.journal.load()[0].Asks; len(a) > 0 {
		t.Errorf("a person was asked about %+v", a)
	}
}

// No person is asked about a call that is not made in any case.
func TestRefusedCallsAskNobody(t *testing.T) {
	w, _ := gatedWorld(t, config.Config{}, nil, says("",
		call(toolapi.ToolBash, `{"command":{"gated":1}}`), call(toolapi.ToolWrite, `{"path":"gated","content":""}`), call("gated", "{}"), request(""),
	), says("done"))
	w.mustWait(t, nil, "")
	want := []string{toolapi.CodeInvalidArguments, toolapi.CodeToolNotGranted, toolapi.CodeUnknownTool, toolapi.CodeInvalidArguments}
	if d := cmp.Diff(want, w.results()); d != "" {
		t.Error(d)
	}
	if a := w.journal.load()[0].Asks; len(a) > 0 {
		t.Errorf("a person was asked about %+v", a)
	}
}

func TestRequestApprovalWithoutAPolicy(t *testing.T) {
	w, _ := gatedWorld(t, config.Config{}, nil, says("", request("push"), bash("gated once")), says("done"))
	w.loop.Policy = nil
	w.mustWait(t, nil, "")
	if d := cmp.Diff([]string{toolapi.CodeApprovalDenied, "output of a1-s1-c1"}, w.results()); d != "" {
		t.Error(d)
	}
	if key := w.sandbox.executed[0].IdempotencyKey; key != "" {
		t.Errorf("the key is %q", key)
	}
}

// A call whose effect has already happened is not made again, and no person is asked about it: not in the same turn, not later.
func TestAlreadyDone(t *testing.T) {
	w, p := gatedWorld(t, config.Config{}, nil,
		says("", bash("gated once"), bash("gated once"), bash("once 2")), says("", bash("gated once"), bash("once 2")), says("done"))
	w.mustAsk(t, nil, "a1-s1-c0", "a1-s1-c0")
	p.said["a1-s1-c0"] = "Approve"
	w.mustWait(t, nil, "")
	var outputs []string
	for _, step := range w.journal.load() {
		for _, res := range step.Results {
			outputs = append(outputs, res.Output)
		}
		if n := len(step.Asks); n > 1 {
			t.Errorf("%d requests", n)
		}
	}
	want := []string{"output of a1-s1-c0", "done by a1-s1-c0", "output of a1-s1-c2", "done by a1-s1-c0", "done by a1-s1-c2"}
	if d := cmp.Diff(want, outputs); d != "" {
		t.Error(d)
	}
	keys := map[string]string{}
	for _, c := range w.sandbox.executed {
		keys[c.ID] = c.IdempotencyKey
	}
	if d := cmp.Diff(map[string]string{"a1-s1-c0": `key of {"command":"gated once"}`, "a1-s1-c2": `key of {"command":"once 2"}`}, keys); d != "" {
		t.Error(d)
	}
}

// Its effect is unknown, and stays so for every call with the same key.
func TestPerhapsAlreadyDone(t *testing.T) {
	w, _ := gatedWorld(t, config.Config{OnUnknown: turn.UnknownModel}, lostUntil(9), says("", bash("once lost"), bash("once lost")), says("done"))
	w.mustWait(t, nil, "")
	res := w.journal.load()[0].Results
	if res[0].ErrorCode != toolapi.CodeOutcomeUnknown || res[1].Output != "perhaps done by a1-s1-c0" || len(w.sandbox.executed) != 1 {
		t.Errorf("results %+v, %+v, executed %v", res[0], res[1], w.sandbox.executedIDs())
	}
}

// Data from the web is marked, also when it is shown a second time.
func TestAlreadyDoneFromTheWeb(t *testing.T) {
	w, _ := gatedWorld(t, config.Config{Domains: []string{"example.org"}}, nil, says("", bash("once"), bash("once")), says("done"))
	w.mustWait(t, nil, "")
	for i, res := range w.journal.load()[0].Results {
		if res.Provenance != toolapi.ProvenanceWeb {
			t.Errorf("result %d: %+v", i, res)
		}
	}
}
