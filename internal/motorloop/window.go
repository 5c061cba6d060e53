// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// completeStep asks for the next step with as much of the conversation as fits. If the endpoint refuses a request for its length,
// completeStep repeats it with less.
func (r *run) completeStep(ctx context.Context) (chat.Answer, chat.Request, time.Duration, error) {
	var failed turn.Usage
	var refused *chat.TooLong
	asked := ""
	for level := 0; ; level++ {
		req := chat.Request{Messages: r.said.At(r.cfg, r.turns, level), Tools: r.cfg.Definitions(r.catalog)}
		same := refused != nil && chat.RequestDigest(req) == asked
		if level < conversation.MaxLevel && (!conversation.Fits(r.cfg, req) || same) {
			continue
		}
		if same {
			return chat.Answer{}, req, 0, refused
		}
		a, took, err := r.complete(ctx, req)
		a.Failed = a.Failed.Add(failed)
		long, ok := errors.AsType[*chat.TooLong](err)
		if !ok || level == conversation.MaxLevel {
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
