// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
)

// A note about the remaining limits never changes, also if another loop continues at another time and knows other sums.
func TestWhatIsLeftIsToldOnce(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	now := start
	w := newWorld(t, config.Config{MaxIterations: 4, Deadline: start.Add(time.Hour), TimeLimit: time.Hour, MaxTokens: 100_000}, nil,
		says("", bash("a")), says("", bash("b")), says("", bash("c")), says("done"))
	w.loop.Now = func() time.Time { now = now.Add(10 * time.Minute); return now }
	mustRun(t, w, nil)
	turns := w.journal.load()
	if left := turns[2].Left; left.Time <= 0 || left.Tokens <= 0 {
		t.Fatalf("recorded: %+v", left)
	}
	cfg := w.loop.Config
	told := conversation.Transcript(cfg, turns)
	cfg.Deadline, cfg.UsedTokens = start.Add(9*time.Hour), 500
	for i, m := range conversation.Transcript(cfg, turns) {
		if m.Content != told[i].Content {
			t.Errorf("message %d was %q and is %q", i, told[i].Content, m.Content)
		}
	}
	last := told[len(told)-2].Content
	if !strings.HasSuffix(last, "[your next answer is the last one: call finish in it, with what there is]") {
		t.Errorf("before the last answer: %q", last)
	}
}
