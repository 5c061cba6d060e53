// SPDX-License-Identifier: Apache-2.0

// Package inbox has the verb that lists what waits for a person.
package inbox

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
)

// maxWhat is the most bytes of a question in the table.
const maxWhat = 56

// Entry is one ask of one run, as programs get it.
type Entry struct {
	Namespace string   `json:"namespace"`
	Run       string   `json:"run"`
	Commands  []string `json:"commands"`

	v1alpha1.PendingInput `json:",inline"`

	command string
}

// New is the verb.
func New(s verb.Streams, connect cluster.Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use: "inbox", Short: "List what waits for you, the oldest deadline first.", Args: verb.Args(),
		Long: `List what runs ask and you may answer, the oldest deadline first, each with the command that answers it. Below them are the skills that wait for a
decision, if you may approve skills.

What you may not answer is left out: --all lists it too. With -o json and yaml, skills are in "skills"; -o jsonl and name have the runs alone.`,
	}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "in all namespaces that you may read")
	all := cmd.Flags().Bool("all", false, "also what others have to answer")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, namespace, err := connect()
		if err != nil {
			return err
		}
		in := namespace
		if *everywhere {
			in = ""
		}
		runs, err := lookup.Waiting(cmd.Context(), c, in)
		mine, where := rights.Of(c), cluster.Selected(cmd)
		skills, others, skillsErr := skillsOf(cmd.Context(), c, mine, in, *all, where)
		// People who decide about skills may have no right to read runs. A program is told: it would take the runs for none.
		if err != nil && (format != output.ForPeople || skillsErr != nil || !apierrors.IsForbidden(err)) {
			return err
		}
		if skillsErr != nil && !apierrors.IsForbidden(skillsErr) {
			return skillsErr
		}
		found, hidden, collected := collect(cmd.Context(), mine, runs, *all, where)
		if collected != nil {
			return collected
		}
		now := time.Now()
		if err := write(s.Out, format, found, skills, *everywhere, now); err != nil {
			return err
		}
		if format == output.ForPeople && len(found)+len(skills) == 0 {
			fmt.Fprintln(s.Err, "Nothing waits for you.")
		}
		if hidden += others; hidden > 0 {
			fmt.Fprintf(s.Err, "note: %d more for people with other rights: --all lists them\n", hidden)
		}
		if err != nil {
			fmt.Fprintf(s.Err, "note: what runs ask is not shown: %s\n", show.Text(err.Error()))
		}
		return nil
	}
	return cmd
}

// collect returns the asks that the person may answer, and how many others there are. where is in the commands.
func collect(ctx context.Context, mine *rights.Rights, runs []v1alpha1.MotorRun, all bool, where string) (found []Entry, hidden int, err error) {
	for i := range runs {
		run := &runs[i]
		for _, p := range pending.Open(run) {
			may, err := mine.Answer(ctx, run, p.Kind)
			if err != nil {
				return nil, 0, err
			}
			if !may && !all {
				hidden++
				continue
			}
			found = append(found, Entry{
				Namespace: run.Namespace, Run: run.Name, PendingInput: *p,
				Commands: pending.Commands(run, p, where), command: pending.Command(run, p, where),
			})
		}
	}
	slices.SortStableFunc(found, compare)
	return found, hidden, nil
}

// compare puts what expires first before, and what does not expire last.
func compare(a, b Entry) int {
	if without := a.ExpirationTime.IsZero(); without != b.ExpirationTime.IsZero() {
		if without {
			return 1
		}
		return -1
	}
	return cmp.Or(a.ExpirationTime.Compare(b.ExpirationTime.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Run, b.Run))
}

func write(w io.Writer, f output.Format, found []Entry, skills []Skill, everywhere bool, now time.Time) error {
	switch f {
	case output.ForPeople:
	case output.Name:
		for _, e := range found {
			fmt.Fprintf(w, "motorrun.motorcortex.dev/%s\n", e.Run)
		}
		return nil
	case output.JSONL:
		return output.Lines(w, found)
	case output.JSON, output.YAML:
		return output.Value(w, f, map[string]any{"items": append([]Entry{}, found...), "skills": append([]Skill{}, skills...)})
	}
	if len(found) > 0 {
		asksTable(w, found, everywhere, now)
	}
	if len(found) > 0 && len(skills) > 0 {
		fmt.Fprintln(w)
	}
	if len(skills) > 0 {
		skillsTable(w, skills, everywhere)
	}
	return nil
}

func asksTable(w io.Writer, found []Entry, everywhere bool, now time.Time) {
	header := []string{"RUN", "WAITS FOR", "WHAT", "SINCE", "EXPIRES", "ANSWER WITH"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := make([][]string, 0, len(found))
	for _, e := range found {
		row := []string{e.Run, pending.Word(e.Kind), what(&e.PendingInput), show.Since(now, e.AskTime), show.Until(now, e.ExpirationTime), e.command}
		if everywhere {
			row = append([]string{e.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(w, header, rows)
}

// what is an ask in a few words.
func what(p *v1alpha1.PendingInput) string {
	switch {
	case p.Action != nil:
		return show.Line(p.Action.Tool+": "+show.Brief(p.Action.Tool, p.Action.Arguments, maxWhat), maxWhat)
	case p.Domain != "":
		return show.Line(string(p.Domain), maxWhat)
	case p.Kind == v1alpha1.InputQuestion:
		return show.Line(p.Question, maxWhat)
	}
	return show.Line(p.Title, maxWhat)
}
