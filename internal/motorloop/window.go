// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	// defaultWindow is taken for the window of a model of which nothing is known: one that is smaller says so.
	defaultWindow = 128_000
	// bytesPerToken is about how much text a token is. It is used where the endpoint has not counted yet.
	bytesPerToken = 4
	// maxShort is how much shorter a conversation can be made; see transcriptAt.
	maxShort = 3
)

// crowds says whether the conversation up to and with the turn fills half of the window, by what the endpoint counted and what
// came after that.
func (c Config) crowds(t *Turn) bool {
	window := c.Window
	if window <= 0 {
		window = defaultWindow
	}
	grown := t.Usage.Total()
	for _, res := range t.Results {
		if res != nil {
			grown += int64(len(res.Output)) / bytesPerToken
		}
	}
	return !t.summary() && grown > window/2
}

// requestTokens is about how many tokens a request has.
func requestTokens(req Request) int64 {
	size := 0
	for _, m := range req.Messages {
		size += len(m.Content)
		for _, c := range m.Calls {
			size += len(c.Tool) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return int64(size) / bytesPerToken
}

// Estimated is about what a request and its answer took, for an endpoint that does not tell.
func Estimated(req Request, a Answer) Usage {
	size := len(a.Content)
	for _, c := range a.Calls {
		size += len(c.Tool) + len(c.Arguments)
	}
	return Usage{PromptTokens: requestTokens(req), CompletionTokens: int64(size) / bytesPerToken, Estimated: true}
}

// fits says whether a request leaves room in the window for its answer.
func (c Config) fits(req Request) bool {
	return c.Window <= 0 || requestTokens(req) <= c.Window*85/100
}

// transcriptAt is Transcript, made shorter the higher the level: 1 shortens what is old, 2 the newest results as well, and with 3 a summary
// of our own stands for all but the last turn.
func transcriptAt(cfg Config, turns []*Turn, level int) []Message {
	if level == 0 || len(turns) == 0 {
		return Transcript(cfg, turns)
	}
	msgs, open := opening(cfg, turns)
	last := len(turns) - 1
	if level == maxShort && last > 0 && !turns[last].summary() {
		own := &Turn{Index: turns[last].Index, Through: turns[last-1].Index, Content: ownSummary(turns, turns[last-1].Index)}
		msgs = append(msgs[:2], summaryMessages(turns, own)...)
		open = turns[last:]
	}
	open = shortenOld(open)
	if n := len(open); level > 1 && n > 0 {
		open[n-1] = shortenNewest(open[n-1], newestShare(cfg, level))
	}
	return append(msgs, conversation(open, warnings(cfg, turns))...)
}

// newestShare is how many bytes the newest results may have together where not all of them fit.
func newestShare(cfg Config, level int) int {
	window := cfg.Window
	if window <= 0 {
		window = defaultWindow
	}
	share := int(min(window, defaultWindow)) // A quarter of the window: a token is about four bytes.
	if level == maxShort {
		share /= 4
	}
	return max(share, oldTurn)
}

// shortenNewest gives the last turn with results that have so many bytes together.
func shortenNewest(t *Turn, share int) *Turn {
	t = cloneTurn(t)
	head := max(share/max(len(t.Calls), 1), oldHead)
	for i := range t.Calls {
		t.Calls[i].Arguments = shortenArguments(t.Calls[i].Arguments, head)
		if res := t.Results[i]; res != nil {
			t.Results[i] = shortenResult(res, head)
		}
	}
	return t
}

// completeStep asks for the next step with as much of the conversation as fits. An endpoint that refuses it for its length is asked
// again with less.
func (r *run) completeStep(ctx context.Context) (Answer, Request, time.Duration, error) {
	var failed Usage
	var refused *TooLong
	asked := ""
	for level := 0; ; level++ {
		req := Request{Messages: transcriptAt(r.cfg, r.turns, level), Tools: r.cfg.definitions(r.catalog)}
		same := refused != nil && RequestDigest(req) == asked
		if level < maxShort && (!r.cfg.fits(req) || same) {
			continue
		}
		if same {
			return Answer{}, req, 0, refused
		}
		a, took, err := r.complete(ctx, req)
		a.Failed = a.Failed.Add(failed)
		long, ok := errors.AsType[*TooLong](err)
		if !ok || level == maxShort {
			return a, req, took, err
		}
		failed, asked, refused = failed.Add(long.Usage), RequestDigest(req), long
		r.learnWindow(long, req)
		r.log.LogAttrs(ctx, slog.LevelInfo, "the conversation does not fit into the model's window and is made shorter",
			slog.Int("level", level+1), slog.Int64("window", r.cfg.Window))
	}
}

// learnWindow takes over how much fits, as the endpoint says or as its refusal shows.
func (r *run) learnWindow(long *TooLong, req Request) {
	window := long.Window
	if window <= 0 {
		window = requestTokens(req) * 9 / 10
	}
	if r.cfg.Window <= 0 || window < r.cfg.Window {
		r.cfg.Window = window
	}
}

// costOf is what tries cost that came to nothing.
func costOf(err error) Usage {
	if o, ok := errors.AsType[*Outage](err); ok {
		return o.Usage
	}
	if long, ok := errors.AsType[*TooLong](err); ok {
		return long.Usage
	}
	return Usage{}
}
