// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// skillsPage is how many Skills are listed at a time: a person may have given one files, of 1 MiB and more.
	skillsPage = 25
)

// skill gives the Skill that a revision is to be of. One that the run did not begin with is made if it is not there; created says
// that the run made it, now or when it tried before.
func (c *skillCollector) skill(ctx context.Context, name string, own bool) (sk *v1alpha1.Skill, created bool, why string, err error) {
	sk = &v1alpha1.Skill{}
	err = c.box.engine.Live.Get(ctx, types.NamespacedName{Namespace: c.box.run.Namespace, Name: name}, sk)
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

// made says whether a Skill is one that this run made.
func (c *skillCollector) made(sk *v1alpha1.Skill) bool {
	return sk.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy && sk.Labels[v1alpha1.LabelRunUID] == string(c.box.run.UID)
}

// newSkill makes a Skill, if there may be one more. Between the counting and the making, no other loop makes one.
func (c *skillCollector) newSkill(ctx context.Context, name string) (sk *v1alpha1.Skill, why string, err error) {
	leave, err := c.box.engine.newSkills.enter(ctx, 1)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	if why, err := c.tooManySkills(ctx); err != nil || why != "" {
		return nil, why, err
	}
	_, credentials := c.saved()
	sk, _, err = c.store.EnsureSkill(ctx, c.box.run.Namespace, name, c.box.run.UID, credentials)
	if err != nil {
		why, err = storeProblem(err)
		return nil, why, err
	}
	return sk, "", nil
}

// tooManySkills says why the run makes no further Skill, "" if it may. Skills that runs made lie there until somebody looks at them,
// and a run can be told to make more of them than anybody ever does.
func (c *skillCollector) tooManySkills(ctx context.Context) (why string, err error) {
	made, undecided := 0, 0
	for next := ""; ; {
		var page v1alpha1.SkillList // Decoded into an old one, what an item has not got would stay that of the page before.
		err := c.box.engine.Live.List(ctx, &page, client.InNamespace(c.box.run.Namespace), client.Limit(skillsPage), client.Continue(next),
			client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})
		if err != nil {
			return "", fmt.Errorf("list the Skills that runs made: %w", err)
		}
		for i := range page.Items {
			if c.made(&page.Items[i]) {
				made++
			}
			if skill.AwaitsDecision(&page.Items[i].Spec) {
				undecided++
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	switch {
	case made >= maxNewSkills:
		return fmt.Sprintf("the run has made %d new Skills, and a run makes no more: let another run make the rest", made), nil
	case undecided >= maxUndecidedSkills:
		return fmt.Sprintf("there are %d Skills that runs made and nobody has decided about, and there may be no more: approve, reject or delete some of "+
			"kubectl -n %s get skills -l %s=%s", undecided, c.box.run.Namespace, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy), nil
	}
	return "", nil
}

// tooManyProposals says why the run proposes no further revision of a Skill, "" if it may. What a person is about to approve must not
// be pushed out by what comes after it, so there is no room for more until somebody decides.
func (c *skillCollector) tooManyProposals(ctx context.Context, sk *v1alpha1.Skill) (why string, err error) {
	var list v1alpha1.SkillRevisionList
	err = c.box.engine.Live.List(ctx, &list, client.InNamespace(sk.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(sk.Name)})
	if err != nil {
		return "", fmt.Errorf("list the revisions of the Skill %s: %w", sk.Name, err)
	}
	if n := len(skill.Undecided(&sk.Spec, list.Items)); n >= skill.MaxProposals {
		return fmt.Sprintf("the Skill %s has %d proposals that nobody has decided about, and there may be no more: approve one of them, which passes over those "+
			"before it, or reject some", sk.Name, n), nil
	}
	return "", nil
}
