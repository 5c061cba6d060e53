// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// summarize asks the model for the summary of the turns up to the one with index through. It does not repeat the request if the answer is
// no summary, which would make two model calls for one record: it uses a summary of its own instead.
func (r *run) summarize(ctx context.Context, through int32) (*turn.Turn, error) {
	a, req, took, err := r.completeSummary(ctx, through)
	if err != nil {
		return nil, err
	}
	t := record.New(r.cfg, r.turns, chat.Answer{Model: a.Model, Usage: a.Usage, Failed: a.Failed})
	t.Through = through
	var byModel bool
	t.Content, byModel = conversation.SummaryOf(r.cfg, r.turns, through, a)
	stamp(t, req, took)
	r.log.LogAttrs(ctx, slog.LevelInfo, "older turns were summed up",
		slog.Int("step", int(t.Index)), slog.Int("through", int(through)), slog.Bool("byModel", byModel),
		slog.Int64("promptTokens", t.Usage.PromptTokens), slog.Int64("completionTokens", t.Usage.CompletionTokens),
		slog.Duration("took", took))
	return t, nil
}

// completeSummary asks once, and a second time with a record of the turns if the endpoint refuses the conversation for its length.
func (r *run) completeSummary(ctx context.Context, through int32) (chat.Answer, chat.Request, time.Duration, error) {
	req := conversation.SummaryRequest(r.cfg, r.turns, through)
	a, took, err := r.complete(ctx, req)
	long, refused := errors.AsType[*chat.TooLong](err)
	if !refused {
		return a, req, took, err
	}
	failed := long.Usage
	r.learnWindow(long, req)
	if short := conversation.RecordedSummaryRequest(r.cfg, r.turns, through); len(req.Tools) > 0 {
		req = short
		a, took, err = r.complete(ctx, req)
		if long, refused = errors.AsType[*chat.TooLong](err); !refused {
			a.Failed = a.Failed.Add(failed)
			return a, req, took, err
		}
		failed = failed.Add(long.Usage)
	}
	// The record of the turns is too long itself.
	return chat.Answer{Failed: failed}, req, took, nil
}
