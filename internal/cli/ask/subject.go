// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/pending"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// Subject is an ask of a run.
type Subject struct {
	client client.Client
	run    *v1alpha1.MotorRun
	*v1alpha1.PendingInput
}

// Of is an ask of a run, for another place than a command in which a person answers.
func Of(c client.Client, run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) *Subject {
	return &Subject{c, run, p}
}

// Show prints what is asked, a call whole. It returns an error if the call cannot be shown, or is not the one that a decision
// would be about: then there must be none.
func (s *Subject) Show(ctx context.Context, w io.Writer, now time.Time) error {
	if s.Kind != v1alpha1.InputApproval {
		s.print(w, now)
		return nil
	}
	if s.Action == nil {
		return fmt.Errorf("%s does not say which call it waits with: the operator is of another version than this plugin", s.run.Name)
	}
	return s.showCall(ctx, w, now)
}

// print shows what is asked.
func (s *Subject) print(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "%s asks (%s)", s.run.Name, pending.Word(s.Kind))
	fmt.Fprint(w, show.Expiry(now, s.ExpirationTime))
	fmt.Fprintln(w, ":")
	show.Block(w, "  | ", s.Question)
	if s.Kind != v1alpha1.InputQuestion {
		return
	}
	for i, o := range s.Options {
		fmt.Fprintf(w, "  %d:\n", i+1)
		show.Block(w, "  | ", o)
	}
	if s.Default != "" {
		fmt.Fprintln(w, "  the model would choose:")
		show.Block(w, "  | ", s.Default)
	}
}

// showCall prints the call whole, and checks that what it prints is what the digest is of.
func (s *Subject) showCall(ctx context.Context, w io.Writer, now time.Time) error {
	arguments := s.Action.Arguments
	whole := calls.ArgsDigest(s.Action.Tool, arguments) == s.Action.ArgsDigest
	if !whole {
		if fromStep, err := s.argumentsOfStep(ctx); err != nil {
			return fmt.Errorf("the call is longer than the status of %s holds, and the step that has it whole cannot be read: nothing was approved. "+
				"Have the ClusterRole motorcortex-viewer bound to you in the namespace %s: %w", s.run.Name, s.run.Namespace, err)
		} else if whole = calls.ArgsDigest(s.Action.Tool, fromStep) == s.Action.ArgsDigest; whole {
			arguments = fromStep
		} else {
			return fmt.Errorf("the call in the MotorStep %s has another digest than the one that %s asks to approve: nothing was approved", s.StepName, s.run.Name)
		}
	}
	whose := "The model wants to make this call"
	if s.Action.Check {
		whose = "This call is a command of spec.accept"
	}
	fmt.Fprintf(w, "%s (run %s", whose, s.run.Name)
	fmt.Fprint(w, show.Expiry(now, s.ExpirationTime))
	fmt.Fprintln(w, "):")
	if whole {
		show.Call(w, s.Action.Tool, arguments)
	} else {
		fmt.Fprintf(w, "tool: %s\n", show.Line(s.Action.Tool, 4*maxTitle))
		show.Block(w, "  | ", arguments)
	}
	if s.Action.Reason != "" {
		fmt.Fprintf(w, "because of: %s\n", show.Line(s.Action.Reason, 8*maxTitle))
	}
	fmt.Fprintf(w, "digest: %s\n", s.Action.ArgsDigest)
	return nil
}

// argumentsOfStep reads the arguments from the step that asked.
func (s *Subject) argumentsOfStep(ctx context.Context) (string, error) {
	step := &v1alpha1.MotorStep{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: s.StepName}, step); err != nil {
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
