// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"log/slog"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// againSuffix makes the id of the second try of an execution. The sandbox stores the results of both, so a loop that resumes after a
// restart reaches the same one.
const againSuffix = "-t"

// onceMore repeats a read-only call once if its failure may pass. The model would do the same, at the price of an answer. The second result
// counts, unless its end was not seen.
func (r *run) onceMore(
	ctx context.Context, c *turn.Call, first *toolapi.Result, repeat func() (*toolapi.Result, error),
) (*toolapi.Result, error) {
	if first == nil || first.OK || !first.Retryable || !catalog.OnlyReads(c.Tool) {
		return first, nil
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "a call that only reads is made once more", slog.String("call", c.ID), slog.String("tool", c.Tool),
		slog.String("code", first.ErrorCode))
	second, err := repeat()
	if err == nil && second.ErrorCode == toolapi.CodeOutcomeUnknown {
		return first, nil
	}
	return second, err
}
