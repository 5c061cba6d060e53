// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/skill"
	texts "motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxDiffLines and maxDiffBytes are how much of a diff a review shows. More pushes the rest off every screen.
	maxDiffLines, maxDiffBytes = 400, 64 << 10
	// maxLineBytes is how much of a line of it is shown.
	maxLineBytes = 2 << 10
)

func (c Command) review() *cobra.Command {
	cmd := &cobra.Command{
		Use: "review NAME", Short: "Show what a person needs to know who decides about a skill.", Args: ofSkill(),
		Long: `Show all that there is to know of a skill for a decision: the files, the policy in full, what the files mention against what the policy grants, findings,
what changed since the approved revision, and the commands that approve or reject exactly this.

Patterns find the facts, so well-hidden content is missed. Texts are those of the skill's author: they can say anything.`,
	}
	var o options
	o.bindRevision(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name, o.where = args[0], cluster.Selected(cmd)
		return c.reviewSkill(cmd.Context(), &o)
	}
	return cmd
}

func (c Command) reviewSkill(ctx context.Context, o *options) error {
	s, rev, err := c.findRevision(ctx, o)
	if err != nil {
		return err
	}
	if err := c.shows(ctx, s, rev, o.where); err != nil {
		return err
	}
	c.commands(s, rev, o.where)
	return nil
}

// shows prints what there is to know of a revision for a decision.
func (c Command) shows(ctx context.Context, s subject, rev *v1alpha1.SkillRevision, at string) error {
	now, err := s.files(ctx, rev)
	if err != nil {
		return err
	}
	// Without the approved files, the rest is still there to decide by.
	base, lost := s.approvedFiles(ctx)
	c.standing(s, rev, time.Now())
	c.listFiles(rev)
	c.grants(s)
	c.mentions(s, rev)
	c.findings(rev)
	c.advice(rev)
	if lost != nil {
		fmt.Fprintf(c.Out, "\nChanges: unknown, the approved files cannot be read: %s\n", shown(lost.Error()))
	} else {
		c.changes(s, rev, base, now, at)
	}
	return nil
}

// standing prints how the skill stands, which revision is looked at and where it is from.
func (c Command) standing(s subject, rev *v1alpha1.SkillRevision, now time.Time) {
	fmt.Fprintf(c.Out, "%s/%s  %s\n", s.Namespace, s.Name, cmp.Or(string(s.Status.State), "no operator has looked at it yet"))
	show.Block(c.Out, "  ", s.Status.Message)
	fmt.Fprintf(c.Out, "\nRevision:  %s, %s old\n           %s\n", rev.Name, show.Since(now, rev.CreationTimestamp), rev.Spec.ContentHash)
	if from := rev.Spec.ExtractedFrom; from != nil {
		fmt.Fprintf(c.Out, "From:      the run %s, which wrote it\n", shown(from.RunName))
		for _, source := range from.Sources {
			fmt.Fprintf(c.Out, "           after it fetched %s\n", shown(source.URL))
		}
	} else if rev.Spec.Origin != "" {
		fmt.Fprintf(c.Out, "From:      %s\n", shown(rev.Spec.Origin))
	}
	if a := s.Status.Approved; a != nil {
		fmt.Fprintf(c.Out, "Approved:  %s, by %s", a.RevisionName, shown(a.ApprovedBy))
		if a.Note != nil && *a.Note != "" {
			fmt.Fprintf(c.Out, ": %s", shown(*a.Note))
		}
		fmt.Fprintln(c.Out)
	}
	if rev.Spec.Description != "" {
		fmt.Fprintln(c.Out, "\nDescription, in the author's words:")
		show.Block(c.Out, "  | ", rev.Spec.Description)
	}
}

func (c Command) listFiles(rev *v1alpha1.SkillRevision) {
	fmt.Fprintf(c.Out, "\nFiles (%d):\n", len(rev.Spec.Files))
	for _, f := range rev.Spec.Files {
		kind := "       "
		if f.Executable {
			kind = "program"
		}
		fmt.Fprintf(c.Out, "  %s %8d  %s\n", kind, f.Size, shown(f.Path))
	}
}

// grants prints the policy in full.
func (c Command) grants(s subject) {
	policy := &s.Spec.Policy
	hash := skill.PolicyHash(policy)
	fmt.Fprintf(c.Out, "\nPolicy (%s):\n", hash)
	text, err := yaml.Marshal(policy)
	switch {
	case err != nil:
		fmt.Fprintf(c.Out, "  it cannot be shown: %s\n", shown(err.Error()))
	case string(bytes.TrimSpace(text)) == "{}":
		fmt.Fprintln(c.Out, "  grants nothing")
	default:
		for line := range strings.Lines(lines(text)) {
			fmt.Fprint(c.Out, "  "+line)
		}
	}
	if a := s.Status.Approved; a != nil && a.PolicyHash != hash {
		fmt.Fprintf(c.Out, "  This is not the approved policy, which is %s.\n", a.PolicyHash)
	}
	if err := skill.CheckPolicy(policy); err != nil {
		fmt.Fprintf(c.Out, "  It cannot be granted: %s\n", shown(err.Error()))
	}
}

// mentions prints what the files mention against what the policy grants.
func (c Command) mentions(s subject, rev *v1alpha1.SkillRevision) {
	if rev.Status.ReviewTime == nil {
		fmt.Fprintln(c.Out, "\nWhat the files mention is not known: the operator has not looked through them.")
		return
	}
	r := skill.ReviewPolicy(rev, &s.Spec.Policy)
	c.section("Files mention, and the policy does not grant:", [][]string{
		{"domains", where(r.MissingDomains, rev.Status.Domains)}, {"variables", where(r.MissingCredentials, rev.Status.Variables)},
		{"tools", where(r.MissingTools, nil)}, {"packages", where(r.MissingPackages, rev.Status.Packages)},
	})
	c.section("The policy grants, and no file mentions:", [][]string{
		{"domains", where(r.UnusedDomains, nil)}, {"credentials", where(r.UnusedCredentials, nil)},
	})
}

// section prints those rows that have a text.
func (c Command) section(title string, rows [][]string) {
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(c.Out, "\n%s\n", title)
	for _, row := range rows {
		fmt.Fprintf(c.Out, "  %-12s %s\n", row[0]+":", row[1])
	}
}

// where lists names, each with the files that mention it.
func where(names []string, mentioned []v1alpha1.Mention) string {
	all := make([]string, 0, len(names))
	for _, name := range names {
		text := shown(name)
		if i := slices.IndexFunc(mentioned, func(m v1alpha1.Mention) bool { return m.Name == name }); i >= 0 && len(mentioned[i].Paths) > 0 {
			text += " (" + shown(strings.Join(mentioned[i].Paths, ", ")) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func (c Command) findings(rev *v1alpha1.SkillRevision) {
	if rev.Status.ReviewTime == nil {
		return
	}
	fmt.Fprintf(c.Out, "\nFindings (%d):\n", len(rev.Status.Findings))
	for _, f := range rev.Status.Findings {
		fmt.Fprintf(c.Out, "  %-13s %s: %s\n", f.Kind, place(f.Path, int(f.Line)), shown(f.Message))
	}
	if rev.Status.Omitted > 0 {
		fmt.Fprintf(c.Out, "  and %d more mentions and findings, which were only counted\n", rev.Status.Omitted)
	}
}

// place is a line of a file, or all of it for line 0.
func place(path string, line int) string {
	if line == 0 {
		return shown(path)
	}
	return shown(path) + ":" + strconv.Itoa(line)
}

// advice prints what models said about the files.
func (c Command) advice(rev *v1alpha1.SkillRevision) {
	for _, a := range []*v1alpha1.RevisionAdvice{rev.Status.Advice, rev.Status.LatestAdvice} {
		if a != nil {
			fmt.Fprintf(c.Out, "\nA model said in the run %s, which the files may have told it to:\n", shown(a.RunName))
			show.Block(c.Out, "  | ", a.Text)
		}
	}
}

// changes prints the beginning of the differences to the approved files.
func (c Command) changes(s subject, rev *v1alpha1.SkillRevision, base, now []skill.File, at string) {
	var text strings.Builder
	quiet := c
	quiet.Out = &text
	different := quiet.compare(base, now)
	switch {
	case base == nil:
		fmt.Fprintln(c.Out, "\nChanges: nothing was approved yet, so all of it is new:")
	case !different:
		fmt.Fprintf(c.Out, "\nChanges: none, the files are those of the approved revision %s.\n", s.Status.Approved.RevisionName)
		return
	default:
		fmt.Fprintf(c.Out, "\nChanges since the approved revision %s:\n", s.Status.Approved.RevisionName)
	}
	whole := fmt.Sprintf("kubectl motor skill diff %s -n %s --revision %s%s", s.Name, s.Namespace, rev.Name, at)
	printed, size, cut := 0, 0, false
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if size += min(len(line), maxLineBytes); printed == maxDiffLines || size > maxDiffBytes {
			fmt.Fprintf(c.Out, "  … and %d more lines: %s\n", strings.Count(text.String(), "\n")-printed, whole)
			return
		}
		printed++
		if n := len(line) - maxLineBytes; n > 0 {
			line, cut = fmt.Sprintf("%s… and %d more bytes", texts.CutBytes(line, maxLineBytes), n), true
		}
		// A line of a file never stands where this program's own words do.
		fmt.Fprintln(c.Out, "  "+line)
	}
	if cut {
		fmt.Fprintf(c.Out, "  Long lines are cut, to see them whole: %s\n", whole)
	}
}

// commands prints what decides about exactly what was shown, in the cluster that at names.
func (c Command) commands(s subject, rev *v1alpha1.SkillRevision, at string) {
	subject := fmt.Sprintf("%s -n %s --revision %s --content-hash %s", s.Name, s.Namespace, rev.Name, rev.Spec.ContentHash)
	rejected := slices.ContainsFunc(s.Spec.Rejections, func(r v1alpha1.SkillRejection) bool { return r.ContentHash == rev.Spec.ContentHash })
	hash := skill.PolicyHash(&s.Spec.Policy)
	if a := s.Status.Approved; s.Status.State == v1alpha1.SkillApproved && a != nil && a.RevisionName == rev.Name && a.PolicyHash == hash {
		fmt.Fprintf(c.Out, "\nThis is approved as it is. To take that back:\n  kubectl motor skill revoke %s -n %s%s\n", s.Name, s.Namespace, at)
		return
	}
	fmt.Fprintln(c.Out, "\nDecide with:")
	if skill.CheckPolicy(&s.Spec.Policy) == nil {
		fmt.Fprintf(c.Out, "  kubectl motor skill approve %s --policy-hash %s%s\n", subject, hash, at)
	}
	if !rejected {
		fmt.Fprintf(c.Out, "  kubectl motor skill reject %s%s\n", subject, at)
	}
}
