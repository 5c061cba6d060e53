// SPDX-License-Identifier: Apache-2.0

// Package doctor has the verb that looks at an installation, and says of each part how it stands and what to do.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

const (
	// operatorNamespace is the one of config/default.
	operatorNamespace = "motorcortex-system"
	// maxMessage is the most bytes of a message in a line. Programs get all of it.
	maxMessage = 320
)

// Status of a check.
type Status string

const (
	// OK: it is as it should be.
	OK Status = "ok"
	// Warning: it works, and may not do what the user wants.
	Warning Status = "warning"
	// Failed: it does not work.
	Failed Status = "failed"
	// Unknown: it cannot be told, most often for want of a right.
	Unknown Status = "unknown"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Message says how it stands.
	Message string `json:"message"`
	// Do says what to do, "" for nothing.
	Do string `json:"do,omitempty"`
}

// examiner looks at an installation.
type examiner struct {
	client client.Client
	raw    rest.Interface
	// namespace is the user's, operator that of the manager.
	namespace, operator string
	now                 func() time.Time
	found               []Check
}

// New is the verb.
func New(s verb.Streams, connect cluster.Connect, raw cluster.Raw) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at the installation, and say what is wrong and what to do.", Args: verb.Args(),
		Long: `Look at the installation and at your namespace: versions, the operator, the admission policies (one is tried, in a dry run), the proof that sandboxes are closed, the
model, sinks and receivers, pools, and what you may do. Nothing is changed.

A check that you may not make is unknown, with the right that is missing. The exit code is 1 if a check failed, and 5 if none
failed and one of these is unknown: API server, kinds, operator, leader, admission policies, admission in effect, model, isolation. Else it is 0,
also with warnings. With --strict it is 1 for a warning, too.`,
	}
	operator := cmd.Flags().String("operator-namespace", operatorNamespace, "namespace of the operator")
	strict := cmd.Flags().Bool("strict", false, "fail for warnings, too")
	patience := cmd.Flags().Duration("timeout", 10*time.Second, "how long a check may take")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *patience <= 0 {
			return verb.Misusedf("--timeout is above 0, as in 10s")
		}
		c, namespace, err := connect()
		if err != nil {
			return err
		}
		r, err := raw()
		if err != nil {
			return err
		}
		e := &examiner{client: c, raw: r, namespace: namespace, operator: *operator, now: time.Now}
		if err := e.examine(cmd.Context(), *patience); err != nil {
			return err
		}
		count, err := report(s.Out, format, e.found)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "%d ok, %d warnings, %d failed, %d unknown\n", count[OK], count[Warning], count[Failed], count[Unknown])
		if count[Failed] > 0 || *strict && count[Warning] > 0 {
			return verb.ErrNo
		}
		return unknownOf(e.found)
	}
	return cmd
}

// examine makes all checks, each within its time. Without an API server there is nothing more to look at.
func (e *examiner) examine(ctx context.Context, patience time.Duration) error {
	for i, check := range []func(context.Context){
		e.server, e.caller, e.kinds, e.deployment, e.versions, e.leader, e.policies, e.effect, e.cortex, e.isolation, e.pools, e.rights,
	} {
		bounded, cancel := context.WithTimeout(ctx, patience)
		check(bounded)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if i == 0 && e.found[0].Status == Failed {
			return nil
		}
	}
	return nil
}

func (e *examiner) say(name string, status Status, do, format string, args ...any) {
	e.found = append(e.found, Check{Name: name, Status: status, Message: fmt.Sprintf(format, args...), Do: do})
}

// essential are the checks without which it cannot be said that the installation works and is safe.
var essential = []string{"API server", "kinds", "operator", "leader", "admission policies", "admission in effect", "model", "isolation"}

// unknownOf returns an error if one of the essential checks could not be made.
func unknownOf(checks []Check) error {
	var unknown []string
	for _, c := range checks {
		if c.Status == Unknown && slices.Contains(essential, c.Name) {
			unknown = append(unknown, c.Name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return verb.Unknown(fmt.Errorf("nothing failed, and it is unknown how these stand: %s", strings.Join(unknown, ", ")))
}

// report prints the checks, and counts them.
func report(w io.Writer, f output.Format, checks []Check) (map[Status]int, error) {
	count := map[Status]int{}
	for _, c := range checks {
		count[c.Status]++
	}
	switch f {
	case output.ForPeople:
	case output.JSONL:
		return count, output.Lines(w, checks)
	case output.JSON, output.YAML:
		return count, output.Value(w, f, map[string]any{"checks": checks})
	case output.Name:
		for _, c := range checks {
			fmt.Fprintln(w, c.Name)
		}
		return count, nil
	}
	for _, c := range checks {
		fmt.Fprintf(w, "%-8s  %-24s %s\n", c.Status, show.Line(c.Name, maxMessage), show.Line(c.Message, maxMessage))
		if c.Do != "" {
			fmt.Fprintf(w, "%-8s  %-24s → %s\n", "", "", show.Line(c.Do, maxMessage))
		}
	}
	return count, nil
}
