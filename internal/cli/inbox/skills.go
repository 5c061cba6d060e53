// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/skill/waits"
)

// Skill is a skill that waits for a decision, as programs get it.
type Skill struct {
	Namespace string   `json:"namespace"`
	Skill     string   `json:"skill"`
	WaitsFor  []string `json:"waitsFor"`
	// Command shows the skill, and prints the commands that decide.
	Command string `json:"command"`
}

// skillsOf returns the skills that the person may decide about, and how many others wait. where is in the commands.
func skillsOf(ctx context.Context, c client.Client, mine *rights.Rights, namespace string, all bool, where string) (found []Skill, hidden int, err error) {
	list, err := lookup.Skills(ctx, c, namespace)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range list {
		decisions := waits.Decisions(s)
		if len(decisions) == 0 {
			continue
		}
		may, err := mine.Approve(ctx, s)
		if err != nil {
			return nil, 0, err
		}
		if !may && !all {
			hidden++
			continue
		}
		found = append(found, Skill{s.Namespace, s.Name, decisions, "kubectl motor skill review " + s.Name + " -n " + s.Namespace + where})
	}
	return found, hidden, nil
}

func skillsTable(w io.Writer, skills []Skill, everywhere bool) {
	header := []string{"SKILL", "WAITS FOR", "LOOK AT IT WITH"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := make([][]string, 0, len(skills))
	for _, s := range skills {
		row := []string{s.Skill, show.Line(strings.Join(s.WaitsFor, "; "), maxWhat), s.Command}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(w, header, rows)
}
