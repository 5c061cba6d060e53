// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Refusal is the result of a call that is not made.
func Refusal(code, message string) *toolapi.Result {
	return &toolapi.Result{ErrorCode: code, Output: message, Provenance: toolapi.ProvenanceInternal}
}

// MaxOutputFile is the most bytes of the name of a file with an output.
const MaxOutputFile = 256

// maxDurationMs is more than any call may take. Durations are added up, and a sum of absurd ones would overflow.
const maxDurationMs = 24 * 60 * 60 * 1000

var errorCodePattern = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// Clean makes a result of the sandbox fit to be recorded and shown. The sandbox is hostile. Clean corrects a result that claims
// to come from the user, whose error code is a sentence, or that is larger than requested.
func Clean(res toolapi.Result, share int) *toolapi.Result {
	data, notes := res.Parts()
	if text.EncodedLen(notes) > share/2 {
		data, notes = res.Output, ""
	}
	room, encoded := toolapi.MaxOutputBytes, share
	if notes != "" { // They begin with a new line.
		room, encoded = room-len(notes)-1, encoded-text.EncodedLen(notes)-2
	}
	whole := strings.ToValidUTF8(data, "\uFFFD")
	if output := text.Cut(whole, room, encoded, turn.OutputCutMark); output != whole {
		res = *cutShort(&res)
		whole = output
	}
	res.SetParts(whole, notes)
	if res.Provenance != toolapi.ProvenanceWeb {
		res.Provenance = toolapi.ProvenanceInternal
	}
	switch {
	case res.OK:
		res.ErrorCode, res.Retryable = "", false
	case !errorCodePattern.MatchString(res.ErrorCode):
		res.ErrorCode = toolapi.CodeInternal
	}
	res.OutputFile = strings.ToValidUTF8(res.OutputFile, "\uFFFD")
	if text.EncodedLen(res.OutputFile) > MaxOutputFile || strings.ContainsFunc(res.OutputFile, isControl) {
		res.OutputFile = ""
	}
	res.DurationMs = min(max(res.DurationMs, 0), maxDurationMs)
	return &res
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

// cutShort returns a copy of a result whose output will be cut. The copy names the file with the whole output, if there is one.
func cutShort(res *toolapi.Result) *toolapi.Result {
	short := *res
	short.OutputFile, short.KeptFile = cmp.Or(res.OutputFile, res.KeptFile), ""
	return &short
}

// EndedFromOutside reports whether a call was ended by something other than itself, so that its result proves nothing.
func EndedFromOutside(res *toolapi.Result) bool {
	return res.ErrorCode == toolapi.CodeOutcomeUnknown || res.ErrorCode == toolapi.CodeCancelled
}

// WithReason is the result of a person's decision, with the person's reason: the reason is an instruction, word for word. The text of the
// code and the output before it end with lead.
func WithReason(res *toolapi.Result, lead, reason string, share int) *toolapi.Result {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	if strings.TrimSpace(reason) == "" {
		return res
	}
	res.Output = text.Cut(res.Output+lead+reason, toolapi.MaxOutputBytes, share, turn.OutputCutMark)
	res.Provenance = toolapi.ProvenanceUser
	return res
}
