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
	// maxNewSkills is how many Skills of a namespace one run may create. maxUndecidedSkills is how many Skills made by runs may await a decision.
	// Replicas do not coordinate: each can exceed the second by one when they create Skills at the same moment.
	maxNewSkills       = 8
	maxUndecidedSkills = 50
	// emptySkillAge is how long a Skill without files counts. unsettledAge is how long a revision counts that the status of its Skill does not
	// list. Storing files does not take that long: the creation of older ones was cut short, as by a quota, and no person can decide
	// about them.
	emptySkillAge = time.Hour
	unsettledAge  = 5 * time.Minute
	// pageSize is how many Skills are listed at a time: a person may have added files of 1 MiB and more to one.
	pageSize = 8
)

// skill returns the Skill that a revision will belong to. It creates a missing Skill unless the run began with it. created is true if
// the run created it, now or in an earlier try.
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

// newSkill creates a Skill, if another one is allowed. No other loop creates one between the count and the creation.
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

// tooManySkills returns why the run may create no further Skill, "" if it may. Skills made by runs stay until a person looks at them,
// and a run can be made to create more of them than people ever review.
func (c *Collector) tooManySkills(ctx context.Context) (why string, err error) {
	made, undecided, empty := 0, 0, 0
	for next := ""; ; {
		var page v1alpha1.SkillList // If it were reused, omitted fields of an item would retain the values of the page before.
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
		return fmt.Sprintf("there are %d undecided Skills that runs made, and there may be no more: these files are not kept, "+
			"run it again after you have approved, rejected or deleted some of kubectl -n %s get skills -l %s=%s%s",
			undecided, c.env.Run.Namespace, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy, hint), nil
	}
	return "", nil
}

// isLeft reports whether a Skill without files will get none any more. Until the operator has processed it, it may have some.
func (c *Collector) isLeft(sk *v1alpha1.Skill) bool {
	return sk.Status.ObservedGeneration > 0 && c.env.APINow().Sub(sk.CreationTimestamp.Time) >= emptySkillAge
}

// tooManyProposals returns why the run may propose no further revision of a Skill, "" if it may. Later proposals must not displace one that
// a person is about to approve, so no more are accepted until a person decides.
func (c *Collector) tooManyProposals(ctx context.Context, sk *v1alpha1.Skill) (why string, err error) {
	var list v1alpha1.SkillRevisionList
	err = c.env.Live.List(ctx, &list, client.InNamespace(sk.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(sk.Name)})
	if err != nil {
		return "", fmt.Errorf("list the revisions of the Skill %s: %w", sk.Name, err)
	}
	revisions := slices.DeleteFunc(list.Items, func(rev v1alpha1.SkillRevision) bool { return !c.canBeDecided(sk, &rev) })
	if n := len(skill.Undecided(&sk.Spec, &sk.Status, revisions)); n >= skill.MaxProposals {
		return fmt.Sprintf("the Skill %s has %d undecided proposals, and there may be no more: these files are not kept, run it again "+
			"after you have approved one of them, which passes over those before it, or rejected some", sk.Name, n), nil
	}
	return "", nil
}

// canBeDecided reports whether a person can decide about a revision of the Skill, or will soon. A revision of an earlier Skill of the same
// name is deleted with that Skill.
func (c *Collector) canBeDecided(sk *v1alpha1.Skill, rev *v1alpha1.SkillRevision) bool {
	if rev.DeletionTimestamp != nil || !metav1.IsControlledBy(rev, sk) {
		return false
	}
	return c.env.APINow().Sub(rev.CreationTimestamp.Time) < unsettledAge ||
		slices.ContainsFunc(sk.Status.Revisions, func(sum v1alpha1.RevisionSummary) bool { return sum.Name == rev.Name })
}
