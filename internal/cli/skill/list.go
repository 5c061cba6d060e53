// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

// pageSize is how many skills are read in one request.
const pageSize = 500

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
		skills, err := all(cmd.Context(), cl, namespace)
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

// all reads the skills of a namespace, of all namespaces if it is "", in the order of their names.
func all(ctx context.Context, cl client.Client, namespace string) ([]*v1alpha1.Skill, error) {
	var skills []*v1alpha1.Skill
	for next := ""; ; {
		page := &v1alpha1.SkillList{}
		if err := cl.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Skills: %w", err)
		}
		for i := range page.Items {
			skills = append(skills, &page.Items[i])
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	slices.SortFunc(skills, func(a, b *v1alpha1.Skill) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return skills, nil
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
		row := []string{s.Name, string(s.Status.State), revision, strings.Join(waits(s), "; "), show.Since(now, s.CreationTimestamp)}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(c.Out, header, rows)
}

// decisions are what a skill waits for, by the reason of its condition Approved.
var decisions = map[string]string{
	v1alpha1.ReasonContentChanged:  "an approval of the changed files",
	v1alpha1.ReasonPolicyChanged:   "an approval of the changed policy",
	v1alpha1.ReasonApprovalExpired: "another approval, the last one ended",
	v1alpha1.ReasonContentUnknown:  "an approval of files that are there",
	v1alpha1.ReasonReviewSetAside:  "a person who reads the files, which the operator could not look through",
}

// waits is what of a skill waits for a person.
func waits(s *v1alpha1.Skill) []string {
	var waits []string
	subject := ""
	switch a := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionApproved); {
	case a == nil || a.Status == metav1.ConditionTrue:
	case a.Reason == v1alpha1.ReasonAwaitingApproval:
		subject = s.Status.RevisionName
		waits = append(waits, "an approval of "+subject)
	case a.Reason == v1alpha1.ReasonContentUnknown && s.Status.State == v1alpha1.SkillPendingReview:
		// The source of an approval out of Git was not read yet.
	case decisions[a.Reason] != "":
		waits = append(waits, decisions[a.Reason])
	}
	if stalled := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue &&
		stalled.Reason != v1alpha1.ReasonReviewSetAside {
		waits = append(waits, "a correction ("+stalled.Reason+")")
	}
	switch open := slices.DeleteFunc(proposals(s), func(r *v1alpha1.SkillRevision) bool { return r.Name == subject }); len(open) {
	case 0:
	case 1:
		waits = append(waits, fmt.Sprintf("a decision about %s of the run %s", open[0].Name, open[0].Spec.ExtractedFrom.RunName))
	default:
		waits = append(waits, fmt.Sprintf("decisions about %d proposals of runs", len(open)))
	}
	return waits
}

// proposals are the revisions of a skill that runs proposed and that no decision was made about, as its status lists them.
func proposals(s *v1alpha1.Skill) []*v1alpha1.SkillRevision {
	revisions := make([]v1alpha1.SkillRevision, len(s.Status.Revisions))
	for i, known := range s.Status.Revisions {
		r := &revisions[i]
		r.Name, r.CreationTimestamp, r.Spec.ContentHash = known.Name, known.CreationTime, known.ContentHash
		if known.RunName != "" {
			r.Spec.ExtractedFrom = &v1alpha1.ExtractedFrom{RunName: known.RunName}
		}
	}
	return skill.Undecided(&s.Spec, &s.Status, revisions)
}
