// SPDX-License-Identifier: Apache-2.0

// Package skill has the verbs of `kubectl motor skill`.
package skill

import (
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

const usage = `Work with Skills.

Usage:
  kubectl motor skill export NAME [DIR] [--revision R] [--force]
  kubectl motor skill diff NAME [--revision R]
  kubectl motor skill approve NAME [--revision R] [--add-tool T]… [--add-domain D]… [--add-package P]… [--add-credential C=HOST,…]…
      [--policy FILE] [--note N] [--expires 30d]
  kubectl motor skill reject NAME [--revision R] [--note N]
  kubectl motor skill revoke NAME [--note N]
  kubectl motor skill hash DIR [--policy FILE]

export writes the files of a revision into a folder, and diff compares them with those that are approved. approve binds
an approval to the content of a revision and to the policy, and changes the policy in the same request. hash computes the two hashes of an approval without a cluster.
Without --revision, the newest revision is meant.
`

// Command has the dependencies of a verb.
type Command struct {
	Out, Err io.Writer
	// Connect returns a client for the user's cluster, and the selected namespace.
	Connect func(at cluster.Flags) (c client.Client, namespace string, err error)
	// Wait is how long to wait for the operator to process a decision.
	Wait time.Duration
}

// Run runs the arguments after `kubectl motor skill` and returns the exit code: for diff, verb.ExitNo if there is a difference.
func (c Command) Run(ctx context.Context, args []string) int {
	return verb.Noun{
		Out: c.Out, Err: c.Err, Usage: usage,
		Verbs: map[string]func(context.Context, []string) error{
			"export": c.export, "diff": c.diff, "approve": c.approve, "reject": c.reject, "revoke": c.revoke, "hash": c.hash,
		},
	}.Run(ctx, args)
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

// parse reads what comes after the verb: the name of the skill, and more.
func (o *options) parse(args []string, more ...string) error {
	return verb.Parse(o.FlagSet, args, append([]string{"the NAME of the skill"}, more...)...)
}
