// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// isKey reports whether the text may be an idempotency key. It becomes the value of a variable and of a header.
func isKey(key string) bool {
	return len(key) <= toolapi.MaxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

// once runs a call whose effect has a name at most once: it looks first whether the same tool has brought that effect
// about already.
func (s *Server) once(ctx context.Context, c *ledger.Call, req toolapi.Call) toolapi.Result {
	for c.Key != "" {
		before, state, err := s.ledger.Before(c)
		if err != nil {
			return tool.Failure(toolapi.CodeInternal, "What the tool server knows of the call %s before it cannot be read.", before)
		}
		switch state.Phase {
		case toolapi.CallAbsent:
			return s.execute(ctx, req)
		case toolapi.CallUnknown:
			if s.ledger.LeftRunning(before) {
				return tool.Failure(toolapi.CodeStillRunning, "The call %s has the same idempotencyKey, and what it started in the background still runs. "+
					"So this one was not made. Wait for its end; for another effect give another idempotencyKey.", before)
			}
			return tool.Failure(toolapi.CodeOutcomeUnknown, "The call %s has the same idempotencyKey, and its outcome is unknown: it may have done all of "+
				"its work, a part, or nothing. So this one was not made. Find out whether the effect is there before you decide what to do. "+
				"If it is not, make a call with other arguments and with another idempotencyKey: the key alone makes it no other call.", before)
		case toolapi.CallFinished:
			t, _ := s.toolOf(req.Tool)
			return alreadyDone(before, *state.Result, outputLimit(t, req))
		case toolapi.CallRunning:
		}
		select {
		case <-s.ledger.Find(before).Done:
		case <-ctx.Done():
			return tool.Interrupted(ctx, "before it started")
		}
	}
	return s.execute(ctx, req)
}

// alreadyDone makes the result of a call of that of the one before it. It is no success: this call did nothing.
func alreadyDone(before string, result toolapi.Result, limit int) toolapi.Result {
	data, notes := result.Parts()
	result.SetParts(plaintext.Bound(toolapi.AlreadyDoneText(before)+data, limit-len(notes)-1), notes)
	result.OK, result.ErrorCode, result.DurationMs = false, toolapi.CodeAlreadyDone, 0
	return result
}
