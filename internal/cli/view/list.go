// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
)

const (
	// pageSize is how many runs are read in one request.
	pageSize = 500
	// maxColumn is the most bytes of a text in a column.
	maxColumn = 48
	// unlimited is for texts that the API bounds.
	unlimited = 1 << 16
)

func (c Command) list() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List runs, the newest last.", Args: verb.Args()}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "in all namespaces")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		in := client.InNamespace(namespace)
		if *everywhere {
			in = ""
		}
		var runs []*v1alpha1.MotorRun
		page := &v1alpha1.MotorRunList{}
		for more := true; more; more = page.Continue != "" {
			next := &v1alpha1.MotorRunList{}
			if err := cl.List(cmd.Context(), next, in, client.Limit(pageSize), client.Continue(page.Continue)); err != nil {
				return fmt.Errorf("list MotorRuns: %w", err)
			}
			page = next
			for i := range page.Items {
				runs = append(runs, &page.Items[i])
			}
		}
		slices.SortStableFunc(runs, func(a, b *v1alpha1.MotorRun) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		if format != output.ForPeople {
			return output.List(c.Out, format, cl.Scheme(), runs)
		}
		if len(runs) == 0 {
			fmt.Fprintln(c.Err, "There are no runs.")
			return nil
		}
		c.table(runs, *everywhere, time.Now())
		return nil
	}
	return cmd
}

func (c Command) table(runs []*v1alpha1.MotorRun, everywhere bool, now time.Time) {
	header := []string{"NAME", "PHASE", "REASON", "STEPS", "TOKENS", "WAITS FOR", "AGE"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := make([][]string, 0, len(runs))
	for _, run := range runs {
		st := &run.Status
		row := []string{run.Name, string(st.Phase), st.Reason, strconv.Itoa(int(st.Steps)), strconv.FormatInt(st.Usage.TotalTokens, 10), waitsFor(run), show.Since(now, run.CreationTimestamp)}
		if everywhere {
			row = append([]string{run.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(c.Out, header, rows)
}

// waitsFor is what a run asks, in a few words.
func waitsFor(run *v1alpha1.MotorRun) string {
	var all []string
	for _, p := range pending.Open(run) {
		all = append(all, pending.Word(p.Kind)+": "+p.Title)
	}
	return show.Line(strings.Join(all, "; "), maxColumn)
}
