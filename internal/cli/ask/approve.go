// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

func (c Command) approve() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "approve RUN", Short: "Approve the tool call that a run waits with.", Args: verb.Args("the name of the RUN"),
		Long: `Approve the tool call that a run waits with.

The call is shown as it will be made, with its digest. At a terminal you are asked for a yes. Elsewhere --yes stands for it, and --digest makes sure
that the call is the one that you have seen. What is sent is the digest that was shown: a run that asks for another call by then is not approved.`,
		Example: `  kubectl motor approve release
  kubectl motor approve release --yes --digest sha256:4be1…`,
	}, v1alpha1.InputApproval)
	yes := cmd.Flags().Bool("yes", false, "approve without being asked again")
	digest := cmd.Flags().String("digest", "", "approve only the call with this digest")
	wholeRun := cmd.Flags().Bool("run", false, "approve, until the run ends, every further call of the same tool by the same rule, too")
	reason := cmd.Flags().String("reason", "", "told to the model as your words")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), args[0], ch)
		if err != nil {
			return err
		}
		if s.Action == nil {
			return fmt.Errorf("%s does not say which call it waits with: the operator is of another version than this plugin", s.run.Name)
		}
		if err := c.showCall(cmd.Context(), s); err != nil {
			return err
		}
		if *yes && *digest == "" {
			return verb.Misusedf("--yes goes with --digest: by now the run may wait with another call than the one that you have seen")
		}
		if *digest != "" && *digest != s.Action.ArgsDigest {
			return fmt.Errorf("the call has the digest %s, and not %s: nothing was approved", s.Action.ArgsDigest, *digest)
		}
		r := v1alpha1.Response{Decision: v1alpha1.DecisionApproveOnce, Digest: s.Action.ArgsDigest, Reason: *reason}
		question := fmt.Sprintf("Approve this call of %s (%s)?", show.Line(s.Action.Tool, maxTitle), show.Size(s.Action.Arguments))
		if *wholeRun {
			if s.Action.Rule == "" {
				return fmt.Errorf("%s: only this call can be approved, no rule asked for it. Leave out --run", s.run.Name)
			}
			r.Decision = v1alpha1.DecisionApproveRun
			question = fmt.Sprintf("Approve this call, and until the run ends every call of %s by %s?", show.Line(s.Action.Tool, maxTitle), show.Line(s.Action.Rule, 4*maxTitle))
		}
		without := "there is no terminal to ask at: if that is the call that you approve, add --yes --digest " + s.Action.ArgsDigest
		if err := c.confirm(cmd.Context(), *yes, question, without); err != nil {
			return err
		}
		return c.send(cmd.Context(), s, r, "approved")
	}
	return cmd
}

// showCall prints the call whole, and checks that what it prints is what the digest is of.
func (c Command) showCall(ctx context.Context, s *subject) error {
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
	fmt.Fprintf(c.Err, "%s (run %s", whose, s.run.Name)
	fmt.Fprint(c.Err, show.Expiry(time.Now(), s.ExpirationTime))
	fmt.Fprintln(c.Err, "):")
	if whole {
		show.Call(c.Err, s.Action.Tool, arguments)
	} else {
		fmt.Fprintf(c.Err, "tool: %s\n", show.Line(s.Action.Tool, 4*maxTitle))
		show.Block(c.Err, "  | ", arguments)
	}
	if s.Action.Reason != "" {
		fmt.Fprintf(c.Err, "because of: %s\n", show.Line(s.Action.Reason, 8*maxTitle))
	}
	fmt.Fprintf(c.Err, "digest: %s\n", s.Action.ArgsDigest)
	return nil
}

// argumentsOfStep reads the arguments from the step that asked.
func (s *subject) argumentsOfStep(ctx context.Context) (string, error) {
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
