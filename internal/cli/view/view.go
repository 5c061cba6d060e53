// SPDX-License-Identifier: Apache-2.0

// Package view has the verbs by which a person reads what runs did.
package view

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// Command has the dependencies of the verbs.
type Command struct {
	verb.Streams

	Connect cluster.Connect
}

// New are the verbs.
func New(c Command) []*cobra.Command {
	return []*cobra.Command{c.list(), c.get(), c.steps(), c.logs(), c.why(), c.artifacts()}
}

// subject is the run that a verb is about.
type subject struct {
	client client.WithWatch
	*v1alpha1.MotorRun
}

// ofRun completes a command that is about one run.
func (c Command) ofRun(cmd *cobra.Command, more ...string) *cobra.Command {
	cmd.Args = verb.Args(append([]string{"the name of the RUN"}, more...)...)
	cmd.ValidArgsFunction = complete.Runs(c.Connect, func(*v1alpha1.MotorRun) bool { return true })
	return cmd
}

func (c Command) find(ctx context.Context, name string) (subject, error) {
	cl, namespace, err := c.Connect()
	if err != nil {
		return subject{}, err
	}
	run, err := lookup.Run(ctx, cl, namespace, name)
	return subject{cl, run}, err
}

func (c Command) logs() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{
		Use: "logs RUN", Short: "Print what a run did, a line for each thing.",
		Long: `Print what a run did, a line for each thing: calls with their outcome, what it asked and who answered, and how it ended.

With -f it goes on until the run has ended, and ends with 0 if the run succeeded, 1 if not, 2 if it waits for a person when --timeout is over, 3 if it
does not wait then, and 5 if the cluster cannot be asked.`,
	})
	on := cmd.Flags().BoolP("follow", "f", false, "go on until the run has ended")
	var o follow.Options
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "follow for so long at most, as in 10m")
	cmd.Flags().BoolVar(&o.UntilAsked, "until-asked", false, "follow until the run waits for a person, and end with 2 then")
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		if !*on && (o.Timeout != 0 || o.UntilAsked) {
			return verb.Misusedf("--timeout and --until-asked go with --follow")
		}
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		p := follow.NewPrinter(c.Out, s.MotorRun)
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
