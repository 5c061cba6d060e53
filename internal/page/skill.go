// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/skill"
)

// skillsPage is how many skills a list has at once.
const skillsPage = 500

// skillLine is a skill in a list.
type skillLine struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
	State       string `json:"state"`
	Message     string `json:"message,omitempty"`
	Description string `json:"description,omitempty"`
	Runs        int64  `json:"runs"`
	SuccessRate string `json:"successRate,omitempty"`
}

func skillLineOf(s *v1alpha1.Skill) skillLine {
	return skillLine{
		Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), State: string(s.Status.State), Message: show.Text(s.Status.Message),
		Description: show.Text(s.Status.Description), Runs: s.Status.Usage.Runs, SuccessRate: show.Text(s.Status.Usage.SuccessRate),
	}
}

// skills lists the skills of a namespace, or of all, a page at a time.
func skills(ctx context.Context, q *query) (any, error) {
	list := &v1alpha1.SkillList{}
	err := q.Client.List(ctx, list, client.InNamespace(q.namespace()), client.Limit(skillsPage), client.Continue(q.URL.Query().Get("continue")))
	if err != nil {
		return nil, err
	}
	lines := make([]skillLine, 0, len(list.Items))
	for i := range list.Items {
		lines = append(lines, skillLineOf(&list.Items[i]))
	}
	return map[string]any{"items": lines, "continue": list.Continue}, nil
}

// skillView is a skill with one of its revisions, as a person reviews it.
type skillView struct {
	skillLine

	Revision     string         `json:"revision"`
	ContentHash  string         `json:"contentHash"`
	PolicyHash   string         `json:"policyHash"`
	Seen         seenSkill      `json:"seen"`
	Policy       string         `json:"policy"`
	Problem      string         `json:"problem,omitempty"`
	Approved     *approvedView  `json:"approved,omitempty"`
	Rejected     bool           `json:"rejected,omitempty"`
	Revisions    []revisionLine `json:"revisions"`
	Origin       string         `json:"origin,omitempty"`
	From         *fromView      `json:"from,omitempty"`
	Reviewed     bool           `json:"reviewed"`
	Missing      []factView     `json:"missing,omitempty"`
	Unused       []factView     `json:"unused,omitempty"`
	Findings     []factView     `json:"findings,omitempty"`
	Omitted      int32          `json:"omitted,omitempty"`
	Advice       []adviceView   `json:"advice,omitempty"`
	Files        []fileView     `json:"files"`
	Base         string         `json:"base,omitempty"`
	MayApprove   bool           `json:"mayApprove"`
	ApproverRole string         `json:"approverRole,omitempty"`
	// Unreadable is why the person cannot read the content of the files. They cannot approve it then.
	Unreadable string `json:"unreadable,omitempty"`
}

// seenSkill is what the operator had seen when the person was shown the skill. An approval counts as given in view of that.
type seenSkill struct {
	Newest string `json:"newest"`
	Source string `json:"source"`
}

func seenOf(s *v1alpha1.Skill) seenSkill {
	seen := seenSkill{Newest: s.Status.RevisionName}
	if s.Status.Source != nil {
		seen.Source = s.Status.Source.ContentHash
	}
	return seen
}

type approvedView struct {
	Revision   string `json:"revision"`
	By         string `json:"by,omitempty"`
	Note       string `json:"note,omitempty"`
	SamePolicy bool   `json:"samePolicy"`
}

type revisionLine struct {
	Name    string       `json:"name"`
	Run     string       `json:"run,omitempty"`
	Created *metav1.Time `json:"created,omitempty"`
}

// fromView is the run that wrote a revision.
type fromView struct {
	Run         string   `json:"run"`
	Sources     []string `json:"sources,omitempty"`
	Credentials []string `json:"credentials,omitempty"`
}

// factView is something that the operator found in the files.
type factView struct {
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Where string `json:"where,omitempty"`
}

type adviceView struct {
	Run  string `json:"run"`
	Text string `json:"text"`
}

// fileView is a file of the revision, or one that it does not have any more.
type fileView struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Program bool   `json:"program,omitempty"`
	// Change is added, changed, deleted or "".
	Change string `json:"change,omitempty"`
	// Raw is the path as it is, by which the diff is asked for.
	Raw string `json:"raw"`
}

// readSkill reads the skill that the path names.
func (q *query) readSkill(ctx context.Context) (*v1alpha1.Skill, error) {
	s := &v1alpha1.Skill{}
	return s, q.Client.Get(ctx, q.key(), s)
}

// readRevision reads a revision of the skill, the newest if the name is "".
func (q *query) readRevision(ctx context.Context, s *v1alpha1.Skill, name string) (*v1alpha1.SkillRevision, error) {
	if name == "" {
		if name = s.Status.RevisionName; name == "" {
			return nil, problem{http.StatusNotFound, fmt.Sprintf("The Skill %s/%s has no revision yet: %s", s.Namespace, s.Name, s.Status.Message)}
		}
	}
	rev := &v1alpha1.SkillRevision{}
	if err := q.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, rev); err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(rev, s) {
		return nil, problem{http.StatusNotFound, fmt.Sprintf("The SkillRevision %s is not one of the Skill %s.", name, s.Name)}
	}
	return rev, nil
}

// oneSkill shows a skill with the facts about a revision.
func oneSkill(ctx context.Context, q *query) (any, error) {
	s, err := q.readSkill(ctx)
	if err != nil {
		return nil, err
	}
	rev, err := q.readRevision(ctx, s, q.URL.Query().Get("revision"))
	if err != nil {
		return nil, err
	}
	policy, err := yaml.Marshal(s.Spec.Policy)
	if err != nil {
		return nil, err
	}
	hash := skill.PolicyHash(&s.Spec.Policy)
	v := &skillView{
		skillLine: skillLineOf(s), Revision: rev.Name, ContentHash: rev.Spec.ContentHash, PolicyHash: hash, Seen: seenOf(s), Policy: show.Text(string(policy)),
		Origin: show.Text(rev.Spec.Origin), Reviewed: rev.Status.ReviewTime != nil, Omitted: rev.Status.Omitted, Revisions: []revisionLine{},
		Rejected: slices.ContainsFunc(s.Spec.Rejections, func(r v1alpha1.SkillRejection) bool { return r.ContentHash == rev.Spec.ContentHash }),
	}
	if err := skill.CheckPolicy(&s.Spec.Policy); err != nil {
		v.Problem = "The policy cannot be granted: " + show.Text(err.Error())
	}
	for _, r := range s.Status.Revisions {
		v.Revisions = append(v.Revisions, revisionLine{r.Name, show.Text(r.RunName), instant(r.CreationTime)})
	}
	v.facts(s, rev)
	if err := v.changes(ctx, q, s, rev, hash); err != nil {
		return nil, err
	}
	if v.MayApprove, err = mayApprove(ctx, q.Client, s); err != nil {
		return nil, err
	}
	if v.Unreadable, err = unreadable(ctx, q.Client, rev); err != nil {
		return nil, err
	}
	if !v.MayApprove {
		v.ApproverRole = "motorcortex-skill-approver"
	}
	return map[string]any{"skill": v}, nil
}

// facts puts what the operator found into the view.
func (v *skillView) facts(s *v1alpha1.Skill, rev *v1alpha1.SkillRevision) {
	if from := rev.Spec.ExtractedFrom; from != nil {
		v.From = &fromView{Run: show.Text(from.RunName), Credentials: texts(from.Credentials)}
		for _, source := range from.Sources {
			v.From.Sources = append(v.From.Sources, show.Text(source.URL))
		}
	}
	if v.Reviewed {
		r := skill.ReviewPolicy(rev, &s.Spec.Policy)
		add := func(list *[]factView, kind string, names []string) {
			for _, n := range names {
				*list = append(*list, factView{Kind: kind, Text: show.Text(n)})
			}
		}
		add(&v.Missing, "domain", r.MissingDomains)
		add(&v.Missing, "variable", r.MissingCredentials)
		add(&v.Missing, "tool", r.MissingTools)
		add(&v.Missing, "package", r.MissingPackages)
		add(&v.Unused, "domain", r.UnusedDomains)
		add(&v.Unused, "credential", r.UnusedCredentials)
	}
	for _, f := range rev.Status.Findings {
		where := show.Text(f.Path)
		if f.Line > 0 {
			where += fmt.Sprintf(":%d", f.Line)
		}
		v.Findings = append(v.Findings, factView{string(f.Kind), show.Text(f.Message), where})
	}
	for _, a := range []*v1alpha1.RevisionAdvice{rev.Status.Advice, rev.Status.LatestAdvice} {
		if a != nil {
			v.Advice = append(v.Advice, adviceView{show.Text(a.RunName), show.Text(a.Text)})
		}
	}
}

// changes lists the files, with how they differ from those that are approved, or from those of the revision that the query names.
func (v *skillView) changes(ctx context.Context, q *query, s *v1alpha1.Skill, rev *v1alpha1.SkillRevision, policyHash string) error {
	var base []v1alpha1.RevisionFile
	against := q.URL.Query().Get("base")
	if a := s.Status.Approved; a != nil {
		v.Approved = &approvedView{Revision: a.RevisionName, By: show.Text(a.ApprovedBy), SamePolicy: a.PolicyHash == policyHash}
		if a.Note != nil {
			v.Approved.Note = show.Text(*a.Note)
		}
		against = cmp.Or(against, a.RevisionName)
	}
	if against != "" {
		compared, err := q.readRevision(ctx, s, against)
		if err != nil {
			return err
		}
		v.Base, base = compared.Name, compared.Spec.Files
	}
	change := map[string]string{}
	d := skill.Compare(base, rev.Spec.Files)
	for word, paths := range map[string][]string{"added": d.Added, "changed": d.Changed, "deleted": d.Deleted} {
		for _, p := range paths {
			change[p] = word
		}
	}
	v.Files = make([]fileView, 0, len(rev.Spec.Files)+len(d.Deleted))
	for _, f := range rev.Spec.Files {
		v.Files = append(v.Files, fileView{show.Text(f.Path), f.Size, f.Executable, change[f.Path], f.Path})
	}
	for _, p := range d.Deleted {
		v.Files = append(v.Files, fileView{Path: show.Text(p), Change: "deleted", Raw: p})
	}
	return nil
}
