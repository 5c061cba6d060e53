// SPDX-License-Identifier: Apache-2.0

// Command kubectl-motor is a plugin of kubectl: with it on the PATH, `kubectl motor` carries out its verbs.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"motorcortex.dev/motorcortex/internal/cli/archive"
)

const usage = `Work with Motor Cortex.

Usage:
  kubectl motor archive verify …   check the archive of a finished run
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errs, usage)
		return archive.ExitFailed
	}
	switch args[0] {
	case "archive":
		return archive.Command{In: in, Out: out, Err: errs, ReadRun: archive.ReadRun}.Run(ctx, args[1:])
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return archive.ExitOK
	}
	fmt.Fprintf(errs, "error: there is no verb %q\n\n%s", args[0], usage)
	return archive.ExitFailed
}
