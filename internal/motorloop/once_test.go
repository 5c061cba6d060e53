// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

var theOnly = turn.Call{Tool: toolapi.ToolOneshot, Arguments: `{"language":"python","source":"1","timeoutMs":100}`}

func once(t *testing.T, w *world, refused *toolapi.Result) outcome.Outcome {
	t.Helper()
	out, err := w.loop.Once(t.Context(), w.journal.load(), theOnly, refused)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{Attempt: 3}, nil)
	for range 2 {
		// The second time no work remains.
		if diff := cmp.Diff(outcome.Outcome{Kind: outcome.Completed}, once(t, w, nil)); diff != "" {
			t.Error(diff)
		}
	}
	want := []*turn.Turn{{
		Index: 1, Calls: []turn.Call{{ID: "a3-s1-c0", ModelID: "a3-s1-c0", Tool: toolapi.ToolOneshot, Arguments: theOnly.Arguments}},
		Results: []*toolapi.Result{{OK: true, Output: "output of a3-s1-c0", Provenance: toolapi.ProvenanceInternal}},
	}}
	if diff := cmp.Diff(want, w.journal.load()); diff != "" {
		t.Errorf("the journal (-want +got):\n%s", diff)
	}
	if n := len(w.sandbox.executed); n != 1 || w.model.calls != 0 || w.sandbox.executed[0].MaxOutputBytes != toolapi.MaxOutputBytes {
		t.Errorf("%d calls of the sandbox, %d of the model: %+v", n, w.model.calls, w.sandbox.executed)
	}
}

func TestOnceRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{}, nil)
	w.loop.Ready = func(context.Context) error {
		t.Error("the sandbox was made ready")
		return nil
	}
	refused := &toolapi.Result{ErrorCode: toolapi.CodeExecutionBlocked, Output: "no", Provenance: toolapi.ProvenanceInternal}
	if out := once(t, w, refused); out.Kind != outcome.Completed {
		t.Errorf("got %+v", out)
	}
	if diff := cmp.Diff([]*toolapi.Result{refused}, w.journal.load()[0].Results); diff != "" || len(w.sandbox.executed) > 0 {
		t.Errorf("ran %v; the results (-want +got):\n%s", w.sandbox.executed, diff)
	}
}

// The call is made again when its end was not seen, but not for ever.
func TestOnceUnknown(t *testing.T) {
	t.Parallel()
	for deaths, want := range map[int]string{1: "", maxExecutions - 1: "", maxExecutions: toolapi.CodeOutcomeUnknown} {
		n := 0
		w := newWorld(t, config.Config{}, func(c toolapi.Call) toolapi.Result {
			if n++; n <= deaths {
				return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown}
			}
			return toolapi.Result{OK: true}
		})
		once(t, w, nil)
		step := w.journal.load()[0]
		if got := step.Results[0].ErrorCode; got != want || len(step.Unknown) != deaths || len(w.sandbox.executed) != min(deaths+1, maxExecutions) {
			t.Errorf("%d deaths: code %q after %d calls, %+v", deaths, got, len(w.sandbox.executed), step.Unknown)
		}
	}
}

func TestOnceAwaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{}, func(toolapi.Call) toolapi.Result { return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown} })
	out, err := w.loop.Once(t.Context(), nil, bash("x"), nil)
	if err != nil || out.Kind != outcome.Awaiting || out.Waiting == nil || out.Waiting.ID != "a1-s1-c0" {
		t.Errorf("got %+v, %v", out, err)
	}
}

// If it is interrupted at any point, the next one resumes from the journal, and nothing runs twice.
func TestOnceGoesOn(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"append", "tool", "settle"} {
		for _, when := range []string{"before", "after"} {
			point := op + ": " + when
			w := newWorld(t, config.Config{}, nil)
			w.setFault(failAt(point, errors.New("broken")))
			if out, err := w.loop.Once(t.Context(), nil, theOnly, nil); err == nil {
				t.Errorf("%s: got %+v", point, out)
			}
			w.setFault(noFault)
			once(t, w, nil)
			if step := w.journal.load()[0]; !step.Settled() || len(w.sandbox.executed) != 1 {
				t.Errorf("%s: ran %v", point, w.sandbox.executedIDs())
			}
		}
	}
}

func TestOnceFails(t *testing.T) {
	t.Parallel()
	lost := &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost}
	for name, tt := range map[string]struct {
		ready, call error
		appended    int
		want        string
	}{
		"the sandbox is not to be had": {ready: lost, want: "{Failed SandboxLost} <nil>"},
		"nor now":                      {ready: errors.New("later"), want: "{ } later"},
		"the sandbox is lost":          {call: lost, appended: 1, want: "{Failed SandboxLost} <nil>"},
		"the claim is lost":            {call: fmt.Errorf("told: %w", ErrStale), appended: 1, want: "{ } told: " + ErrStale.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config.Config{}, nil)
			w.loop.Ready = func(context.Context) error { return tt.ready }
			w.sandbox.fault = failAt("tool: before", tt.call)
			out, err := w.loop.Once(t.Context(), nil, theOnly, nil)
			reason := ""
			if out.Failure != nil {
				reason = out.Failure.Reason
			}
			if got := fmt.Sprintf("{%s %s} %v", out.Kind, reason, err); got != tt.want || len(w.journal.stored) != tt.appended {
				t.Errorf("got %s with %d turns, want %s", got, len(w.journal.stored), tt.want)
			}
		})
	}
}
