// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/decisions"
)

// manifest is the file that a skill has its name and description in.
const manifest = "SKILL.md"

// Skills returns the skills of the namespace, in the order of their names, and how many there are. limit is the most that are returned. They lack
// spec.source.files.
func (c *Client) Skills(ctx context.Context, limit int) (skills []v1alpha1.Skill, total int, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	err = inPages(options, func(o metav1.ListOptions) (string, error) {
		page, err := c.skills().List(ctx, o)
		if err != nil {
			return "", c.refused("list the skills of the namespace "+c.namespace, err, roleViewer)
		}
		total += len(page.Items)
		// The API server lists in the order of the names.
		for _, skill := range page.Items[:min(len(page.Items), limit-len(skills))] {
			if source := skill.Spec.Source; source != nil {
				source.Files = nil
			}
			skills = append(skills, skill)
		}
		return page.Continue, nil
	})
	if err != nil {
		return nil, 0, err
	}
	return skills, total, nil
}

// Skill reads a skill.
func (c *Client) Skill(ctx context.Context, name string) (*v1alpha1.Skill, error) {
	skill, err := c.skills().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no skill %s in the namespace %s: list them: %w", name, c.namespace, err)
	case err != nil:
		return nil, c.refused("get the skill "+name, err, roleViewer)
	}
	return skill, nil
}

// SkillRevision reads a revision of a skill. Its status has what a person should look at. An empty revision is the newest one.
func (c *Client) SkillRevision(ctx context.Context, skill *v1alpha1.Skill, revision string) (*v1alpha1.SkillRevision, error) {
	if revision == "" {
		if revision = skill.Status.RevisionName; revision == "" {
			return nil, fmt.Errorf("the skill %s has no revision yet: %s", skill.Name, skill.Status.Message)
		}
	}
	rev, err := c.clients.Motor.MotorCortexV1alpha1().SkillRevisions(c.namespace).Get(ctx, revision, metav1.GetOptions{})
	if err != nil {
		return nil, c.refused("get the revision "+revision, err, roleViewer)
	}
	if !metav1.IsControlledBy(rev, skill) {
		return nil, fmt.Errorf("the revision %s is not one of the skill %s", revision, skill.Name)
	}
	return rev, nil
}

// SkillFile reads one file of a revision, and returns it only if it is the one that the revision lists. It needs the right to get ConfigMaps.
func (c *Client) SkillFile(ctx context.Context, rev *v1alpha1.SkillRevision, path string) ([]byte, error) {
	var skip, size int64
	at := -1
	for i, f := range rev.Spec.Files {
		if f.Path == path {
			at, size = i, f.Size
			break
		}
		skip += f.Size
	}
	if at < 0 {
		return nil, fmt.Errorf("the revision %s has no file %q", rev.Name, path)
	}
	var content []byte
	for _, name := range rev.Spec.ConfigMapNames {
		if int64(len(content)) >= size {
			break
		}
		cm, err := c.clients.Core.CoreV1().ConfigMaps(c.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, c.refused("get the ConfigMap "+name+" of the revision "+rev.Name, err, "view")
		}
		if !metav1.IsControlledBy(cm, rev) {
			return nil, fmt.Errorf("the ConfigMap %s is not one of the revision %s", name, rev.Name)
		}
		part := cm.BinaryData["content"]
		from := min(skip, int64(len(part)))
		skip -= from
		content = append(content, part[from:min(int64(len(part)), from+size-int64(len(content)))]...)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != rev.Spec.Files[at].SHA256 {
		return nil, fmt.Errorf("the file %q of the revision %s is not what the revision lists: its ConfigMaps are damaged", path, rev.Name)
	}
	return content, nil
}

// Proposal is a skill that is written, and that a person has not approved.
type Proposal struct {
	// Name is the one in SKILL.md: 1 to 64 of a-z, 0-9 and single hyphens between them.
	Name string
	// Files are those of the skill's folder, SKILL.md among them.
	Files []v1alpha1.SkillFile
	// Policy is what runs of the skill may use once it is approved.
	Policy v1alpha1.SkillPolicy
}

func (p *Proposal) check() error {
	if p.Name == "" {
		return errors.New("the name of the skill is empty")
	}
	if !slices.ContainsFunc(p.Files, func(f v1alpha1.SkillFile) bool { return f.Path == manifest }) {
		return fmt.Errorf("the skill %s has no file %s", p.Name, manifest)
	}
	return nil
}

// ProposeSkill creates a skill. Runs can use it when a person has approved it.
func (c *Client) ProposeSkill(ctx context.Context, p Proposal) (*v1alpha1.Skill, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	skill := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: c.namespace}, Spec: v1alpha1.SkillSpec{
		Source: &v1alpha1.SkillSource{Files: p.Files}, Policy: p.Policy,
	}}
	created, err := c.skills().Create(ctx, skill, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("there is a skill %s already: choose another name, or update it", p.Name)
	case err != nil:
		return nil, c.refused("propose the skill "+p.Name, err, roleEditor)
	}
	return created, nil
}

// UpdateSkill changes the files of a skill that has them in its spec, and its policy. An approved skill needs a new approval then, and no run can use it
// until it has one. change gets the spec as it is; what it does to anything else is not sent.
func (c *Client) UpdateSkill(ctx context.Context, name string, change func(*v1alpha1.SkillSpec) error) (*v1alpha1.Skill, error) {
	skill, err := c.Skill(ctx, name)
	if err != nil {
		return nil, err
	}
	if skill.Spec.Source == nil && equality.Semantic.DeepEqual(skill.Spec.Policy, v1alpha1.SkillPolicy{}) {
		return nil, fmt.Errorf("a run wrote the skill %s: let a run of the skill propose a repair, and a person sets its policy", name)
	}
	changed := skill.Spec.DeepCopy()
	if err := change(changed); err != nil {
		return nil, err
	}
	spec := skill.Spec.DeepCopy()
	spec.Policy = changed.Policy
	if !equality.Semantic.DeepEqual(changed.Source, skill.Spec.Source) {
		if skill.Spec.Source == nil || skill.Spec.Source.Files == nil || changed.Source == nil {
			return nil, fmt.Errorf("the files of the skill %s do not come from its spec: change them at their source, or let a run of the skill propose a repair", name)
		}
		p := Proposal{Name: name, Files: changed.Source.Files}
		if err := p.check(); err != nil {
			return nil, err
		}
		spec.Source.Files = changed.Source.Files
	}
	body, err := decisions.Replace(skill, spec)
	if body == nil && err == nil {
		return nil, fmt.Errorf("the skill %s is like that already", name)
	}
	return c.patchSkill(ctx, "update the skill "+name, skill, roleEditor, body, err)
}

// ApproveSkill lets runs use exactly that content with exactly that policy: contentHash and policyHash of the status, as the person saw them. An earlier
// revision of status.revisions can be approved by its contentHash, too.
func (c *Client) ApproveSkill(ctx context.Context, name, contentHash, policyHash, note string) (*v1alpha1.Skill, error) {
	skill, err := c.Skill(ctx, name)
	if err != nil {
		return nil, err
	}
	st := &skill.Status
	known := func(r v1alpha1.RevisionSummary) bool { return r.ContentHash == contentHash }
	switch {
	case st.ObservedGeneration < skill.Generation:
		return nil, fmt.Errorf("the operator has not looked at the newest change of the skill %s: look at it again in a moment", name)
	case contentHash != st.ContentHash && !slices.ContainsFunc(st.Revisions, known):
		return nil, fmt.Errorf("the skill %s has no revision with the contentHash %q, its newest is %s: look at it, and approve what you saw", name, contentHash, st.ContentHash)
	case policyHash != st.PolicyHash:
		return nil, fmt.Errorf("the policy of the skill %s has the hash %s, and not %q: look at it, and approve what you saw", name, st.PolicyHash, policyHash)
	}
	user, err := c.user(ctx)
	if err != nil {
		return nil, err
	}
	body, err := decisions.Approve(skill, &skill.Spec.Policy, &v1alpha1.SkillApproval{
		Decision: v1alpha1.SkillDecisionApproved, ContentHash: contentHash, PolicyHash: policyHash, Note: note, ApprovedBy: user, Account: user,
	})
	return c.patchSkill(ctx, "approve the skill "+name, skill, roleSkillApprover, body, err)
}

const roleSkillApprover = "motorcortex-skill-approver"

// RejectSkill records that a person looked at a content and does not want it. An approval of that content stays: revoke it.
func (c *Client) RejectSkill(ctx context.Context, name, contentHash, note string) (*v1alpha1.Skill, error) {
	skill, err := c.Skill(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case contentHash == "":
		return nil, errors.New("the contentHash of what is rejected is empty")
	case slices.ContainsFunc(skill.Spec.Rejections, func(r v1alpha1.SkillRejection) bool { return r.ContentHash == contentHash }):
		return nil, fmt.Errorf("the content %s of the skill %s is rejected already", contentHash, name)
	}
	user, err := c.user(ctx)
	if err != nil {
		return nil, err
	}
	body, err := decisions.Reject(skill, v1alpha1.SkillRejection{ContentHash: contentHash, RejectedBy: user, Note: note})
	return c.patchSkill(ctx, "reject the skill "+name, skill, roleSkillApprover, body, err)
}

// RevokeSkill takes the approval of a skill back. Runs under way go on with what they were given.
func (c *Client) RevokeSkill(ctx context.Context, name, note string) (*v1alpha1.Skill, error) {
	skill, err := c.Skill(ctx, name)
	if err != nil {
		return nil, err
	}
	user, err := c.user(ctx)
	if err != nil {
		return nil, err
	}
	body, err := decisions.Revoke(skill, user, note)
	return c.patchSkill(ctx, "revoke the skill "+name, skill, roleSkillApprover, body, err)
}

// DeleteSkill deletes a skill with its revisions.
func (c *Client) DeleteSkill(ctx context.Context, name string) error {
	skill, err := c.Skill(ctx, name)
	if err != nil {
		return err
	}
	uid := skill.UID
	if err := c.skills().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		return c.refused("delete the skill "+name, err, roleEditor)
	}
	return nil
}

// patchSkill sends a patch of a skill that was read, unless making it failed with err.
func (c *Client) patchSkill(ctx context.Context, does string, read *v1alpha1.Skill, role string, body []byte, err error) (*v1alpha1.Skill, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", does, err)
	}
	patched, err := c.skills().Patch(ctx, read.Name, types.JSONPatchType, body, metav1.PatchOptions{})
	if err == nil {
		return patched, nil
	}
	if now, failed := c.skills().Get(ctx, read.Name, metav1.GetOptions{}); failed == nil {
		if err := decisions.Refused(err, read, now); errors.Is(err, decisions.ErrChanged) {
			return nil, fmt.Errorf("%s: %w", does, err)
		}
	}
	return nil, c.refused(does, err, role)
}

// minSuccess is the part of the runs behind a consolidated skill that must have succeeded, in percent.
const minSuccess = 80

// maxEvidence is the most runs that a consolidation names.
const maxEvidence = 20

// Evidence is what the runs behind a consolidated skill came to.
type Evidence struct {
	Runs           int     `json:"runs"`
	Succeeded      int     `json:"succeeded"`
	SuccessRate    int     `json:"successRatePercent"`
	MeanIterations float64 `json:"meanIterations"`
	ToolCalls      int32   `json:"toolCalls"`
	Errors         int32   `json:"errors"`
	Tokens         int64   `json:"tokens"`
}

// Consolidate proposes a skill out of runs that did the same kind of task: they must have ended, and at least 80% of them succeeded. The skill waits for a
// person's approval as any other one. The runs are evidence for that person; nothing replays them.
func (c *Client) Consolidate(ctx context.Context, p Proposal, runs []string) (*v1alpha1.Skill, *Evidence, error) {
	slices.Sort(runs)
	runs = slices.Compact(runs)
	if len(runs) == 0 || len(runs) > maxEvidence {
		return nil, nil, fmt.Errorf("name 1 to %d runs that did the task", maxEvidence)
	}
	e := &Evidence{Runs: len(runs)}
	var iterations int32
	for _, name := range runs {
		run, err := c.Run(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if run.Status.CompletionTime == nil {
			return nil, nil, fmt.Errorf("the run %s has not ended: consolidate what is done", name)
		}
		if apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) {
			e.Succeeded++
		}
		if r := run.Status.Result; r != nil {
			iterations += r.Stats.Iterations
			e.ToolCalls += r.Stats.ToolCalls
			e.Errors += r.Stats.Errors
			e.Tokens += r.Stats.Tokens
		}
	}
	e.SuccessRate = e.Succeeded * 100 / e.Runs
	e.MeanIterations = float64(iterations) / float64(e.Runs)
	if e.SuccessRate < minSuccess {
		return nil, e, fmt.Errorf("%d of %d runs succeeded: a skill needs %d%%. Name runs that do the task the way that works", e.Succeeded, e.Runs, minSuccess)
	}
	skill, err := c.ProposeSkill(ctx, p)
	return skill, e, err
}
