// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// answeringModel answers everything the same way.
type answeringModel struct {
	answer chat.Answer
	err    error
	within time.Duration
	asked  int
}

func (m *answeringModel) Complete(ctx context.Context, _ chat.Request) (chat.Answer, error) {
	m.asked++
	if deadline, ok := ctx.Deadline(); ok {
		m.within = time.Until(deadline)
	}
	return m.answer, m.err
}

// The requests at the ends of an attempt, and their results.
func TestPartialAndHint(t *testing.T) {
	failing := func(toolapi.Call) toolapi.Result {
		return toolapi.Result{ErrorCode: toolapi.CodeNotFound, Output: "no"}
	}
	lost := &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost, Message: "gone"}
	away := &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonModelUnavailable, Message: "away"}
	calls := func(n int) (script []chat.Answer) {
		for i := range n {
			script = append(script, says("", bash(strings.Repeat("x", i+1))))
		}
		return script
	}
	cases := map[string]struct {
		cfg           config.Config
		script        []chat.Answer
		behave        func(toolapi.Call) toolapi.Result
		broken        fault
		reason        string
		partial, hint string
		asked         int
	}{
		"completed":       {script: []chat.Answer{says("done")}},
		"max iterations":  {cfg: config.Config{MaxIterations: 2}, script: calls(2), reason: outcome.ReasonMaxIterations, partial: "the partial", hint: "a hint", asked: 1},
		"max tokens":      {cfg: config.Config{MaxTokens: 5000, UsedTokens: 3900}, script: calls(2), reason: outcome.ReasonMaxTokens},
		"tool failure":    {script: slices.Repeat(calls(1), 3), behave: failing, reason: outcome.ReasonStuck, hint: "a hint", asked: 1},
		"empty answers":   {script: []chat.Answer{says(""), says("")}, reason: outcome.ReasonEmptyAnswers},
		"model failure":   {broken: failAt("model: before", away), reason: outcome.ReasonModelUnavailable},
		"sandbox failure": {script: calls(1), broken: failAt("tool: before", lost), reason: outcome.ReasonSandboxLost},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.cfg, tc.behave, tc.script...)
			if tc.broken != nil {
				w.setFault(tc.broken)
			}
			hints := &answeringModel{answer: says("a hint")}
			w.loop.HintModel = hints
			out := mustRun(t, w, nil)
			reason := ""
			if out.Failure != nil {
				reason = out.Failure.Reason
			}
			if reason != tc.reason || out.Partial != tc.partial || out.Hint != tc.hint || hints.asked != tc.asked {
				t.Errorf("got %+v, %v, asked %d times for a hint", out, out.Failure, hints.asked)
			}
			if hints.asked > 0 && (hints.within <= 0 || hints.within > hintTimeout) {
				t.Errorf("%s for a hint", hints.within)
			}
			want := int64(10 * (hints.asked + w.model.asked[forPartial]))
			if out.Usage.PromptTokens != want || (w.model.asked[forPartial] > 0) != (tc.partial != "") {
				t.Errorf("usage %+v, asked %v", out.Usage, w.model.asked)
			}
		})
	}
}

// No failure of a hint or a partial result stops an attempt from failing, except the end of the loop.
func TestAsidesThatFail(t *testing.T) {
	away := &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonModelUnavailable, Message: "away"}
	world := func(t *testing.T) *world {
		return newWorld(t, config.Config{MaxIterations: 1}, nil, says("", bash("a")))
	}
	t.Run("an error", func(t *testing.T) {
		w := world(t)
		w.model.fault = func(context.Context, string) error {
			if w.model.asked[forPartial] > 0 {
				return away
			}
			return nil
		}
		w.loop.HintModel = &answeringModel{err: errors.New("odd")}
		out := mustRun(t, w, nil)
		if out.Failure.Reason != outcome.ReasonMaxIterations || out.Partial != "" || out.Hint != "" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("no hint model", func(t *testing.T) {
		w := world(t)
		if out := mustRun(t, w, nil); out.Partial != "the partial" || out.Hint != "" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("calls instead of text", func(t *testing.T) {
		w := world(t)
		w.model.aside = func(string) chat.Answer { return says("", bash("b")) }
		if out := mustRun(t, w, nil); out.Partial != "" || len(w.sandbox.executed) != 1 {
			t.Errorf("got %+v, executed %v", out, w.sandbox.executedIDs())
		}
	})
	for _, kind := range []string{forPartial, forHint} {
		t.Run("the loop is ended: "+kind, func(t *testing.T) {
			w := world(t)
			w.loop.HintModel = w.model
			ctx, cancel := context.WithCancel(t.Context())
			w.model.fault = func(ctx context.Context, _ string) error {
				if w.model.asked[kind] > 0 {
					cancel()
					return ctx.Err()
				}
				return nil
			}
			if _, err := w.run(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			w.model.fault = noFault
			if out := mustRun(t, w, nil); out.Partial != "the partial" || out.Hint != "the hint" {
				t.Errorf("got %+v", out)
			}
			if w.model.asked[forPartial] > 2 || w.model.asked[forHint] > 2 {
				t.Errorf("asked %v", w.model.asked)
			}
		})
	}
}

func TestAsidesAreBoundedAndClean(t *testing.T) {
	hostile := "\x1b[2Jone\r\ntwo\u202e \x00\xff\tthree" + strings.Repeat(" <b> more", 2000)
	w := newWorld(t, config.Config{MaxIterations: 1}, nil, says("", bash("a")))
	w.model.aside = func(string) chat.Answer { return says(hostile) }
	w.loop.HintModel = w.model
	out := mustRun(t, w, nil)
	if !strings.HasPrefix(out.Partial, "\uFFFD[2Jone\ntwo\uFFFD \uFFFD\uFFFD\tthree <b>") || text.EncodedLen(out.Partial) > verdict.MaxPartial {
		t.Errorf("%d bytes: %q", len(out.Partial), out.Partial)
	}
	if !strings.HasPrefix(out.Hint, "\uFFFD[2Jone two\uFFFD \uFFFD\uFFFD three <b>") || text.EncodedLen(out.Hint) > maxHint || strings.Contains(out.Hint, "\n") {
		t.Errorf("%d bytes: %q", len(out.Hint), out.Hint)
	}
}
