// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// partialTimeout and hintTimeout bound the two model calls at the end of an attempt. Neither call may stop a failed attempt
	// from failing.
	partialTimeout = 60 * time.Second
	hintTimeout    = 20 * time.Second
	// maxHint is in bytes, as such and as JSON.
	maxHint = 1024
)

// conclude adds the models' texts to a failure. It is called right before Run returns and records nothing. If the end is not recorded after
// it, both calls are made once more and no others. A failure that broke the sandbox, the endpoint or the journal never comes here.
func (r *run) conclude(ctx context.Context, out outcome.Outcome) (outcome.Outcome, error) {
	if out.Failure == nil {
		return out, nil
	}
	switch out.Failure.Reason {
	case outcome.ReasonNotFinished:
		out.Partial = text.Cut(text.Printable(r.turns[len(r.turns)-1].Content), verdict.MaxPartial, verdict.MaxPartial, "…")
	case outcome.ReasonAcceptanceFailed:
		out.Partial = text.Cut(text.Printable(verdict.LastClaim(r.turns)), verdict.MaxPartial, verdict.MaxPartial, "…")
	}
	if out.Failure.Reason == outcome.ReasonMaxIterations {
		said, err := r.askAside(ctx, &out, "partial result", r.model, conversation.PartialRequest(r.cfg, r.turns), partialTimeout)
		if err != nil {
			return outcome.Outcome{}, err
		}
		out.Partial = text.Cut(text.Printable(said), verdict.MaxPartial, verdict.MaxPartial, "…")
	}
	if r.hintModel != nil && out.Failure.Category != outcome.ModelFailure {
		said, err := r.askAside(ctx, &out, "hint", r.hintModel, conversation.HintRequest(r.cfg, r.turns, out.Failure), hintTimeout)
		if err != nil {
			return outcome.Outcome{}, err
		}
		out.Hint = text.Cut(strings.Join(strings.Fields(text.Printable(said)), " "), maxHint, maxHint, "…")
	}
	return out, nil
}

// askAside makes one model call for text that nothing depends on, "" if it cannot be had. The only error is that of ctx.
func (r *run) askAside(
	ctx context.Context, out *outcome.Outcome, what string, m chat.Model, req chat.Request, timeout time.Duration,
) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	cfg := r.cfg
	cfg.UsedTokens += out.Usage.Total()
	if verdict.MaxTokensFor(cfg, r.turns, req) != nil {
		return "", nil
	}
	askCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := r.now()
	a, err := m.Complete(askCtx, req)
	took := max(r.now().Sub(start), 0)
	a.Usage = a.Usage.Add(a.Failed).Add(chat.CostOf(err))
	if ctxErr := ctx.Err(); ctxErr != nil {
		return "", ctxErr
	}
	out.ModelDuration += took
	out.Usage = out.Usage.Add(record.BoundedUsage(a.Usage))
	r.log.LogAttrs(ctx, slog.LevelInfo, "model was asked about a failure",
		slog.String("for", what), slog.Bool("answered", err == nil && a.Content != ""), slog.Duration("took", took))
	if err != nil {
		// Nothing depends on the answer: the failure stands without the explanation.
		return "", nil
	}
	return a.Content, nil
}
