// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// CallOf returns a call of a step by its id, nil if there is none.
func CallOf(s *v1alpha1.MotorStep, id string) *v1alpha1.ToolCall {
	for i := range s.Spec.ToolCalls {
		if s.Spec.ToolCalls[i].ID == id {
			return &s.Spec.ToolCalls[i]
		}
	}
	return nil
}

// ResultOf returns the result of a call, nil for none.
func ResultOf(s *v1alpha1.MotorStep, callID string) *v1alpha1.ToolResult {
	for i := range s.Status.Results {
		if s.Status.Results[i].CallID == callID {
			return &s.Status.Results[i]
		}
	}
	return nil
}

// programOf returns the program that the last execution of a call left in the background, nil for none.
func programOf(s *v1alpha1.MotorStep, callID string) *v1alpha1.StepProgram {
	for i := range slices.Backward(s.Status.Background) {
		if s.Status.Background[i].CallID == callID {
			return &s.Status.Background[i]
		}
	}
	return nil
}

// approvalOf returns the last ask for approval of an execution of the call, nil if there is none.
func approvalOf(s *v1alpha1.MotorStep, callID string) *v1alpha1.StepAsk {
	asks := s.Status.Asks
	for i := range slices.Backward(asks) {
		if a := &asks[i]; a.Kind == v1alpha1.InputApproval && a.CallID == callID {
			return a
		}
	}
	return nil
}

// LastUnknown returns the last execution of the call whose end was not observed, nil if there is none.
func LastUnknown(s *v1alpha1.MotorStep, callID string) *v1alpha1.UnknownExecution {
	for i := range slices.Backward(s.Status.Unknown) {
		if s.Status.Unknown[i].CallID == callID {
			return &s.Status.Unknown[i]
		}
	}
	return nil
}

// idSuffix is the number of digits of its step's UID at the end of the id of an ask.
const idSuffix = 8

// AskID returns the id for responses to an ask of a kind about an execution of a call of the step. It ends with a part of the step's UID, which the
// API server draws, so that it cannot be answered before it was asked.
func AskID(s *v1alpha1.MotorStep, kind v1alpha1.InputKind, execution string) string {
	if kind == v1alpha1.InputApproval {
		// The same execution may be asked about once more, when its outcome is unknown.
		execution += "-approval"
	}
	uid := strings.ReplaceAll(string(s.UID), "-", "")
	return execution + "-" + uid[:min(len(uid), idSuffix)]
}
