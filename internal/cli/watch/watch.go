// SPDX-License-Identifier: Apache-2.0

// Package watch has the verb that shows a run as it happens, and reads the answers to what it asks.
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
)

// Command has the dependencies of the verb.
type Command struct {
	verb.Streams

	Connect cluster.Connect
	// Now is the time that the screen shows.
	Now func() time.Time
}

// New is the verb.
func New(c Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Show a run as it happens, and answer what it asks in place.", Args: verb.Args("the name of the RUN"),
		Long: `Show a run as it happens, and answer what it asks in place.

At a terminal it is a screen: what the run did, what it does now, its tokens and its time. When the run asks, Enter opens the ask. A call that needs
approval is shown whole, and can be approved once its end was on the screen. The answer is about what was shown: if the run asks something else by
then, nothing is sent. q and Ctrl-C leave the screen, and the run goes on.

Without a terminal, or with -o jsonl, it prints lines as "kubectl motor logs -f" does.

The exit code is 0 if the run succeeded, 1 if not, 2 if it waits for a person when you leave or --timeout is over, 3 if it does not wait then, and 5
if the cluster cannot be asked.`,
		Example: `  kubectl motor watch portfolio
  kubectl motor watch portfolio -o jsonl | jq .type`,
	}
	cmd.ValidArgsFunction = complete.Runs(c.Connect, func(run *v1alpha1.MotorRun) bool { return run.Status.CompletionTime == nil })
	var o follow.Options
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "watch for so long at most, as in 10m")
	cmd.Flags().BoolVar(&o.UntilAsked, "until-asked", false, "watch until the run waits for a person, and end with 2 then")
	var format output.Format
	format.BindOnly(cmd, "jsonl: a JSON object for each event in a line, and no screen", output.JSONL)
	cmd.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		run, err := lookup.Run(cmd.Context(), cl, namespace, args[0])
		if err != nil {
			return err
		}
		where := cluster.Selected(cmd)
		if !c.Terminal || !c.Screen || format != output.ForPeople {
			p := follow.NewFormatter(c.Out, format, run)
			p.Where = where
			return follow.Run(cmd.Context(), cl, p, run, o)
		}
		return c.watch(cmd.Context(), cl, run, where, o)
	})
	return cmd
}

// watch shows the screen until the run has ended or the person leaves.
func (c Command) watch(ctx context.Context, cl client.WithWatch, run *v1alpha1.MotorRun, where string, o follow.Options) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(within, cl, run, c.Now)
	// A program whose context ends closes its input while it is still read. An interrupt quits it instead, as a key does.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	program := tea.NewProgram(m, tea.WithContext(life), tea.WithInput(c.In), tea.WithOutput(c.Out))
	defer context.AfterFunc(ctx, func() { program.Send(tea.Quit()) })()
	f := newFeed(run, program.Send)
	o.Trouble = func(err error) { program.Send(troubleMsg{err}) }
	var reader sync.WaitGroup
	reader.Go(func() { program.Send(doneMsg{follow.Run(within, cl, f, run, o)}) })
	_, err := program.Run()
	// A message that waits to be taken is given up with the program.
	end()
	cancel()
	reader.Wait()
	c.farewell(m.run, where)
	switch {
	case m.done:
		return m.result
	case ctx.Err() != nil:
		return errors.New("interrupted; the run goes on without you")
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return fmt.Errorf("show the screen: %w", err)
	case len(pending.Open(m.run)) > 0:
		return verb.ErrWaits
	}
	return verb.ErrRuns
}

// farewell leaves on the terminal what a person needs of a screen that is gone: how the run ended, or what it asks.
func (c Command) farewell(run *v1alpha1.MotorRun, where string) {
	p := follow.NewPrinter(c.Out, run)
	p.Where = where
	if !p.Run(run) {
		fmt.Fprintf(c.Err, "note: the run goes on: kubectl motor watch %s -n %s%s\n", run.Name, run.Namespace, where)
	}
	p.End()
}
