// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestLeftNote(t *testing.T) {
	t.Parallel()
	ok := &toolapi.Result{OK: true}
	plain := func(left turn.Left) *turn.Turn {
		return &turn.Turn{Calls: []turn.Call{{Tool: toolapi.ToolBash}}, Results: []*toolapi.Result{ok}, Left: left}
	}
	asked := func(res *toolapi.Result, asks ...turn.Ask) *turn.Turn {
		return &turn.Turn{Calls: []turn.Call{{Tool: toolapi.ToolAskUser}}, Results: []*toolapi.Result{res}, Asks: asks, Left: turn.Left{Time: 50 * time.Minute}}
	}
	cfg := config.Config{MaxIterations: 10, MaxTokens: 1000, TimeLimit: time.Hour}
	for name, tt := range map[string]struct {
		turn   *turn.Turn
		answer int32
		want   string
	}{
		"enough of all":         {plain(turn.Left{Time: time.Hour, Tokens: 999}), 1, ""},
		"half of the answers":   {plain(turn.Left{}), 5, ""},
		"less than half":        {plain(turn.Left{}), 6, "[left: 4 of 10 answers]"},
		"little time":           {plain(turn.Left{Time: 29 * time.Minute, Tokens: 900}), 1, "[left: 9 of 10 answers, 29 minutes, 900 of 1000 tokens]"},
		"few tokens":            {plain(turn.Left{Time: time.Hour, Tokens: 499}), 1, "[left: 9 of 10 answers, 60 minutes, 499 of 1000 tokens]"},
		"the last answer":       {plain(turn.Left{Time: time.Hour}), 9, "[your next answer is the last one: call finish in it, with what there is]"},
		"after the last answer": {plain(turn.Left{}), 10, ""},
		"a person replied":      {asked(ok, turn.Ask{Outcome: turn.AskAnswered}), 1, "[left: 9 of 10 answers, 50 minutes]"},
		"a person denied":       {asked(&toolapi.Result{ErrorCode: toolapi.CodeDomainDenied}, turn.Ask{Outcome: turn.AskDenied}), 1, "[left: 9 of 10 answers, 50 minutes]"},
		"no person was asked":   {asked(&toolapi.Result{ErrorCode: toolapi.CodeInvalidArguments}), 1, ""},
		"not settled":           {&turn.Turn{Calls: []turn.Call{{Tool: toolapi.ToolBash}}, Results: []*toolapi.Result{nil}}, 8, ""},
		"an idle answer":        {&turn.Turn{}, 8, "[left: 2 of 10 answers]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := leftNote(cfg, tt.turn, tt.answer); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := leftNote(config.Config{}, plain(turn.Left{}), 1); got != "" {
		t.Errorf("without limits: %q", got)
	}
}
