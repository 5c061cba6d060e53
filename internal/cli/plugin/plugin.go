// SPDX-License-Identifier: Apache-2.0

// Package plugin puts the verbs of `kubectl motor` together.
package plugin

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/cli/archive"
	"motorcortex.dev/motorcortex/internal/cli/ask"
	"motorcortex.dev/motorcortex/internal/cli/body"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/credential"
	"motorcortex.dev/motorcortex/internal/cli/doctor"
	"motorcortex.dev/motorcortex/internal/cli/exec"
	"motorcortex.dev/motorcortex/internal/cli/inbox"
	"motorcortex.dev/motorcortex/internal/cli/mcp"
	"motorcortex.dev/motorcortex/internal/cli/schedule"
	"motorcortex.dev/motorcortex/internal/cli/skill"
	"motorcortex.dev/motorcortex/internal/cli/start"
	"motorcortex.dev/motorcortex/internal/cli/steer"
	"motorcortex.dev/motorcortex/internal/cli/trace"
	"motorcortex.dev/motorcortex/internal/cli/ui"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/cli/view"
	"motorcortex.dev/motorcortex/internal/cli/watch"
)

// decisionTimeout is how long a verb waits for the operator to act on a decision.
const decisionTimeout = 10 * time.Second

// New is `kubectl motor`.
func New(s verb.Streams) *cobra.Command {
	at := &cluster.Flags{}
	p := verb.Program(s, "kubectl-motor", "kubectl motor", "Work with Motor Cortex.",
		archive.New(s, archive.Reader(at.Connect)),
		skill.New(skill.Command{Streams: s, Connect: at.Connect, Wait: decisionTimeout}),
		schedule.New(schedule.Command{Streams: s, Connect: at.Connect, Now: time.Now}),
		credential.New(credential.Command{Streams: s, Connect: at.Connect}),
		doctor.New(s, at.Connect, at.Raw),
		start.New(s, at.Connect),
		exec.New(s, at.Connect),
		inbox.New(s, at.Connect),
		body.New(s, at.Connect, time.Now),
		trace.New(s, at.Connect),
		watch.New(watch.Command{Streams: s, Connect: at.Connect, Now: time.Now}),
		ui.New(ui.Command{Streams: s, Connect: at.Connect}),
		version(s),
	)
	p.AddCommand(ask.New(ask.Command{Streams: s, Connect: at.Connect})...)
	p.AddCommand(view.New(view.Command{Streams: s, Connect: at.Connect})...)
	p.AddCommand(steer.New(s, at.Connect)...)
	p.AddCommand(mcp.New(s, at.Config))
	at.Bind(p.PersistentFlags())
	p.Version = motorcortex.Version()
	p.SetVersionTemplate("{{.Version}}\n")
	return p
}

func version(s verb.Streams) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version.", Args: verb.Args(), RunE: func(*cobra.Command, []string) error {
		fmt.Fprintln(s.Out, motorcortex.Version())
		return nil
	}}
}
