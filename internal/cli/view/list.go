// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/rights"
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
	limit := cmd.Flags().Int64("limit", pageSize, "the most runs that are read and shown, those that have not ended before all others; 0 for all, as for programs (-o)")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 {
			return verb.Misusedf("--limit is %d: it must be a number of runs, or 0 for all", *limit)
		}
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		in := client.InNamespace(namespace)
		if *everywhere {
			in = ""
		}
		if format != output.ForPeople && !cmd.Flags().Changed("limit") {
			*limit = 0 // A program that is not told of a bound must not miss a run.
		}
		runs, total, err := read(cmd.Context(), cl, in, *limit)
		if err != nil {
			return rights.Refused(err, rights.ToRead, string(in))
		}
		if len(runs) < total {
			fmt.Fprintf(c.Err, "note: %d of %d runs are shown, those that have not ended before all others: --limit 0 shows all\n", len(runs), total)
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

// read returns at most limit runs, and how many there are. With a limit of 0 it returns all. Where there are more than the limit, those that have not
// ended come before all others: a namespace keeps runs for days after their end, and the others are what a person looks for.
func read(ctx context.Context, cl client.Client, in client.InNamespace, limit int64) (runs []*v1alpha1.MotorRun, total int, err error) {
	page, err := readPage(ctx, cl, in, client.Limit(cmp.Or(limit, pageSize)))
	if err != nil {
		return nil, 0, err
	}
	first, next := pointers(page), page.Continue
	if next == "" {
		return first, len(first), nil
	}
	if limit > 0 {
		total = len(first) + int(ptr.Deref(page.RemainingItemCount, 1))
		if page, err = readPage(ctx, cl, in, client.Limit(limit), client.MatchingFieldsSelector{Selector: notEnded}); err != nil {
			return nil, 0, err
		}
		runs = pointers(page)
		for _, run := range first {
			if int64(len(runs)) < limit && hasEnded(run) {
				runs = append(runs, run)
			}
		}
		return runs, max(total, len(runs)), nil
	}
	for runs = first; next != ""; next = page.Continue {
		if page, err = readPage(ctx, cl, in, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, 0, err
		}
		runs = append(runs, pointers(page)...)
	}
	return runs, len(runs), nil
}

func readPage(ctx context.Context, cl client.Client, opts ...client.ListOption) (*v1alpha1.MotorRunList, error) {
	page := &v1alpha1.MotorRunList{}
	if err := cl.List(ctx, page, opts...); err != nil {
		return nil, fmt.Errorf("list MotorRuns: %w", err)
	}
	return page, nil
}

func pointers(page *v1alpha1.MotorRunList) (runs []*v1alpha1.MotorRun) {
	for i := range page.Items {
		runs = append(runs, &page.Items[i])
	}
	return runs
}

// lastPhases are those of runs that have ended.
var lastPhases = []v1alpha1.RunPhase{v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled}

// notEnded has the API server leave out the runs that have ended. It selects by the phase, because it cannot by conditions.
var notEnded = func() fields.Selector {
	var all []fields.Selector
	for _, phase := range lastPhases {
		all = append(all, fields.OneTermNotEqualSelector("status.phase", string(phase)))
	}
	return fields.AndSelectors(all...)
}()

func hasEnded(run *v1alpha1.MotorRun) bool { return slices.Contains(lastPhases, run.Status.Phase) }

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
