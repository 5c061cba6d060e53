// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// fault lets a test break any operation of the world: it is asked before and after each effect.
type fault func(ctx context.Context, point string) error

func noFault(ctx context.Context, _ string) error { return ctx.Err() }

// fakeModel gives its answers by turn: an answer that got lost is given again.
type fakeModel struct {
	t       *testing.T
	answers []Answer
	fault   fault
	calls   int
	seen    []Request
}

func (m *fakeModel) Complete(ctx context.Context, r Request) (Answer, error) {
	m.calls++
	m.seen = append(m.seen, r)
	checkConversation(m.t, r.Messages)
	if err := m.fault(ctx, "model: before"); err != nil {
		return Answer{}, err
	}
	turn := 0
	for _, msg := range r.Messages {
		if msg.Role == RoleAssistant {
			turn++
		}
	}
	if turn >= len(m.answers) {
		return Answer{}, fmt.Errorf("no answer for turn %d", turn+1)
	}
	if err := m.fault(ctx, "model: after"); err != nil {
		return Answer{}, err
	}
	return m.answers[turn], nil
}

// checkConversation fails if an endpoint would refuse the messages: every call has its tool message, at once, in
// order, under an id of its own.
func checkConversation(t *testing.T, msgs []Message) {
	t.Helper()
	if len(msgs) < 2 || msgs[0].Role != RoleSystem || msgs[1].Role != RoleUser {
		t.Fatalf("the conversation begins with %v", msgs)
	}
	ids := map[string]bool{}
	for i := 2; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == RoleTool {
			t.Fatalf("message %d: a result without a call: %+v", i-1, m)
		}
		if m.Content == "" && len(m.Calls) == 0 {
			t.Fatalf("message %d is empty", i-1)
		}
		for _, c := range m.Calls {
			if ids[c.ModelID] || c.ModelID == "" || c.Tool == "" || !json.Valid([]byte(c.Arguments)) {
				t.Fatalf("call %+v: no id, an id used twice, no tool or no JSON", c)
			}
			ids[c.ModelID] = true
			if i >= len(msgs) || msgs[i].Role != RoleTool || msgs[i].ToolCallID != c.ModelID || msgs[i].Content == "" {
				t.Fatalf("call %+v has no result after it", c)
			}
			i++
		}
	}
}

// fakeSandbox has a ledger like the tool server's: an id runs once, and its result is given again.
type fakeSandbox struct {
	fault    fault
	behave   func(toolapi.Call) toolapi.Result
	ready    bool
	executed []toolapi.Call
	ledger   map[string]toolapi.Result
	requests map[string]toolapi.Call
}

func newSandbox(behave func(toolapi.Call) toolapi.Result) *fakeSandbox {
	return &fakeSandbox{
		fault: noFault, behave: behave, ready: true,
		ledger: map[string]toolapi.Result{}, requests: map[string]toolapi.Call{},
	}
}

func (s *fakeSandbox) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	if err := s.fault(ctx, "tool: before"); err != nil {
		return toolapi.Result{}, err
	}
	if !s.ready {
		return toolapi.Result{}, errors.New("called before the sandbox was ready")
	}
	if old, ok := s.requests[c.ID]; ok && fmt.Sprint(old) != fmt.Sprint(c) {
		return toolapi.Result{}, fmt.Errorf("call %s was another one before: %v, %v", c.ID, old, c)
	}
	res, ok := s.ledger[c.ID]
	if !ok {
		s.executed = append(s.executed, c)
		s.requests[c.ID] = c
		res = s.behave(c)
		s.ledger[c.ID] = res
	}
	if err := s.fault(ctx, "tool: after"); err != nil {
		return toolapi.Result{}, err
	}
	return res, nil
}

// fakeJournal keeps turns as JSON, so that nothing survives but what is written.
type fakeJournal struct {
	fault   fault
	stored  [][]byte
	settles int
}

func (j *fakeJournal) Append(ctx context.Context, t *Turn) error {
	if err := j.fault(ctx, "append: before"); err != nil {
		return err
	}
	if int(t.Index) != len(j.stored)+1 {
		return fmt.Errorf("%w: turn %d after %d turns", ErrStale, t.Index, len(j.stored))
	}
	j.stored = append(j.stored, encode(t))
	return j.fault(ctx, "append: after")
}

func (j *fakeJournal) Settle(ctx context.Context, t *Turn) error {
	if err := j.fault(ctx, "settle: before"); err != nil {
		return err
	}
	j.settles++
	j.stored[t.Index-1] = encode(t)
	return j.fault(ctx, "settle: after")
}

func encode(t *Turn) []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

func (j *fakeJournal) load() []*Turn {
	var turns []*Turn
	for _, b := range j.stored {
		t := &Turn{}
		if err := json.Unmarshal(b, t); err != nil {
			panic(err)
		}
		turns = append(turns, t)
	}
	return turns
}

// world is a loop with everything around it.
type world struct {
	loop    *Loop
	model   *fakeModel
	sandbox *fakeSandbox
	journal *fakeJournal
}

func newWorld(t *testing.T, cfg Config, behave func(toolapi.Call) toolapi.Result, answers ...Answer) *world {
	if behave == nil {
		behave = func(c toolapi.Call) toolapi.Result {
			return toolapi.Result{OK: true, Output: "output of " + c.ID, Provenance: toolapi.ProvenanceInternal}
		}
	}
	if cfg.MaxIterations == 0 {
		cfg.MaxIterations = 20
	}
	if cfg.Tools == nil {
		cfg.Tools = []string{toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolWrite}
	}
	cfg.Task = "the task"
	w := &world{
		model:   &fakeModel{t: t, answers: answers, fault: noFault},
		sandbox: newSandbox(behave),
		journal: &fakeJournal{fault: noFault},
	}
	w.loop = &Loop{Config: cfg, Model: w.model, Tools: w.sandbox, Journal: w.journal}
	return w
}

func (w *world) run(ctx context.Context, answers map[string]string) (Outcome, error) {
	return w.loop.Run(ctx, w.journal.load(), answers)
}

func (w *world) setFault(f fault) {
	w.model.fault, w.sandbox.fault, w.journal.fault = f, f, f
}

func says(content string, calls ...Call) Answer {
	return Answer{Model: "m", Content: content, Calls: calls, Usage: Usage{PromptTokens: 10, CompletionTokens: 1}}
}

var ids struct {
	sync.Mutex
	n int
}

// call is a call as a model makes it, with an id of its own.
func call(tool, arguments string) Call {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return Call{ModelID: fmt.Sprintf("call_%d", ids.n), Tool: tool, Arguments: arguments}
}

func bash(command string) Call { return call(toolapi.ToolBash, fmt.Sprintf(`{"command":%q}`, command)) }

func question(q string) Call { return call(toolapi.ToolAskUser, fmt.Sprintf(`{"question":%q}`, q)) }
