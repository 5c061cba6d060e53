// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

func (c Command) approve() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "approve [RUN]", Short: "Approve the tool call that a run waits with.", Args: verb.Args("the name of the RUN?"),
		Long: `Approve the tool call that a run waits with.

The call is shown as it will be made, with its digest. At a terminal you are asked for a yes. Elsewhere --yes stands for it, and --digest makes sure
that the call is the one that you have seen. What is sent is the digest that was shown: a run that asks for another call by then is not approved.`,
		Example: `  kubectl motor approve release
  kubectl motor approve                     # the only run of the namespace that waits for an approval
  kubectl motor approve release --yes --digest sha256:4be1…`,
	}, v1alpha1.InputApproval)
	yes := cmd.Flags().Bool("yes", false, "approve without being asked again")
	cmd.Flags().StringVar(&ch.digest, "digest", "", "approve only the call with this digest")
	wholeRun := cmd.Flags().Bool("run", false, "approve, until the run ends, every further call of the same tool by the same rule, too")
	reason := cmd.Flags().String("reason", "", "told to the model as your words")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		// Who may not approve need not look for a digest first. Where the right cannot be asked for, admission decides.
		if may, err := rights.Of(s.Client).Answer(cmd.Context(), s.Run, s.Kind); err == nil && !may {
			return fmt.Errorf("you may not approve calls of %s: have the ClusterRole %s bound to you in the namespace %s", s.Run.Name, asks.Role(s.Kind), s.Run.Namespace)
		}
		if err := s.Show(cmd.Context(), c.Err, time.Now()); err != nil {
			return err
		}
		if *yes && ch.digest == "" {
			return verb.Misusedf("--yes goes with --digest: by now the run may wait with another call than the one that you have seen")
		}
		if ch.digest != "" && ch.digest != s.Action.ArgsDigest {
			return fmt.Errorf("the call has the digest %s, and not %s: nothing was approved", s.Action.ArgsDigest, ch.digest)
		}
		r := v1alpha1.Response{Decision: v1alpha1.DecisionApproveOnce, Digest: s.Action.ArgsDigest, Reason: *reason}
		question := fmt.Sprintf("Approve this call of %s (%s)?", show.Line(s.Action.Tool, maxTitle), show.Size(s.Action.Arguments))
		if *wholeRun {
			if s.Action.Rule == "" {
				return fmt.Errorf("%s: only this call can be approved, no rule asked for it. Leave out --run", s.Run.Name)
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
