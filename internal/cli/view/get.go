// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

func (c Command) get() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{Use: "get RUN", Short: "Show a run: how it stands, what it asks, and its result."})
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if format != output.ForPeople {
			return output.Object(c.Out, format, s.client.Scheme(), s.MotorRun)
		}
		overview(c.page(), s.MotorRun, cluster.Selected(cmd), time.Now())
		return nil
	}
	return cmd
}

// overview prints a run for people. where is in the commands.
func overview(w io.Writer, run *v1alpha1.MotorRun, where string, now time.Time) {
	st := &run.Status
	stands(w, run, now)
	asks(w, run, where, now)
	if run.Spec.Task != "" {
		fmt.Fprintln(w, "\nTask:")
		show.Block(w, "  ", run.Spec.Task)
	}
	if st.Usage.TotalTokens > 0 || st.Steps > 0 {
		fmt.Fprintf(w, "\nSpent: %d steps, %d tokens%s, model %s\n", st.Steps, st.Usage.TotalTokens, costOf(st.Usage), show.Line(st.Model, maxColumn))
	}
	if st.Egress != nil && len(st.Egress.Domains) > 0 {
		fmt.Fprintf(w, "Reaches: %s\n", join(st.Egress.Domains))
	}
	if r := st.Result; r != nil {
		if r.Summary != "" {
			fmt.Fprintln(w, "\nResult:")
			show.Block(w, "  ", r.Summary)
		}
		if r.Value != "" {
			fmt.Fprintln(w, "\nValue:")
			show.Block(w, "  ", r.Value)
		}
		if len(r.Artifacts) > 0 {
			fmt.Fprintf(w, "\nArtifacts: %d; \"kubectl motor artifacts %s -n %s%s\" lists them\n", len(r.Artifacts), run.Name, run.Namespace, where)
		}
	}
}

// stands prints how a run stands, in a line or two.
func stands(w io.Writer, run *v1alpha1.MotorRun, now time.Time) {
	st := &run.Status
	phase := string(st.Phase)
	if phase == "" {
		phase = "Created"
	}
	if st.Reason != "" && st.Reason != phase {
		phase += " (" + st.Reason + ")"
	}
	fmt.Fprintf(w, "%s/%s  %s, %s old\n", run.Namespace, run.Name, phase, show.Since(now, run.CreationTimestamp))
	if st.Message != "" && !repeats(run) {
		show.Block(w, "  ", st.Message)
	}
	if st.Phase == "" {
		fmt.Fprintln(w, "  No manager has looked at it yet: \"kubectl -n motorcortex-system get pods\" shows whether one runs.")
	}
}

// repeats reports whether the message of a run is what it asks, which is shown whole with the commands.
func repeats(run *v1alpha1.MotorRun) bool {
	return slices.ContainsFunc(pending.Open(run), func(p *v1alpha1.PendingInput) bool {
		head := []rune(p.Question)
		return len(head) > 0 && strings.Contains(run.Status.Message, string(head[:min(len(head), 40)]))
	})
}

// asks prints what a run waits for, with the commands that answer it.
func asks(w io.Writer, run *v1alpha1.MotorRun, where string, now time.Time) {
	for _, p := range pending.Open(run) {
		fmt.Fprintf(w, "\nAsks (%s)%s:\n", pending.Word(p.Kind), show.Expiry(now, p.ExpirationTime))
		show.Block(w, "  | ", pending.Question(p))
		for _, f := range p.Files {
			fmt.Fprintf(w, "  wants the file: %s\n", show.Line(f, unlimited))
		}
		if p.Kind == v1alpha1.InputQuestion {
			for i, o := range p.Options {
				fmt.Fprintf(w, "  %d  %s\n", i+1, show.Line(o, unlimited))
			}
		}
		fmt.Fprintln(w, "Answer with:")
		for _, command := range pending.Commands(run, p, where) {
			fmt.Fprintf(w, "  %s\n", command)
		}
	}
}

func join[T ~string](list []T) string {
	all := make([]string, 0, len(list))
	for _, s := range list {
		all = append(all, show.Line(string(s), unlimited))
	}
	return strings.Join(all, ", ")
}
