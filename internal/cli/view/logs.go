// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func (c Command) logs() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{
		Use: "logs RUN", Short: "Print what a run did, a line for each thing.",
		Long: `Print what a run did, a line for each thing: calls with their outcome, what it asked and who answered, and how it ended.

With -f it goes on until the run has ended, and ends with 0 if the run succeeded, 1 if not, 2 if it waits for a person when --timeout is over, 3 if it
does not wait then, and 5 if the cluster cannot be asked.

--attempt, --step and --tool choose lines, all of those given together. A call has its line when it has ended: until then the cluster has nothing of
its output. The end of the run is in no step, and with one of these flags the exit code alone tells of it. "kubectl motor steps" prints output.`,
		Example: `  kubectl motor logs portfolio
  kubectl motor logs portfolio -f --tool bash
  kubectl motor logs portfolio --attempt 2 --step 3 -o jsonl`,
	})
	on := cmd.Flags().BoolP("follow", "f", false, "go on until the run has ended")
	var o follow.Options
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "follow for so long at most, as in 10m")
	cmd.Flags().BoolVar(&o.UntilAsked, "until-asked", false, "follow until the run waits for a person, and end with 2 then")
	var only follow.Filter
	cmd.Flags().Int32Var(&only.Attempt, "attempt", 0, "only what happened in this attempt")
	cmd.Flags().Int32Var(&only.Step, "step", 0, "only what happened in the step with this number")
	cmd.Flags().StringVar(&only.Tool, "tool", "", "only calls of this tool, and what was asked about them")
	var format output.Format
	format.BindOnly(cmd, "jsonl: a JSON object for each event in a line", output.JSONL)
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		if !*on && (o.Timeout != 0 || o.UntilAsked) {
			return verb.Misusedf("--timeout and --until-asked go with --follow")
		}
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		p := follow.NewFormatter(c.Out, format, s.MotorRun)
		p.Only, p.Where = only, cluster.Selected(cmd)
		if *on {
			return follow.Run(cmd.Context(), s.client, p, s.MotorRun, o)
		}
		steps, err := lookup.Steps(cmd.Context(), s.client, s.MotorRun)
		if err != nil {
			return err
		}
		p.Steps(steps)
		p.Run(s.MotorRun)
		p.End()
		if s.Status.Archive != nil && len(steps) == 0 {
			fmt.Fprintf(c.Err, "note: its %d steps are in the archive, under the key %s\n", s.Status.Archive.Steps, s.Status.Archive.Key)
		}
		return nil
	})
	return cmd
}
