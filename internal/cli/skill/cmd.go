// SPDX-License-Identifier: Apache-2.0

// Package skill has the verbs of `kubectl motor skill`.
package skill

import (
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// Command has the dependencies of a verb.
type Command struct {
	verb.Streams

	Connect cluster.Connect
	// Wait is how long to wait for the operator to process a decision.
	Wait time.Duration
}

// New is the command `kubectl motor skill`.
func New(c Command) *cobra.Command {
	named := []*cobra.Command{c.review(), c.diff(), c.approve(), c.reject(), c.revoke(), c.export()}
	for _, cmd := range named {
		cmd.ValidArgsFunction = complete.Skills(c.Connect)
	}
	return verb.Group("skill", "Work with skills.", append(named, c.list(), c.create(), c.lint(), c.load(), c.push(), c.hash())...)
}

// options are the flags that verbs have in common, and the arguments.
type options struct {
	name, revision, contentHash, policyHash, note string
	// where names the cluster in commands that are printed to paste; see cluster.Selected.
	where string
}

func (o *options) bindRevision(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.revision, "revision", "", "name of the SkillRevision, instead of the newest")
}

// bindContentHash is for the verbs that decide. The name of a revision has 48 bits of the hash: files that collide in it are found in seconds.
func (o *options) bindContentHash(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.contentHash, "content-hash", "", "hash of the files that you looked at: the decision is refused if the revision has another one")
}

func (o *options) bindNote(cmd *cobra.Command) { cmd.Flags().StringVar(&o.note, "note", "", "why") }

// ofSkill checks what comes after the verb: the name of the skill, and more.
func ofSkill(more ...string) cobra.PositionalArgs {
	return verb.Args(append([]string{"the NAME of the skill"}, more...)...)
}
