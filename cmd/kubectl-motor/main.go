// SPDX-License-Identifier: Apache-2.0

// Command kubectl-motor is a plugin of kubectl: with it on the PATH, `kubectl motor` carries out its verbs.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/cli/archive"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/skill"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// decisionTimeout is how long a verb waits for the operator to act on a decision.
const decisionTimeout = 10 * time.Second

const usage = `Work with Motor Cortex.

Usage:
  kubectl motor archive verify …   check the archive of a finished run
  kubectl motor skill export …     write the files of a skill into a folder
  kubectl motor skill diff …       compare a skill with what is approved of it
  kubectl motor skill approve …    approve a skill; reject and revoke are the other decisions
  kubectl motor skill hash …       compute the hashes of an approval from files
  kubectl motor version            print the version
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
		return verb.ExitFailed
	}
	switch args[0] {
	case "archive":
		return archive.Command{In: in, Out: out, Err: errs, ReadRun: archive.ReadRun}.Run(ctx, args[1:])
	case "skill":
		return skill.Command{Out: out, Err: errs, Connect: cluster.Connect, Wait: decisionTimeout}.Run(ctx, args[1:])
	case "version", "--version":
		fmt.Fprintln(out, motorcortex.Version())
		return verb.ExitOK
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return verb.ExitOK
	}
	fmt.Fprintf(errs, "error: there is no verb %q\n\n%s", args[0], usage)
	return verb.ExitFailed
}
