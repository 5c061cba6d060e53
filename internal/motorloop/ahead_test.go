// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// meetingTools are a sandbox in which read calls wait until a number of them has arrived.
type meetingTools struct {
	mu      sync.Mutex
	waiting int
	met     chan struct{}
	want    int
	order   []string
}

func (m *meetingTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	m.mu.Lock()
	m.order = append(m.order, c.ID)
	if toolapi.OnlyReads(c.Tool) {
		if m.waiting++; m.waiting == m.want {
			close(m.met)
		}
	}
	m.mu.Unlock()
	if toolapi.OnlyReads(c.Tool) {
		select {
		case <-m.met:
		case <-ctx.Done():
			return toolapi.Result{}, ctx.Err()
		}
	}
	return toolapi.Result{OK: true, Output: "of " + c.ID}, nil
}

func reads(n int) []turn.Call {
	var calls []turn.Call
	for i := range n {
		calls = append(calls, call(toolapi.ToolRead, fmt.Sprintf(`{"path":"f%d"}`, i)))
	}
	return calls
}

// All read calls arrive before the first of them has its result, and the results are in the order of the answer.
func TestReadsAreMadeSideBySide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const n = toolapi.MaxReads
	w := newWorld(t, config.Config{Tools: []string{"read"}}, nil, says("", reads(n)...), says("done"))
	m := &meetingTools{met: make(chan struct{}), want: n}
	w.loop.Tools = m
	if out, err := w.loop.Run(ctx, nil); err != nil || out.Kind != outcome.Completed {
		t.Fatalf("%+v, %v", out, err)
	}
	for i, res := range w.journal.load()[0].Results {
		if want := "of " + turn.CallID(1, 1, i); res == nil || res.Output != want {
			t.Errorf("call %d: %+v, want %s", i, res, want)
		}
	}
	if len(m.order) != n {
		t.Errorf("made: %v", m.order)
	}
}

func TestReadsAhead(t *testing.T) {
	t.Parallel()
	read, write := reads(1)[0], write("a")
	for name, tt := range map[string]struct {
		calls []turn.Call
		cfg   config.Config
		// most is how many calls of the answer are made.
		most int
		// first are the calls that are made before the first that writes.
		first int
	}{
		"as many as there may be": {calls: reads(toolapi.MaxReads), most: toolapi.MaxReads},
		"one more":                {calls: reads(toolapi.MaxReads + 1), most: toolapi.MaxReads},
		"with one that writes":    {calls: append(reads(10), write), most: toolapi.MaxCalls},
		"before one that writes":  {calls: []turn.Call{read, read, write, read}, most: 4, first: 2},
		"after one that writes":   {calls: []turn.Call{write, read, read}, most: 3},
		"each recorded":           {calls: []turn.Call{read, read}, cfg: config.Config{SettleEach: true}, most: 2},
		"with a bad one":          {calls: []turn.Call{read, call(toolapi.ToolRead, `{}`), read}, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Tools = []string{"read", "write"}
			w := newWorld(t, tt.cfg, nil, says("", tt.calls...), says("done"))
			if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
				t.Fatalf("%+v", out)
			}
			made := w.sandbox.executedIDs()
			if len(made) != tt.most || len(slices.Compact(slices.Sorted(slices.Values(made)))) != len(made) {
				t.Errorf("made: %v", made)
			}
			before := slices.IndexFunc(w.sandbox.executed, func(c toolapi.Call) bool { return c.Tool == toolapi.ToolWrite })
			if tt.first > 0 && before != tt.first {
				t.Errorf("%d calls before the one that writes: %v", before, made)
			}
		})
	}
}

// A call that needs approval is not made ahead.
func TestReadsAheadWaitForApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{Tools: []string{"read"}}, nil,
		says("", reads(1)[0], call(toolapi.ToolRead, `{"path":"gated"}`), call(toolapi.ToolRead, `{"path":"b"}`)), says("done"))
	w.loop.Policy = &fakePolicy{journal: w.journal, fakePerson: w.person}
	out := mustRun(t, w, nil)
	if out.Kind != outcome.Awaiting || slices.Contains(w.sandbox.executedIDs(), "a1-s1-c1") {
		t.Errorf("%+v, made: %v", out, w.sandbox.executedIDs())
	}
}

// The end of a sandbox ends all of them, and no goroutine leaks.
func TestReadsAheadEndWithTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{Tools: []string{"read"}}, nil, says("", reads(4)...))
	lost := &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost}
	w.loop.Tools = toolsFunc(func(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
		if c.ID == "a1-s1-c0" {
			return toolapi.Result{}, lost
		}
		<-ctx.Done() // It would wait for ever if nothing ended it.
		return toolapi.Result{}, ctx.Err()
	})
	out := mustRun(t, w, nil)
	if !errors.Is(out.Failure, error(lost)) {
		t.Errorf("%+v", out)
	}
}

// A panic in one of them ends this loop and not the process. It surfaces like the panic of a call that is made alone, after the caller of
// the loop has recovered it.
func TestReadsAheadPanic(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string][]turn.Call{"alone": reads(1), "two": reads(2), "after one that succeeds": reads(3)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config.Config{Tools: []string{"read"}}, nil, says("", calls...))
			w.loop.Tools = toolsFunc(func(_ context.Context, c toolapi.Call) (toolapi.Result, error) {
				if len(calls) == 3 && c.ID == "a1-s1-c0" {
					return toolapi.Result{OK: true}, nil
				}
				panic("of a tool")
			})
			out, err := recovered(func() (outcome.Outcome, error) { return w.run(t.Context(), nil) })
			p, ok := errors.AsType[*Panic](err)
			if !ok || p.Value != "of a tool" || !strings.Contains(string(p.Stack), "TestReadsAheadPanic") || out.Kind != "" {
				t.Errorf("%+v, %v", out, err)
			}
			if res := w.journal.load()[0].Results[len(calls)-1]; res != nil {
				t.Errorf("a call that panicked has the result %+v", res)
			}
		})
	}
}

// recovered recovers like the engine does in the goroutine of a loop.
func recovered(do func() (outcome.Outcome, error)) (out outcome.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = NewPanic(v)
		}
	}()
	return do()
}

type toolsFunc func(context.Context, toolapi.Call) (toolapi.Result, error)

func (f toolsFunc) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	return f(ctx, c)
}
