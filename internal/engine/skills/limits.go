// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// maxNewSkills is how many Skills of a namespace one run has made, maxUndecidedSkills how many runs have made that nobody has
	// decided about. Replicas do not count for each other: each can be one beyond the second when they make Skills at the same moment.
	maxNewSkills       = 8
	maxUndecidedSkills = 50
	// emptySkillAge is how long a Skill without files counts, unsettledAge how long a revision that the status of its Skill does not
	// list does. Whoever stores files does not take that long: what is older was cut short, as by a quota, and nobody can decide
	// about it.
	emptySkillAge = time.Hour
	unsettledAge  = 5 * time.Minute
	// pageSize is how many Skills are listed at a time: a person may have given one files, of 1 MiB and more.
	pageSize = 8
)

// skill returns the Skill that a revision is to be of. One that the run did not begin with is made if it is not there; created says
// that the run made it, now or when it tried before.
func (c *Collector) skill(ctx context.Context, name string, own bool) (sk *v1alpha1.Skill, created bool, why string, err error) {
	sk = &v1alpha1.Skill{}
	err = c.env.Live.Get(ctx, types.NamespacedName{Namespace: c.env.Run.Namespace, Name: name}, sk)
	switch {
	case apierrors.IsNotFound(err) && own:
		return nil, false, "the Skill " + name + " was deleted", nil
	case apierrors.IsNotFound(err):
		sk, why, err = c.newSkill(ctx, name)
	case err != nil:
		err = fmt.Errorf("get the Skill %s: %w", name, err)
	}
	if err != nil || why != "" {
		return nil, false, why, err
	}
	if sk.DeletionTimestamp != nil {
		return nil, false, "the Skill " + name + " is being deleted", nil
	}
	return sk, !own && c.made(sk), "", nil
}

// made reports whether a Skill is one that this run made.
func (c *Collector) made(sk *v1alpha1.Skill) bool {
	return sk.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy && sk.Labels[v1alpha1.LabelRunUID] == string(c.env.Run.UID)
}

// newSkill makes a Skill, if there may be one more. Between the counting and the making, no other loop makes one.
func (c *Collector) newSkill(ctx context.Context, name string) (sk *v1alpha1.Skill, why string, err error) {
	ctx, leave, err := c.env.Acquire(ctx, &c.env.Limits.NewSkills, 1)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	if why, err := c.tooManySkills(ctx); err != nil || why != "" {
		return nil, why, err
	}
	_, credentials := c.saved()
	sk, _, err = c.store.EnsureSkill(ctx, c.env.Run.Namespace, name, c.env.Run.UID, credentials)
	if err != nil {
		why, err = storeProblem(err)
		return nil, why, err
	}
	return sk, "", nil
}

// tooManySkills says why the run makes no further Skill, "" if it may. Skills that runs made lie there until somebody looks at them,
// and a run can be told to make more of them than anybody ever does.
func (c *Collector) tooManySkills(ctx context.Context) (why string, err error) {
	made, undecided, empty := 0, 0, 0
	for next := ""; ; {
		var page v1alpha1.SkillList // Decoded into an old one, what an item has not got would stay that of the page before.
		err := c.env.Live.List(ctx, &page, client.InNamespace(c.env.Run.Namespace), client.Limit(pageSize), client.Continue(next),
			client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})
		if err != nil {
			return "", fmt.Errorf("list the Skills that runs made: %w", err)
		}
		for i := range page.Items {
			sk := &page.Items[i]
			if c.made(sk) {
				made++
			}
			hasFiles := len(sk.Status.Revisions) > 0
			if !skill.AwaitsDecision(sk) || !hasFiles && c.isLeft(sk) {
				continue
			}
			undecided++
			if !hasFiles {
				empty++
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	switch {
	case made >= maxNewSkills:
		return fmt.Sprintf("the run has made %d new Skills, and a run makes no more: these files are not kept, let another run make them", made), nil
	case undecided >= maxUndecidedSkills:
		hint := ""
		if empty > 0 {
			hint = fmt.Sprintf(" (%d without files: delete those)", empty)
		}
		return fmt.Sprintf("there are %d Skills that runs made and nobody has decided about, and there may be no more: these files are not kept, "+
			"run it again after you have approved, rejected or deleted some of kubectl -n %s get skills -l %s=%s%s",
			undecided, c.env.Run.Namespace, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy, hint), nil
	}
	return "", nil
}

// isLeft reports whether a Skill without files gets none any more. As long as the operator has not looked at it, it may have some.
func (c *Collector) isLeft(sk *v1alpha1.Skill) bool {
	return sk.Status.ObservedGeneration > 0 && c.env.APINow().Sub(sk.CreationTimestamp.Time) >= emptySkillAge
}

// tooManyProposals says why the run proposes no further revision of a Skill, "" if it may. What a person is about to approve must not
// be pushed out by what comes after it, so there is no room for more until somebody decides.
func (c *Collector) tooManyProposals(ctx context.Context, sk *v1alpha1.Skill) (why string, err error) {
	var list v1alpha1.SkillRevisionList
	err = c.env.Live.List(ctx, &list, client.InNamespace(sk.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(sk.Name)})
	if err != nil {
		return "", fmt.Errorf("list the revisions of the Skill %s: %w", sk.Name, err)
	}
	revisions := slices.DeleteFunc(list.Items, func(rev v1alpha1.SkillRevision) bool { return !c.canBeDecided(sk, &rev) })
	if n := len(skill.Undecided(&sk.Spec, &sk.Status, revisions)); n >= skill.MaxProposals {
		return fmt.Sprintf("the Skill %s has %d proposals that nobody has decided about, and there may be no more: these files are not kept, run it again "+
			"after you have approved one of them, which passes over those before it, or rejected some", sk.Name, n), nil
	}
	return "", nil
}

// canBeDecided reports whether a person can decide about a revision of the Skill, or will soon. One of a Skill that had that name before
// goes away with it.
func (c *Collector) canBeDecided(sk *v1alpha1.Skill, rev *v1alpha1.SkillRevision) bool {
	if rev.DeletionTimestamp != nil || !metav1.IsControlledBy(rev, sk) {
		return false
	}
	return c.env.APINow().Sub(rev.CreationTimestamp.Time) < unsettledAge ||
		slices.ContainsFunc(sk.Status.Revisions, func(sum v1alpha1.RevisionSummary) bool { return sum.Name == rev.Name })
}
