// SPDX-License-Identifier: Apache-2.0

// Package archive has the verbs of `kubectl motor archive`.
package archive

import (
	"context"
	"io"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

const usage = `Check archives of finished MotorRuns.

Usage:
  kubectl motor archive verify BUCKET-URL KEY [--head sha256:…]
  kubectl motor archive verify BUCKET-URL --run [NAMESPACE/]NAME
  kubectl motor archive verify - [--head sha256:… | --run [NAMESPACE/]NAME]  < FILE
`

// Command has the dependencies of a verb.
type Command struct {
	In       io.Reader
	Out, Err io.Writer
	// ReadRun reads a run of the user's cluster, in the user's namespace if namespace is empty.
	ReadRun func(ctx context.Context, at cluster.Flags, namespace, name string) (*v1alpha1.MotorRun, error)
}

// Run runs the arguments after `kubectl motor archive` and returns the exit code: verb.ExitNo if the chain does not hold.
func (c Command) Run(ctx context.Context, args []string) int {
	return verb.Noun{
		Out: c.Out, Err: c.Err, Usage: usage,
		Verbs: map[string]func(context.Context, []string) error{"verify": c.verify},
	}.Run(ctx, args)
}
