// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// CodeTooManyCalls is the error code of the calls of an answer after the first toolapi.MaxCalls.
const CodeTooManyCalls = "too_many_calls"

// CallID is the identity of call n (from 0) of step index (from 1) of an attempt (from 0). The sandbox runs an ID at
// most once, so it must be the same whenever the same turn is carried on.
func CallID(attempt, index int32, n int) string {
	return fmt.Sprintf("a%d-s%d-c%d", attempt, index, n)
}

// carryOut gives every call of the last turn a result, in order, and settles the turn; what a person must decide comes
// last. It returns the first call that waits for a person: one of unknown outcome, with which all after it wait, or a
// question or a request, when the other calls are settled.
func (r *run) carryOut(ctx context.Context) (*Call, error) {
	t := r.turns[len(r.turns)-1]
	changed := false
	for i := range t.Calls {
		if t.Results[i] != nil {
			continue
		}
		c := &t.Calls[i]
		res, waiting, err := r.serve(ctx, t, i)
		switch {
		case err != nil:
			return nil, r.abandon(ctx, t, changed, err)
		case waiting != nil:
			return waiting, r.settleIf(ctx, changed, t)
		case res == nil:
			continue
		}
		t.Results[i] = res
		changed = true
		r.log.LogAttrs(ctx, slog.LevelInfo, "tool call ended",
			slog.String("call", c.ID), slog.String("tool", c.Tool), slog.Bool("ok", res.OK),
			slog.String("code", res.ErrorCode), slog.Int64("ms", res.DurationMs))
	}
	waiting, answered := answerQuestions(t, r.answers)
	return waiting, r.settleIf(ctx, changed || answered, t)
}

// serve gives call i of the turn its result, by whoever serves its tool, or the call as a person is asked about its
// unknown outcome. Neither means that it waits until everything else of the turn is done.
func (r *run) serve(ctx context.Context, t *Turn, i int) (res *toolapi.Result, waiting *Call, err error) {
	c := &t.Calls[i]
	if res := r.refuse(i); res != nil {
		return res, nil, nil
	}
	switch c.Tool {
	case toolapi.ToolAskUser:
		return nil, nil, nil
	case toolapi.ToolRequestDomain:
		return r.requestDomain(t, c), nil, nil
	case toolapi.ToolSaveCredential:
		res, err := r.saveCredential(ctx, t, c)
		return res, nil, err
	default:
		return r.bringToEnd(ctx, t, c)
	}
}

func (r *run) settleIf(ctx context.Context, changed bool, t *Turn) error {
	if !changed {
		return nil
	}
	return r.journal.Settle(ctx, t)
}

// bringToEnd executes a call until it has a result, which is more than once only if it may be, or until a person must
// be asked.
func (r *run) bringToEnd(ctx context.Context, t *Turn, c *Call) (*toolapi.Result, *Call, error) {
	for {
		next := r.prospect(t, c)
		if next.result != nil || next.waiting != nil {
			return next.result, next.waiting, nil
		}
		res, err := r.execute(ctx, t, c, next.execution)
		if err != nil || res.ErrorCode != toolapi.CodeOutcomeUnknown {
			return res, nil, err
		}
		if err := r.foundUnknown(ctx, t, c, next.execution); err != nil {
			return nil, nil, err
		}
	}
}

// execute runs one call in the sandbox under the given id.
func (r *run) execute(ctx context.Context, t *Turn, c *Call, id string) (*toolapi.Result, error) {
	if err := r.gate.wait(ctx); err != nil {
		return nil, err
	}
	res, err := r.tools.Call(ctx, toolapi.Call{
		ID:             id,
		Tool:           c.Tool,
		Arguments:      json.RawMessage(objectOrEmpty(c.Arguments)),
		MaxOutputBytes: int32(maxOutput(t, c.Tool)),
	})
	if err != nil {
		return nil, err
	}
	if len(r.cfg.Domains) > 0 && toolapi.CarriesWeb(c.Tool, res.OK) {
		// The sandbox says so too, but it is not for the sandbox to say that its output can be trusted.
		res.Provenance = toolapi.ProvenanceWeb
	}
	return cleanResult(res, outputShare(t)), nil
}

// abandonTimeout bounds how long a loop that is told to end takes to keep what it knows.
const abandonTimeout = time.Second

// abandon keeps the results of the calls before the one that ended the loop. The sandbox may be gone, and with it who else
// knows them: a person would be asked about calls whose end was seen, and the record of a failed attempt would lack the
// very calls that led to the failure.
func (r *run) abandon(ctx context.Context, t *Turn, changed bool, cause error) error {
	if !changed || errors.Is(cause, ErrStale) {
		return cause
	}
	_, failed := errors.AsType[*Failure](cause)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
		defer cancel()
		failed = false
	}
	if err := r.journal.Settle(ctx, t); err != nil && failed {
		return err
	}
	return cause
}

// refuse gives the envelope of call i of the last turn if it must not be carried out, or nil. It depends on the recorded
// turns, the grant and the answers only, so a loop that goes on after a restart refuses the same calls.
func (r *run) refuse(i int) *toolapi.Result {
	t := r.turns[len(r.turns)-1]
	c := &t.Calls[i]
	offered := r.catalog.offered(r.cfg.granted())
	switch {
	case i >= toolapi.MaxCalls:
		return refusal(CodeTooManyCalls, fmt.Sprintf(
			"only the first %d calls of an answer are carried out: make this one again in your next answer", toolapi.MaxCalls))
	case strings.HasSuffix(c.Arguments, argumentsCutMark):
		return refusal(toolapi.CodeTooLarge, fmt.Sprintf(
			"the arguments of one call may have %d bytes, those of all calls of an answer together not much more: "+
				"split the work, for example by several write calls with append", toolapi.MaxArgumentsBytes))
	case !r.catalog.knows(c.Tool):
		return refusal(toolapi.CodeUnknownTool, fmt.Sprintf(
			"there is no tool %q: the tools are %s", c.Tool, strings.Join(offered, ", ")))
	case !slices.Contains(offered, c.Tool):
		return refusal(toolapi.CodeToolNotGranted, fmt.Sprintf(
			"this run was not granted the tool %q: the tools are %s", c.Tool, strings.Join(offered, ", ")))
	}
	if err := r.checkArguments(c); err != nil {
		msg := err.Error()
		if strings.HasSuffix(t.Content, truncatedMark) {
			msg += "; your answer was cut off at your output limit, so make it shorter"
		}
		return refusal(toolapi.CodeInvalidArguments, msg)
	}
	if repeats(r.turns, len(r.turns)-1, i) && !r.decided(c) {
		return refusal(CodeRepeatedCall, repeatedText)
	}
	return nil
}

// checkArguments says what is wrong with the arguments of a call. Of those of the calls that a person decides the schema
// only words it better: whether there is anything to be decided is found out where the controller finds it out too.
func (r *run) checkArguments(c *Call) error {
	err := r.catalog.ValidateArguments(c.Tool, c.Arguments)
	var notAsked error
	switch c.Tool {
	case toolapi.ToolAskUser:
		_, notAsked = ParseQuestion(*c)
	case toolapi.ToolRequestDomain:
		notAsked = r.notRequested(c)
	default:
		return err
	}
	if notAsked != nil && err != nil {
		return err
	}
	return notAsked
}

func refusal(code, message string) *toolapi.Result {
	return &toolapi.Result{ErrorCode: code, Output: message, Provenance: toolapi.ProvenanceInternal}
}

// maxDurationMs is more than any call may take. Durations are added up, and a sum of absurd ones would overflow.
const maxDurationMs = 24 * 60 * 60 * 1000

var errorCodePattern = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// cleanResult makes a result of the sandbox fit to be recorded and shown. The sandbox is hostile: a result that says
// it comes from the user, or whose error code is a sentence, or that is larger than was asked for, is put right here.
func cleanResult(res toolapi.Result, share int) *toolapi.Result {
	res.Output = cut(strings.ToValidUTF8(res.Output, "\uFFFD"), toolapi.MaxOutputBytes, share, outputCutMark)
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
	if encodedLen(res.OutputFile) > maxOutputFile || strings.ContainsFunc(res.OutputFile, isControl) {
		res.OutputFile = ""
	}
	res.DurationMs = min(max(res.DurationMs, 0), maxDurationMs)
	return &res
}
