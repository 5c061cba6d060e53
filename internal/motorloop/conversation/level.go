// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// MaxLevel is how much shorter a conversation can be made; see At.
const MaxLevel = 3

// Fits reports whether a request leaves enough of the window for its answer.
func Fits(c config.Config, req chat.Request) bool {
	return c.Window <= 0 || chat.Tokens(req) <= c.Window*85/100
}

// At is Transcript, made shorter the higher the level: 1 cuts all old texts, 2 the newest results as well, and with 3 an
// own summary replaces all but the last turn.
func At(cfg config.Config, turns []*turn.Turn, level int) []chat.Message {
	v := viewOf(cfg, turns)
	if n := len(v.open); level > 0 && n > 0 {
		v.apply(v.cuttable())
		last := v.open[n-1]
		if level == MaxLevel && n > 1 {
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
	if level == MaxLevel {
		share /= 4
	}
	return max(share, 4*oldHead)
}
