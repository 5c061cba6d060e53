// SPDX-License-Identifier: Apache-2.0

package reply

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// Call returns the arguments of the call that waits for approval, whole: out of the status, or out of the step if they are longer than the status
// holds. They are those that the digest of the ask is of. With an error, a person cannot see what they would approve.
func (s *Ask) Call(ctx context.Context) (arguments string, err error) {
	if s.Action == nil {
		return "", fmt.Errorf("%s does not say which call it waits with: the operator is of another version than this plugin", s.Run.Name)
	}
	if calls.ArgsDigest(s.Action.Tool, s.Action.Arguments) == s.Action.ArgsDigest {
		return s.Action.Arguments, nil
	}
	arguments, err = s.argumentsOfStep(ctx)
	if err != nil {
		return "", fmt.Errorf("the call is longer than the status of %s holds, and the step that has it whole cannot be read: nothing was approved. "+
			"Have the ClusterRole motorcortex-viewer bound to you in the namespace %s: %w", s.Run.Name, s.Run.Namespace, err)
	}
	if calls.ArgsDigest(s.Action.Tool, arguments) != s.Action.ArgsDigest {
		return "", fmt.Errorf("the call in the MotorStep %s has another digest than the one that %s asks to approve: nothing was approved", s.StepName, s.Run.Name)
	}
	return arguments, nil
}

// argumentsOfStep reads the arguments from the step that asked.
func (s *Ask) argumentsOfStep(ctx context.Context) (string, error) {
	step := &v1alpha1.MotorStep{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Run.Namespace, Name: s.StepName}, step); err != nil {
		return "", err
	}
	i := slices.IndexFunc(step.Status.Asks, func(a v1alpha1.StepAsk) bool { return a.ID == s.ID })
	if i < 0 {
		return "", fmt.Errorf("the MotorStep %s does not have the ask", s.StepName)
	}
	j := slices.IndexFunc(step.Spec.ToolCalls, func(t v1alpha1.ToolCall) bool { return t.ID == step.Status.Asks[i].CallID })
	if j < 0 {
		return "", fmt.Errorf("the MotorStep %s does not have the call", s.StepName)
	}
	return step.Spec.ToolCalls[j].Arguments, nil
}
