// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// keyHex is the number of digits of a digest that replace a key which is not valid as it is.
	keyHex = 40
	// givenKey begins each key, for the program that gets it.
	givenKey = "user:"
)

// IdempotencyKey returns the model's key for the effect of a call that must not happen twice, "" if it set none. There is no default key: two equal
// calls may both be intended, as git push, git commit and git push are.
func IdempotencyKey(tool, arguments string) string {
	if tool != toolapi.ToolBash && tool != toolapi.ToolFetch {
		return ""
	}
	key, err := TextArgument(arguments, argIdempotencyKey)
	if err != nil || key == "" {
		return ""
	}
	return givenKey + plainKey(key)
}

// IsRisky reports whether a call that repeats one of unknown outcome must not be made as if nothing had been. A call is risky if a rule names it,
// or if it may have an irreversible effect outside of the sandbox. Calls that are harmless to repeat are not risky, nor are those that ask a
// person.
func IsRisky(run *v1alpha1.MotorRun, tool, arguments string) bool {
	if toolapi.Repeatable(tool) || toolapi.WaitsForPerson(tool) {
		return false
	}
	why, _ := Irreversible(run, tool, arguments)
	return why != "" || len(named(approvalRules(run), tool, arguments)) > 0
}

// plainKey makes a key fit for a header and for an environment variable.
func plainKey(key string) string {
	odd := strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' })
	if !odd && len(givenKey)+len(key) <= toolapi.MaxIdempotencyKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256-" + hex.EncodeToString(sum[:])[:keyHex]
}

// AlreadyDone returns a result for a call that must not be made, nil if the call is to be made. One case is that a call under the same key has
// succeeded before it, in any attempt. The other is that a call of unknown outcome may have had the same effect.
//
// The effect is the same if the tool and the key from the model are the same. For a call of unknown outcome it is also the same if both do the same
// under whatever key, and may do something irreversible: a key does not show that the effect is another one. The steps are in their order; those
// after the call do not count.
func AlreadyDone(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, callID, tool, arguments string) *toolapi.Result {
	key, digest := IdempotencyKey(tool, arguments), ""
	if hasUnknown(run, steps, callID, tool) && IsRisky(run, tool, arguments) {
		digest = effectDigest(tool, arguments)
	}
	if key == "" && digest == "" {
		return nil
	}
	current := attemptOf(steps, callID)
	var done, unknown *earlier
	for e := range before(steps, callID, tool) {
		sameKey := key != "" && IdempotencyKey(tool, e.call.Arguments) == key
		switch {
		case sameKey && done == nil && e.succeeded():
			done = e
		case unknown == nil && e.isUnknown(run, current) && (sameKey || digest != "" && e.sameEffect(tool, digest)):
			unknown = e
		}
	}
	return alreadyResult(done, unknown, current)
}

// sameEffect reports whether the call has the effect of the digest. A program that was lost in the background does not count: the model knows of
// the loss, and it restarts such a program, mostly a server, with the same words.
func (e *earlier) sameEffect(tool, digest string) bool {
	return programOf(e.step, e.call.ID) == nil && effectDigest(tool, e.call.Arguments) == digest
}

// effectDigest returns the digest of a call without the key of its effect. Arguments that cannot be read are their own effect.
func effectDigest(tool, arguments string) string {
	object, err := parseArguments(arguments)
	if err != nil || tool != toolapi.ToolBash && tool != toolapi.ToolFetch {
		return ArgsDigest(tool, arguments)
	}
	// The tools ignore case in the name of an argument.
	maps.DeleteFunc(object, func(name string, _ any) bool { return strings.EqualFold(name, argIdempotencyKey) })
	return ArgsDigest(tool, text.JSON(object))
}

// hasUnknown reports whether the tool has an earlier call of unknown outcome. Mostly it has none, and nothing has to be parsed then.
func hasUnknown(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, callID, tool string) bool {
	current := attemptOf(steps, callID)
	for e := range before(steps, callID, tool) {
		if e.isUnknown(run, current) {
			return true
		}
	}
	return false
}

// before returns the calls of a tool before a call.
func before(steps []v1alpha1.MotorStep, callID, tool string) iter.Seq[*earlier] {
	return func(yield func(*earlier) bool) {
		for i := range steps {
			s := &steps[i]
			for j := range s.Spec.ToolCalls {
				c := &s.Spec.ToolCalls[j]
				if c.ID == callID || c.Tool == tool && !yield(&earlier{until: steps[:i+1], step: s, call: c, result: ResultOf(s, c.ID)}) {
					return
				}
			}
		}
	}
}

// attemptOf returns the attempt that the call is of. A call that is not recorded yet is of the last one.
func attemptOf(steps []v1alpha1.MotorStep, callID string) int32 {
	var attempt int32
	for i := range steps {
		attempt = max(attempt, steps[i].Spec.Attempt)
		for j := range steps[i].Spec.ToolCalls {
			if steps[i].Spec.ToolCalls[j].ID == callID {
				return steps[i].Spec.Attempt
			}
		}
	}
	return attempt
}

// earlier is a call with the same effect.
type earlier struct {
	// until are the steps up to its own: later approvals do not apply to it.
	until  []v1alpha1.MotorStep
	step   *v1alpha1.MotorStep
	call   *v1alpha1.ToolCall
	result *v1alpha1.ToolResult
}

// succeeded reports whether the call has brought its effect about, including any program that it left in the background.
func (e *earlier) succeeded() bool {
	if e.result == nil || !e.result.OK {
		return false
	}
	p := programOf(e.step, e.call.ID)
	return p == nil || p.State == v1alpha1.ProgramSucceeded
}

// isUnknown reports whether the call may have brought the effect about, with an unknown outcome.
func (e *earlier) isUnknown(run *v1alpha1.MotorRun, current int32) bool {
	if p := programOf(e.step, e.call.ID); e.result != nil && p != nil {
		// The sandbox knows more about a program that ran when this attempt last looked.
		return p.State == v1alpha1.ProgramLost || p.State == v1alpha1.ProgramRunning && e.step.Spec.Attempt < current
	}
	if e.result != nil {
		return e.result.ErrorCode == toolapi.CodeOutcomeUnknown || e.result.ErrorCode == toolapi.CodeSkipped
	}
	return e.step.Spec.Attempt < current && e.mayHaveStarted(run)
}

// mayHaveStarted reports whether a call without a result may have been started: those before it were over, and if it needed
// approval it had it.
func (e *earlier) mayHaveStarted(run *v1alpha1.MotorRun) bool {
	if LastUnknown(e.step, e.call.ID) != nil {
		return true
	}
	for i := range e.step.Spec.ToolCalls {
		c := &e.step.Spec.ToolCalls[i]
		if c.ID == e.call.ID {
			break
		}
		if ResultOf(e.step, c.ID) == nil && !toolapi.WaitsForPerson(c.Tool) {
			return false
		}
	}
	if a := approvalOf(e.step, e.call.ID); a != nil {
		return a.Outcome == v1alpha1.AskApproved
	}
	return OpenRule(run, e.until, e.call.Tool, e.call.Arguments) == nil
}

// alreadyResult returns the model's result for a call that is not made.
func alreadyResult(done, unknown *earlier, current int32) *toolapi.Result {
	switch {
	case done != nil:
		r := done.result
		head := toolapi.AlreadyDoneText(done.call.ID)
		res := &toolapi.Result{
			ErrorCode: toolapi.CodeAlreadyDone, Output: head + text.CutBytes(r.Output, toolapi.MaxOutputBytes-len(head)),
			Provenance: toolapi.Provenance(r.Provenance),
		}
		if len(res.Output) == len(head)+len(r.Output) {
			res.NoteBytes = r.NoteBytes
		}
		if done.step.Spec.Attempt == current {
			// The workspace of another attempt is gone.
			res.OutputFile, res.KeptFile = r.OutputFile, r.KeptFile
		}
		return res
	case unknown != nil:
		return &toolapi.Result{
			ErrorCode: toolapi.CodeOutcomeUnknown,
			Output: fmt.Sprintf("The call %s was to have the same effect, and its end is unknown: it may have done all of its work, a part, or nothing. "+
				"This call was not made. Find out what became of that one. If it did nothing, make a call with other arguments, and with another "+
				"idempotencyKey if it has one.", unknown.call.ID),
			Provenance: toolapi.ProvenanceInternal,
		}
	}
	return nil
}
