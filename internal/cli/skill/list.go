// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/skill/waits"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func (c Command) list() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List skills, with what of them waits for a decision.", Args: verb.Args(),
		Long: `List skills: the state of trust, the revision that runs use (or the newest, if they use none), and what waits for a decision.`,
	}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "in all namespaces")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		if *everywhere {
			namespace = ""
		}
		skills, err := lookup.Skills(cmd.Context(), cl, namespace)
		if err != nil {
			return err
		}
		if format != output.ForPeople {
			return output.List(c.Out, format, cl.Scheme(), skills)
		}
		if len(skills) == 0 {
			fmt.Fprintln(c.Err, "There are no skills.")
			return nil
		}
		c.table(skills, *everywhere, time.Now())
		return nil
	}
	return cmd
}

func (c Command) table(skills []*v1alpha1.Skill, everywhere bool, now time.Time) {
	header := []string{"NAME", "STATE", "REVISION", "WAITS FOR", "AGE"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := make([][]string, 0, len(skills))
	for _, s := range skills {
		revision := s.Status.RevisionName
		if a := s.Status.Approved; a != nil {
			revision = a.RevisionName
		}
		row := []string{s.Name, string(s.Status.State), revision, strings.Join(waits.Of(s), "; "), show.Since(now, s.CreationTimestamp)}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(c.Out, header, rows)
}
