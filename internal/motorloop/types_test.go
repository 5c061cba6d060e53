// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// pause waits by the clock of the test.
func pause(d time.Duration) { <-time.After(d) }

type slowModel struct{ chat.Model }

func (m slowModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	pause(10 * time.Second)
	return m.Model.Complete(ctx, r)
}

type slowTools struct{ Tools }

func (s slowTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	pause(5 * time.Second)
	return s.Tools.Call(ctx, c)
}

type slowJournal struct{ Journal }

func (j slowJournal) Append(ctx context.Context, t *turn.Turn) error {
	pause(20 * time.Millisecond)
	return j.Journal.Append(ctx, t)
}

func (j slowJournal) Settle(ctx context.Context, t *turn.Turn) error {
	pause(7 * time.Millisecond)
	return j.Journal.Settle(ctx, t)
}

func (j slowJournal) SettleLater(t *turn.Turn) func(context.Context) error {
	write := j.Journal.SettleLater(t)
	if write == nil {
		return nil
	}
	return func(ctx context.Context) error {
		pause(7 * time.Millisecond)
		return write(ctx)
	}
}

// observed notes what it is told.
type observed struct{ overheads, calls []string }

func (o *observed) StepRecorded(overhead time.Duration) {
	o.overheads = append(o.overheads, overhead.String())
}

func (o *observed) CallEnded(tool, code string, took time.Duration) {
	o.calls = append(o.calls, fmt.Sprintf("%s %q %s", tool, code, took))
}

// The overhead of a step is the journal alone, however long the model, the tools and the sandbox take, one by one or side by side.
func TestTheOverheadOfAStepIsThatOfTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Config{}, func(c toolapi.Call) toolapi.Result {
			if c.Tool == toolapi.ToolBash {
				return toolapi.Result{ErrorCode: toolapi.CodeTimeout, DurationMs: 1500, Provenance: toolapi.ProvenanceInternal}
			}
			return toolapi.Result{OK: true, Output: "text", DurationMs: 3, Provenance: toolapi.ProvenanceInternal}
		}, says("", bash("a")), says("", read("x"), read("y"), read("z")), says("", call("rm", "{}")), says("done"))
		var o observed
		w.loop.Observer = &o
		w.loop.Model, w.loop.Tools, w.loop.Journal = slowModel{w.loop.Model}, slowTools{w.loop.Tools}, slowJournal{w.loop.Journal}
		w.loop.Ready = func(context.Context) error { pause(time.Minute); return nil }
		mustRun(t, w, nil)
		// The first record of the loop has none before it.
		if d := cmp.Diff([]string{"27ms", "27ms", "27ms"}, o.overheads); d != "" {
			t.Errorf("the overheads: %s", d)
		}
		want := []string{`bash "timeout" 1.5s`, `read "" 3ms`, `read "" 3ms`, `read "" 3ms`, `rm "unknown_tool" 0s`}
		if d := cmp.Diff(want, o.calls); d != "" {
			t.Errorf("the calls: %s", d)
		}
	})
}
