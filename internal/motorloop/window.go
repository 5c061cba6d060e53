// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

const (
	// maxShort is how much shorter a conversation can be made; see transcriptAt.
	maxShort = 3
)

// fits reports whether a request leaves enough of the window for its answer.
func fits(c config.Config, req chat.Request) bool {
	return c.Window <= 0 || chat.Tokens(req) <= c.Window*85/100
}

// transcriptAt is Transcript, made shorter the higher the level: 1 cuts all old texts, 2 the newest results as well, and with 3 an
// own summary replaces all but the last turn.
func transcriptAt(cfg config.Config, turns []*turn.Turn, level int) []chat.Message {
	v := viewOf(cfg, turns)
	if n := len(v.open); level > 0 && n > 0 {
		v.apply(v.cuttable())
		last := v.open[n-1]
		if level == maxShort && n > 1 {
			through := v.open[n-2].Index
			v.cover(&turn.Turn{Through: through, Content: ownSummary(turns, through, maxSummaryOf(cfg))})
		}
		if level > 1 {
			v.apply(v.cuttableIn(last, newestShare(cfg, level)/max(len(last.Calls), 1)))
		}
	}
	return v.messages()
}

// newestShare returns how many bytes the newest results may have together if not all of them fit.
func newestShare(cfg config.Config, level int) int {
	share := int(min(cfg.AnyWindow(), config.DefaultWindow)) / 2 // An eighth of the window: a token is about four bytes.
	if level == maxShort {
		share /= 4
	}
	return max(share, 4*oldHead)
}

// completeStep asks for the next step with as much of the conversation as fits. If the endpoint refuses a request for its length,
// completeStep repeats it with less.
func (r *run) completeStep(ctx context.Context) (chat.Answer, chat.Request, time.Duration, error) {
	var failed turn.Usage
	var refused *chat.TooLong
	asked := ""
	for level := 0; ; level++ {
		req := chat.Request{Messages: transcriptAt(r.cfg, r.turns, level), Tools: r.cfg.Definitions(r.catalog)}
		same := refused != nil && chat.RequestDigest(req) == asked
		if level < maxShort && (!fits(r.cfg, req) || same) {
			continue
		}
		if same {
			return chat.Answer{}, req, 0, refused
		}
		a, took, err := r.complete(ctx, req)
		a.Failed = a.Failed.Add(failed)
		long, ok := errors.AsType[*chat.TooLong](err)
		if !ok || level == maxShort {
			return a, req, took, err
		}
		failed, asked, refused = failed.Add(long.Usage), chat.RequestDigest(req), long
		r.learnWindow(long, req)
		r.log.LogAttrs(ctx, slog.LevelInfo, "the conversation does not fit into the model's window and is made shorter",
			slog.Int("level", level+1), slog.Int64("window", r.cfg.Window))
	}
}

// learnWindow adopts the window that the endpoint reports, or that its refusal implies.
func (r *run) learnWindow(long *chat.TooLong, req chat.Request) {
	window := long.Window
	if window <= 0 {
		window = chat.Tokens(req) * 9 / 10
	}
	if r.cfg.Window <= 0 || window < r.cfg.Window {
		r.cfg.Window = window
	}
}
