// SPDX-License-Identifier: Apache-2.0

// Package skill has the verbs of `kubectl motor skill`.
package skill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
)

// Exit codes.
const (
	// ExitOK: it is done; for diff, there is no difference.
	ExitOK = 0
	// ExitDifferent: there is a difference.
	ExitDifferent = 1
	// ExitFailed: it is not done, because of the arguments, or because something could not be read or written.
	ExitFailed = 2
)

const usage = `Work with Skills.

Usage:
  kubectl motor skill export NAME [DIR] [--revision R] [--force]
  kubectl motor skill diff NAME [--revision R]
  kubectl motor skill approve NAME [--revision R] [--add-domain D]… [--note N] [--expires 30d]
  kubectl motor skill reject NAME [--revision R] [--note N]
  kubectl motor skill revoke NAME [--note N]
  kubectl motor skill hash DIR [--policy FILE]

export writes the files of a revision into a folder, and diff compares them with those that are approved. approve binds
an approval to the content of a revision and to the policy. hash computes the two hashes of an approval without a cluster.
Without --revision, the newest revision is meant.
`

// Command is what a verb works with.
type Command struct {
	Out, Err io.Writer
	// Connect gives a client for the user's cluster, and the namespace that is meant.
	Connect func(at cluster.Flags) (c client.Client, namespace string, err error)
	// Wait is how long to wait for the operator to look at what was decided.
	Wait time.Duration
}

// Run carries out what comes after `kubectl motor skill` and gives the exit code.
func (c Command) Run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(c.Err, usage)
		return ExitFailed
	}
	verbs := map[string]func(context.Context, []string) int{
		"export": c.export, "diff": c.diff, "approve": c.approve, "reject": c.reject, "revoke": c.revoke, "hash": c.hash,
	}
	if verb, ok := verbs[args[0]]; ok {
		return verb(ctx, args[1:])
	}
	switch args[0] {
	case "help", "-h", "--help":
		fmt.Fprint(c.Out, usage)
		return ExitOK
	}
	return c.fail(fmt.Errorf("there is no verb %q", args[0]), true)
}

// options are the flags that verbs have in common.
type options struct {
	*pflag.FlagSet

	at             cluster.Flags
	revision, note string
}

func newOptions(verb string) *options {
	o := &options{FlagSet: pflag.NewFlagSet(verb, pflag.ContinueOnError)}
	o.at.Bind(o.FlagSet, "namespace of the skill")
	return o
}

func (o *options) bindRevision() {
	o.StringVar(&o.revision, "revision", "", "name of the SkillRevision, instead of the newest")
}

func (o *options) bindNote() { o.StringVar(&o.note, "note", "", "why") }

// parse reads the flags, wherever they stand. Only if there is something to carry out, goOn is true.
func (c Command) parse(fs *pflag.FlagSet, args []string, arguments ...string) (code int, goOn bool) {
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(c.Out, "%s\nFlags:\n%s", usage, fs.FlagUsages())
		return ExitOK, false
	case err != nil:
		return c.fail(err, true), false
	}
	most := 0
	for i, argument := range arguments {
		name, optional := strings.CutSuffix(argument, "?")
		if most++; !optional && fs.NArg() <= i {
			return c.fail(fmt.Errorf("%s is missing", name), true), false
		}
	}
	if fs.NArg() > most {
		return c.fail(fmt.Errorf("too many arguments: %s", strings.Join(fs.Args()[most:], " ")), true), false
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
