// SPDX-License-Identifier: Apache-2.0

// Package archive has the verbs of `kubectl motor archive`.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
)

// Exit codes.
const (
	// ExitOK: the chain holds.
	ExitOK = 0
	// ExitBroken: it does not.
	ExitBroken = 1
	// ExitFailed: this could not be told, because of the arguments or because something could not be read.
	ExitFailed = 2
)

const usage = `Check archives of finished MotorRuns.

Usage:
  kubectl motor archive verify BUCKET-URL KEY [--head sha256:…]
  kubectl motor archive verify BUCKET-URL --run [NAMESPACE/]NAME
  kubectl motor archive verify - [--head sha256:… | --run [NAMESPACE/]NAME]  < FILE
`

// Command is what a verb works with.
type Command struct {
	In       io.Reader
	Out, Err io.Writer
	// ReadRun reads a run of the user's cluster, in the user's namespace if none is given.
	ReadRun func(ctx context.Context, at cluster.Flags, namespace, name string) (*v1alpha1.MotorRun, error)
}

// Run carries out what comes after `kubectl motor archive` and gives the exit code.
func (c Command) Run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(c.Err, usage)
		return ExitFailed
	}
	switch args[0] {
	case "verify":
		return c.verify(ctx, args[1:])
	case "help", "-h", "--help":
		fmt.Fprint(c.Out, usage)
		return ExitOK
	}
	return c.fail(fmt.Errorf("there is no verb %q", args[0]), true)
}

// parse reads the flags, wherever they stand. Only if there is something to carry out, goOn is true.
func (c Command) parse(fs *pflag.FlagSet, args []string) (code int, goOn bool) {
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(c.Out, "%s\nFlags:\n%s", usage, fs.FlagUsages())
		return ExitOK, false
	case err != nil:
		return c.fail(err, true), false
	}
	return ExitOK, true
}

func (c Command) fail(err error, help bool) int {
	fmt.Fprintf(c.Err, "error: %v\n", err)
	if help {
		fmt.Fprintf(c.Err, "\n%s", usage)
	}
	return ExitFailed
}
