// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// keyHex is how many digits of a digest a key has.
	keyHex = 40
	// givenKey begins a key that the model gave, digestKey one that comes from the call itself.
	givenKey  = "user:"
	digestKey = "call:"
)

// IdempotencyKey names the effect of a call that must not happen twice, "" for any other call. It is the key that the model
// gave, or comes from the digest of the call if it is known to be irreversible or if a rule of spec.approval names just
// such a call. There is none for a call that only may be irreversible, because nobody can tell what it runs: the model
// would get an old result where it wants to look again. For the same reason there is none for tools that may be used
// twice without harm, nor for tools of MCP servers that no rule names by their own name: they have no argument for a key.
func IdempotencyKey(run *v1alpha1.MotorRun, tool, arguments string) string {
	if key := keyOf(tool, arguments); key != "" {
		return key
	}
	if toolapi.Repeatable(tool) || toolapi.WaitsForPerson(tool) {
		return ""
	}
	f := named(approvalRules(run), tool, arguments)
	if f == nil || !f.certain {
		f = irreversible(run, tool, arguments)
	}
	if f == nil || !f.certain {
		return ""
	}
	return digestKeyOf(tool, arguments)
}

// keyOf is the key that the model gave, "" if it gave none.
func keyOf(tool, arguments string) string {
	if tool != toolapi.ToolBash && tool != toolapi.ToolFetch {
		return ""
	}
	key, err := textArgument(arguments, argIdempotencyKey)
	if err != nil || key == "" {
		return ""
	}
	return givenKey + plainKey(key)
}

// digestKeyOf is the key that comes from a call.
func digestKeyOf(tool, arguments string) string {
	return digestKey + strings.TrimPrefix(ArgsDigest(tool, arguments), "sha256:")[:keyHex]
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

// AlreadyDone gives a result for a call whose effect was brought about by a call before it, in any attempt, or may have
// been; nil if it was not as far as the steps know. The effect is the same if tool and key are. The steps are in their order;
// what comes after the call does not count.
func AlreadyDone(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, callID, tool, arguments string) *toolapi.Result {
	key := IdempotencyKey(run, tool, arguments)
	if key == "" {
		return nil
	}
	// Two calls with the same digest have the same key: the rules do not change.
	has := digestKeyOf
	if strings.HasPrefix(key, givenKey) {
		has = keyOf
	}
	current := attemptOf(steps, callID)
	var done, unknown *earlier
	for i := range steps {
		s := &steps[i]
		for j := range s.Spec.ToolCalls {
			c := &s.Spec.ToolCalls[j]
			if c.ID == callID {
				return alreadyResult(done, unknown, current)
			}
			if c.Tool != tool || has(c.Tool, c.Arguments) != key {
				continue
			}
			e := &earlier{step: s, call: c, result: resultOf(s, c.ID)}
			switch {
			case done == nil && e.succeeded():
				done = e
			case unknown == nil && e.isUnknown(run, current):
				unknown = e
			}
		}
	}
	return alreadyResult(done, unknown, current)
}

// attemptOf is the attempt that the call is of. A call that is not recorded yet is of the last one.
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
	step   *v1alpha1.MotorStep
	call   *v1alpha1.ToolCall
	result *v1alpha1.ToolResult
}

func (e *earlier) succeeded() bool { return e.result != nil && e.result.OK }

// isUnknown says whether the call may have brought the effect about, and nobody can tell.
func (e *earlier) isUnknown(run *v1alpha1.MotorRun, current int32) bool {
	if e.result != nil {
		return e.result.ErrorCode == toolapi.CodeOutcomeUnknown || e.result.ErrorCode == toolapi.CodeSkipped
	}
	return e.step.Spec.Attempt < current && e.mayHaveStarted(run)
}

// mayHaveStarted says whether a call without a result may have been started: those before it were over, and if it needed
// approval it had it.
func (e *earlier) mayHaveStarted(run *v1alpha1.MotorRun) bool {
	if lastUnknown(e.step, e.call.ID) != nil {
		return true
	}
	for i := range e.step.Spec.ToolCalls {
		c := &e.step.Spec.ToolCalls[i]
		if c.ID == e.call.ID {
			break
		}
		if resultOf(e.step, c.ID) == nil && !toolapi.WaitsForPerson(c.Tool) {
			return false
		}
	}
	if a := approvalOf(e.step, e.call.ID); a != nil {
		return a.Outcome == v1alpha1.ApprovalApproved
	}
	return ApprovalReason(run, e.call.Tool, e.call.Arguments) == ""
}

// alreadyResult is what the model is told of a call that is not made.
func alreadyResult(done, unknown *earlier, current int32) *toolapi.Result {
	switch {
	case done != nil:
		r := done.result
		other := "another idempotencyKey"
		if toolapi.IsMCPTool(done.call.Tool) {
			other = "other arguments"
		}
		head := fmt.Sprintf("(already done by call %s; not made again. For another effect give %s.)\n", done.call.ID, other)
		res := &toolapi.Result{
			OK: true, Output: head + text.CutBytes(r.Output, toolapi.MaxOutputBytes-len(head)),
			Provenance: toolapi.Provenance(r.Provenance),
		}
		if done.step.Spec.Attempt == current {
			// The workspace of another attempt is gone.
			res.OutputFile = r.OutputFile
		}
		return res
	case unknown != nil:
		return &toolapi.Result{
			ErrorCode: toolapi.CodeOutcomeUnknown,
			Output: fmt.Sprintf("The call %s was to have the same effect, and nobody saw its end: it may have done all of its work, a part, or nothing. "+
				"This call was not made. Find out what became of that one. If it did nothing, make this call with another idempotencyKey, or other "+
				"arguments.", unknown.call.ID),
			Provenance: toolapi.ProvenanceInternal,
		}
	}
	return nil
}
