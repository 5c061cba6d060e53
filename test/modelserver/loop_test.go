// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/modelserver/script"
	"motorcortex.dev/motorcortex/test/scripts"
)

// stage is what a script of the end-to-end tests needs around it but for a cluster: the real loop, the real client, and
// a shell in a folder.
type stage struct {
	*rig
	t     *testing.T
	dir   string
	turns []*turn.Turn
}

func newStage(t *testing.T) *stage {
	t.Helper()
	all, err := script.LoadFS(scripts.FS)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(all, "")
	st := &stage{t: t, dir: t.TempDir(), rig: &rig{server: s, http: httptest.NewServer(s.handler())}}
	t.Cleanup(st.http.Close)
	return st
}

// Append, Settle and SettleLater make it a journal that forgets nothing and never refuses.
func (s *stage) Append(_ context.Context, t *turn.Turn) error {
	s.turns = append(s.turns, t)
	return nil
}

func (s *stage) Settle(context.Context, *turn.Turn) error { return nil }

func (s *stage) SettleLater(*turn.Turn) func(context.Context) error {
	return func(context.Context) error { return nil }
}

// Call runs a bash call as a sandbox does, as far as the scripts can tell.
func (s *stage) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	var args toolapi.BashArgs
	if err := json.Unmarshal(c.Arguments, &args); err != nil || c.Tool != toolapi.ToolBash {
		return toolapi.Result{}, fmt.Errorf("call %+v: %w", c, err)
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", args.Command)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if len(out) > int(c.MaxOutputBytes) {
		out = bytes.Join([][]byte{out[:c.MaxOutputBytes/2], out[len(out)-int(c.MaxOutputBytes)/2:]}, nil)
	}
	r := toolapi.Result{OK: err == nil, Output: string(out), Provenance: toolapi.ProvenanceInternal}
	if err != nil {
		r.ErrorCode = fmt.Sprintf("exit_%d", cmd.ProcessState.ExitCode())
	}
	return r, nil
}

// play carries out one attempt with the named script.
func (s *stage) play(name string, change func(*config.Config)) outcome.Outcome {
	s.t.Helper()
	model, err := openai.New(openai.Endpoint{BaseURL: s.http.URL + "/v1", Model: "scripted/" + name}, openai.Options{
		HTTPClient: s.http.Client(), InitialBackoff: time.Millisecond, MaxRetryAfter: time.Millisecond,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := config.Config{
		Attempt: 1,
		Task:    fmt.Sprintf("Play your part as %s-1. counter=%s sleep=0.01 wait=0.01", name, strings.TrimPrefix(s.http.URL, "http://")),
		Tools:   []string{toolapi.ToolBash}, MaxIterations: 20,
	}
	if change != nil {
		change(&cfg)
	}
	s.turns = nil
	out, err := (&motorloop.Loop{Config: cfg, Model: model, Tools: s, Journal: s, HintModel: model}).Run(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// wantKinds fails unless the model was asked that often for each kind of answer, and always had one.
func (s *stage) wantKinds(want map[string]int) {
	s.t.Helper()
	got := map[string]int{}
	for _, e := range s.entries(s.t) {
		got[e.Kind]++
		if e.Status != 200 && e.Fault == "" {
			s.t.Errorf("entry %+v", e)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the model was asked for %v, want %v", got, want)
	}
}

func fifty(cfg *config.Config) { cfg.MaxIterations = 50 }

func TestScriptsWithEffects(t *testing.T) {
	ids := func(name string, parts ...string) string {
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(name + "-1.a1." + p + "\n")
		}
		return all.String()
	}
	ten := make([]string, 10)
	for i := range ten {
		ten[i] = fmt.Sprintf("t%d", i)
	}
	for name, tc := range map[string]struct {
		effects, says string
		kinds         map[string]int
	}{
		"effects": {ids("effects", ten...), "", map[string]int{"turn": 12}},
		"long":    {ids("long", "t0.begin", "t0.end"), "", map[string]int{"turn": 3}},
		"crash":   {ids("crash", "t0"), "The call said: survived\n", map[string]int{"turn": 3}},
		"unknown": {ids("unknown", "t0.first", "t0.second", "t0.third"), "The second call said: survived\n", map[string]int{"turn": 3}},
		"modelfaults": {
			ids("modelfaults", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7.one", "t7.two"), "", map[string]int{"turn": 10 + 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if name != "modelfaults" { // Its slow answer is waited for.
				s.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
			}
			out := s.play(name, nil)
			if want := strings.TrimSpace(tc.says + tc.effects); out.Kind != outcome.Completed || strings.TrimSpace(out.Summary) != want {
				t.Errorf("%+v, want %q", out, want)
			}
			var order strings.Builder
			for _, e := range s.effectList(t, "").Order {
				order.WriteString(e.ID + "\n")
			}
			if order.String() != tc.effects {
				t.Errorf("counted %q", order.String())
			}
			s.wantKinds(tc.kinds)
		})
	}
}

func TestLongScripts(t *testing.T) {
	for name, says := range map[string]string{"fifty": "I printed 490 MB.", "compact": "I know of the rest: [summary of my first"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			out := s.play(name, fifty)
			if out.Kind != outcome.Completed || !strings.HasPrefix(out.Summary, says) {
				t.Errorf("%+v", out)
			}
			turns, summaries, refused := 0, 0, 0
			for _, e := range s.entries(t) {
				switch e.Kind {
				case "turn":
					turns++
				case "summary":
					summaries++
				}
				switch {
				case e.Status == 400 && name == "compact":
					refused++
				case e.Status != 200 || e.PromptTokens > 16<<10 && name == "compact" || e.PromptTokens > 128<<10:
					t.Errorf("entry %+v", e)
				}
			}
			// What the script fifty prints is shortened, and that is enough. The endpoint says once how much fits.
			// The end is a turn of the loop's own.
			if turns != 50 || (summaries > 0) != (name == "compact") || turns+summaries+1 != len(s.turns) || refused > 1 {
				t.Errorf("%d turns, %d summaries, %d in the journal, refused %d times", turns, summaries, len(s.turns), refused)
			}
		})
	}
}

func TestEndlessScript(t *testing.T) {
	s := newStage(t)
	out := s.play("endless", nil)
	if out.Kind != outcome.Failed || out.Failure.Reason != outcome.ReasonMaxIterations || !strings.HasPrefix(out.Partial, "After 20 answers") || out.Hint == "" {
		t.Errorf("%+v %+v", out, out.Failure)
	}
	s.wantKinds(map[string]int{"turn": 20, "partial": 1, "hint": 1})
}

func TestFailingScript(t *testing.T) {
	s := newStage(t)
	out := s.play("fails", nil)
	if out.Kind != outcome.Failed || out.Failure.Reason != outcome.ReasonStuck || out.Hint == "" {
		t.Fatalf("%+v %+v", out, out.Failure)
	}
	s.wantKinds(map[string]int{"turn": 4, "hint": 1})
	out = s.play("fails", func(cfg *config.Config) {
		cfg.Attempt, cfg.RecoveryContext = 2, "Attempt 1 failed.\nThe person says:\nMake the file first."
	})
	if out.Kind != outcome.Completed || out.Summary != "It worked. I was told: Make the file first." {
		t.Errorf("%+v", out)
	}
}
