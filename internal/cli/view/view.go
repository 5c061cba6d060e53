// SPDX-License-Identifier: Apache-2.0

// Package view has the verbs by which a person reads what runs did.
package view

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/show"
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

// page is where a text for people goes. What is no terminal divides no line.
func (c Command) page() io.Writer {
	if c.Screen {
		return c.Out
	}
	return show.Unwrapped(c.Out)
}

func (c Command) find(ctx context.Context, name string) (subject, error) {
	cl, namespace, err := c.Connect()
	if err != nil {
		return subject{}, err
	}
	run, err := lookup.Run(ctx, cl, namespace, name)
	return subject{cl, run}, err
}
