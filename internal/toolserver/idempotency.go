// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// madeAgain finds the ids of calls that somebody has had made again, knowing that nobody saw the first one end.
var madeAgain = regexp.MustCompile(`-r[1-9][0-9]*$`)

// isKey says whether the text may be an idempotency key. It becomes the value of a variable and of a header.
func isKey(key string) bool {
	return len(key) <= toolapi.MaxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

// once runs a call whose effect has a name at most once: it looks first whether the same tool has brought that effect
// about already.
func (s *Server) once(ctx context.Context, c *call, req toolapi.Call) toolapi.Result {
	for c.key != "" {
		before, state, err := s.ledger.before(c)
		if err != nil {
			return tool.Failure(toolapi.CodeInternal, "What the tool server knows of the call %s before it cannot be read.", before)
		}
		switch state.Phase {
		case toolapi.CallAbsent:
			return s.execute(ctx, req)
		case toolapi.CallUnknown:
			if s.ledger.leftRunning(before) {
				return tool.Failure(toolapi.CodeStillRunning, "The call %s has the same idempotencyKey, and what it started in the background still runs. "+
					"So this one was not made. Wait for its end; for another effect give another idempotencyKey.", before)
			}
			return tool.Failure(toolapi.CodeOutcomeUnknown, "The call %s has the same idempotencyKey, and nobody saw how it went: it may have done all of "+
				"its work, a part, or nothing. So this one was not made. Find out whether the effect is there before you decide what to do. "+
				"If it is not, make a call with other arguments and with another idempotencyKey: the key alone makes it no other call.", before)
		case toolapi.CallFinished:
			t, _ := s.toolOf(req.Tool)
			return alreadyDone(before, *state.Result, outputLimit(t, req))
		case toolapi.CallRunning:
		}
		select {
		case <-s.ledger.find(before).done:
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

// before finds the call that decides about the call c: of those of the same tool and key that began before it, the first one
// that succeeded; otherwise one that still runs; otherwise one whose outcome nobody knows, unless c is such a call made
// again. There is none if the phase is CallAbsent, and Result is set if it is CallFinished. What a call left in the background
// belongs to its effect: as long as that runs, the outcome is not known.
func (l *ledger) before(c *call) (id string, state toolapi.CallState, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[toolapi.CallPhase]*call{}
	for _, other := range l.calls {
		phase, fails := other.effect()
		fails = fails || phase == toolapi.CallUnknown && !other.isRunning() && madeAgain.MatchString(c.id)
		if other.order >= c.order || other.tool != c.tool || other.key != c.key || fails {
			continue
		}
		if first := found[phase]; first == nil || other.order < first.order {
			found[phase] = other
		}
	}
	for _, phase := range []toolapi.CallPhase{toolapi.CallFinished, toolapi.CallRunning, toolapi.CallUnknown} {
		if other := found[phase]; other != nil {
			state.Phase = phase
			if phase == toolapi.CallFinished {
				state.Result, err = l.resultOf(other)
			}
			return other.id, state, err
		}
	}
	state.Phase = toolapi.CallAbsent
	return "", state, nil
}
