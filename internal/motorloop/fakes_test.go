// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/chatlog"
)

// fault lets a test break any operation of the world: it is asked before and after each effect.
type fault func(ctx context.Context, point string) error

func noFault(ctx context.Context, _ string) error { return ctx.Err() }

// failAt breaks the operation at one point.
func failAt(point string, err error) fault {
	return func(ctx context.Context, p string) error {
		if p == point {
			return err
		}
		return ctx.Err()
	}
}

// Kinds of requests.
const (
	forStep    = "step"
	forSummary = "summary"
	forPartial = "partial"
	forHint    = "hint"
)

func kindOfRequest(r chat.Request) string {
	if last := r.Messages[len(r.Messages)-1]; last.Role == chat.RoleUser && strings.Contains(last.Content, "Write the summary that takes the place of its older part") {
		return forSummary
	}
	for kind, known := range map[string]chat.Request{
		forSummary: conversation.RecordedSummaryRequest(config.Config{}, nil, 0), forPartial: conversation.PartialRequest(config.Config{}, nil),
		forHint: conversation.HintRequest(config.Config{}, nil, &outcome.Failure{}),
	} {
		if r.Messages[0].Content == known.Messages[0].Content {
			return kind
		}
	}
	return forStep
}

// fakeModel returns its answers by turn: it repeats an answer that got lost.
type fakeModel struct {
	t       *testing.T
	answers []chat.Answer
	// aside answers requests that are no steps; nil answers "the KIND".
	aside func(kind string) chat.Answer
	fault fault
	calls int
	asked map[string]int
	seen  []chat.Request
}

func (m *fakeModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	kind := kindOfRequest(r)
	m.calls++
	m.asked[kind]++
	m.seen = append(m.seen, r)
	chatlog.Check(m.t, r.Messages)
	if (len(r.Tools) == 0) != (kind != forStep) && kind != forSummary {
		m.t.Fatalf("a request for a %s with %d tools", kind, len(r.Tools))
	}
	if err := m.fault(ctx, "model: before"); err != nil {
		return chat.Answer{}, err
	}
	a, err := m.answer(kind, r)
	if err != nil {
		return chat.Answer{}, err
	}
	if err := m.fault(ctx, "model: after"); err != nil {
		return chat.Answer{}, err
	}
	return a, nil
}

func (m *fakeModel) answer(kind string, r chat.Request) (chat.Answer, error) {
	if kind != forStep {
		if m.aside == nil {
			return says("the " + kind), nil
		}
		return m.aside(kind), nil
	}
	if step := answersIn(r.Messages); step < len(m.answers) {
		return m.answers[step], nil
	}
	return chat.Answer{}, fmt.Errorf("no answer for turn %d", answersIn(r.Messages)+1)
}

var summaryHeader = regexp.MustCompile(`^\[summary of my first (\d+) answers;`)

// answersIn counts the answers that a conversation holds or sums up.
func answersIn(msgs []chat.Message) int {
	n := 0
	for _, msg := range msgs {
		if msg.Role != chat.RoleAssistant {
			continue
		}
		n++
		if m := summaryHeader.FindStringSubmatch(msg.Content); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
	}
	return n
}

// fakeSandbox has a ledger like the tool server's: an id runs once, and its result is returned again. It is one loop's view
// of the sandbox; others may share its state.
type fakeSandbox struct {
	fault fault
	epoch int64
	ready bool
	// mu serializes the concurrent calls of a loop, and blocks the loop's journal meanwhile, as both share
	// state. Another loop that a fault starts has its own: the one before is inside an operation until it has ended.
	mu *sync.Mutex
	*sandboxState
}

type sandboxState struct {
	behave   func(toolapi.Call) toolapi.Result
	executed []toolapi.Call
	ledger   map[string]toolapi.Result
	requests map[string]toolapi.Call
	highest  int64
}

func newSandbox(behave func(toolapi.Call) toolapi.Result) *fakeSandbox {
	return &fakeSandbox{fault: noFault, epoch: 1, ready: true, mu: &sync.Mutex{}, sandboxState: &sandboxState{
		behave: behave, ledger: map[string]toolapi.Result{}, requests: map[string]toolapi.Call{},
	}}
}

func (s *fakeSandbox) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, "tool: before"); err != nil {
		return toolapi.Result{}, err
	}
	if !s.ready {
		return toolapi.Result{}, errors.New("called before the sandbox was ready")
	}
	if s.epoch < s.highest {
		return toolapi.Result{}, ErrStale
	}
	s.highest = s.epoch
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

// executedIDs are the ids that ran, in order.
func (s *fakeSandbox) executedIDs() []string {
	var ids []string
	for _, c := range s.executed {
		ids = append(ids, c.ID)
	}
	return ids
}

// fakeJournal stores turns as JSON, so that only the written data survives. Like the real one it identifies the owner of a turn
// by the epoch of the claim under which it is held, and does not change written data.
type fakeJournal struct {
	fault fault
	epoch int64
	// mu is the sandbox's.
	mu *sync.Mutex
	// late is true if results can be written beside the next question, and writing is closed when they are.
	late    bool
	writing chan struct{}
	*store
}

type store struct {
	stored  [][]byte
	epochs  []int64
	settles int
}

// errMovedOn reports that the journal has a turn which the loop did not know of.
var errMovedOn = errors.New("the journal has moved on")

func (j *fakeJournal) Append(ctx context.Context, t *turn.Turn) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.fault(ctx, "append: before"); err != nil {
		return err
	}
	switch i := int(t.Index) - 1; {
	case i > len(j.stored):
		return fmt.Errorf("turn %d after %d turns", t.Index, len(j.stored))
	case i == len(j.stored):
		j.stored = append(j.stored, encode(t))
		j.epochs = append(j.epochs, j.epoch)
	case j.epochs[i] > j.epoch:
		return ErrStale
	default:
		return errMovedOn
	}
	return j.fault(ctx, "append: after")
}

func (j *fakeJournal) Settle(ctx context.Context, t *turn.Turn) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.fault(ctx, "settle: before"); err != nil {
		return err
	}
	j.merge(t)
	j.settles++
	j.stored[t.Index-1] = encode(t)
	return j.fault(ctx, "settle: after")
}

func (j *fakeJournal) SettleLater(t *turn.Turn) func(context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.late {
		return nil
	}
	before := j.stored[t.Index-1]
	j.merge(t)
	after, writing := encode(t), make(chan struct{})
	j.writing = writing
	return func(ctx context.Context) error {
		defer close(writing)
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.fault(ctx, "settle: before"); err != nil {
			return err
		}
		if now := j.stored[t.Index-1]; !bytes.Equal(now, before) && !bytes.Equal(now, after) {
			return errMovedOn
		}
		j.settles++
		j.stored[t.Index-1] = after
		return j.fault(ctx, "settle: after")
	}
}

// patientModel answers when the results of the turn before are written, so that one thing happens after the other.
type patientModel struct {
	chat.Model
	journal *fakeJournal
}

func (m patientModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	if m.journal.writing != nil {
		<-m.journal.writing
	}
	return m.Model.Complete(ctx, r)
}

// merge makes the turn and the stored one the same.
func (j *fakeJournal) merge(t *turn.Turn) {
	there := decode(j.stored[t.Index-1])
	for i, res := range there.Results {
		if res != nil {
			t.Results[i] = res
		}
	}
	if there.Left == (turn.Left{}) {
		there.Left = t.Left
	}
	t.Left = there.Left
	for _, u := range t.Unknown {
		if !slices.ContainsFunc(there.Unknown, func(o turn.Unknown) bool { return o.Execution == u.Execution }) {
			there.Unknown = append(there.Unknown, u)
		}
	}
	t.Unknown = there.Unknown
	for _, a := range t.Asks {
		call := slices.IndexFunc(t.Calls, func(c turn.Call) bool { return c.ID == a.CallID })
		switch old, ok := there.Ask(a.Kind, a.Execution); {
		case !ok || old.Outcome == "":
			a.Answer = "" // It is not recorded.
			there.PutAsk(a)
		case there.Results[call] == nil:
			old.Files = a.Files
			there.PutAsk(old)
		}
	}
	t.Asks = slices.Clone(there.Asks)
}

// seen is load for a loop that may have calls on their way.
func (j *fakeJournal) seen() []*turn.Turn {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.load()
}

func encode(t *turn.Turn) []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

func decode(b []byte) *turn.Turn {
	t := &turn.Turn{}
	if err := json.Unmarshal(b, t); err != nil {
		panic(err)
	}
	return t
}

func (s *store) load() []*turn.Turn {
	var turns []*turn.Turn
	for _, b := range s.stored {
		turns = append(turns, decode(b))
	}
	return turns
}

// world is a loop with everything around it.
type world struct {
	loop    *Loop
	model   *fakeModel
	sandbox *fakeSandbox
	journal *fakeJournal
	person  *fakePerson
}

// newWorld is a loop of a model that ends its runs with text, which makes scripts short.
func newWorld(t *testing.T, cfg config.Config, behave func(toolapi.Call) toolapi.Result, answers ...chat.Answer) *world {
	cfg.TextEnds = true
	return newCallingWorld(t, cfg, behave, answers...)
}

// newCallingWorld is a loop of a model that ends its runs with a call of finish.
func newCallingWorld(t *testing.T, cfg config.Config, behave func(toolapi.Call) toolapi.Result, answers ...chat.Answer) *world {
	if behave == nil {
		behave = func(c toolapi.Call) toolapi.Result {
			return toolapi.Result{OK: true, Output: "output of " + c.ID, Provenance: toolapi.ProvenanceInternal}
		}
	}
	cfg.Attempt = max(cfg.Attempt, 1)
	if cfg.MaxIterations == 0 {
		cfg.MaxIterations = 20
	}
	if cfg.Tools == nil {
		cfg.Tools = []string{toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolWrite}
	}
	cfg.Task = "the task"
	sandbox := newSandbox(behave)
	w := &world{
		model:   &fakeModel{t: t, answers: answers, fault: noFault, asked: map[string]int{}},
		sandbox: sandbox,
		journal: &fakeJournal{fault: noFault, epoch: 1, mu: sandbox.mu, store: &store{}},
		person:  &fakePerson{said: map[string]string{}, over: map[string]bool{}, defaults: map[string]bool{}},
	}
	w.loop = &Loop{Config: cfg, Model: w.model, Tools: w.sandbox, Journal: w.journal, Person: w.person}
	return w
}

// granted returns the tools that the answers call, and no others: a run without any can succeed with its first answer.
func granted(answers []chat.Answer) []string {
	names := []string{}
	for _, a := range answers {
		for _, c := range a.Calls {
			if c.Tool != toolapi.ToolFinish && !slices.Contains(names, c.Tool) {
				names = append(names, c.Tool)
			}
		}
	}
	return names
}

func (w *world) run(ctx context.Context, answers map[string]string) (outcome.Outcome, error) {
	w.person.answers = answers
	return w.loop.Run(ctx, w.journal.load())
}

func (w *world) setFault(f fault) {
	w.model.fault, w.sandbox.fault, w.journal.fault = f, f, f
}

func says(content string, calls ...turn.Call) chat.Answer {
	return chat.Answer{Model: "m", Content: content, Calls: calls, Usage: turn.Usage{PromptTokens: 10, CompletionTokens: 1}}
}

var ids struct {
	sync.Mutex
	n int
}

// call is a call as a model makes it, with an id of its own.
func call(tool, arguments string) turn.Call {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return turn.Call{ModelID: fmt.Sprintf("call_%d", ids.n), Tool: tool, Arguments: arguments}
}

func bash(command string) turn.Call {
	return call(toolapi.ToolBash, fmt.Sprintf(`{"command":%q}`, command))
}

func read(path string) turn.Call { return call(toolapi.ToolRead, fmt.Sprintf(`{"path":%q}`, path)) }

func finish(status toolapi.FinishStatus, summary string, files ...string) turn.Call {
	arguments, err := json.Marshal(toolapi.FinishArgs{Status: status, Summary: summary, Files: files})
	if err != nil {
		panic(err)
	}
	return call(toolapi.ToolFinish, string(arguments))
}

func question(q string) turn.Call {
	return call(toolapi.ToolAskUser, fmt.Sprintf(`{"question":%q}`, q))
}

// settled is a turn with one result for each "tool/code"; the code of a success is "ok".
func settled(content string, results ...string) *turn.Turn {
	t := &turn.Turn{Model: "m", Content: content, Usage: turn.Usage{PromptTokens: 90, CompletionTokens: 10}}
	for _, r := range results {
		tool, code, _ := strings.Cut(r, "/")
		res := &toolapi.Result{OK: code == "ok", ErrorCode: code, Output: "port 80:\n  permission denied\n"}
		t.Calls = append(t.Calls, turn.Call{Tool: tool})
		t.Results = append(t.Results, res)
	}
	return t
}
