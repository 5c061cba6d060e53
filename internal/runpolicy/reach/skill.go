// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"fmt"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/skill"
)

// PinSkill returns the revision and the policy that a run with spec.skillRef uses from now on, or why it cannot use any. s is nil if there is no
// such Skill, and revisions of other Skills do not count. PinSkill decides again whether the skill is approved: the status may be old. A refusal
// that is not final may be over when the Skill or its revisions change.
func PinSkill(run *v1alpha1.MotorRun, s *v1alpha1.Skill, revisions []v1alpha1.SkillRevision, now time.Time) (*v1alpha1.RunSkill, *Refusal) {
	ref := run.Spec.SkillRef
	switch {
	case s == nil || s.DeletionTimestamp != nil:
		return nil, mayStart(v1alpha1.ReasonSkillNotFound, "There is no Skill %s. The run starts when there is.", ref.Name)
	case s.Status.ObservedGeneration != s.Generation:
		return nil, mayStart(v1alpha1.ReasonSkillNotApproved, "The operator has not looked at the Skill %s since it was changed. The run starts when it has.", s.Name)
	}
	own := slices.DeleteFunc(slices.Clone(revisions), func(r v1alpha1.SkillRevision) bool { return r.Spec.SkillName != s.Name || !skill.Sound(&r) })
	v := skill.Decide(skill.Observation{Revisions: own, Spec: &s.Spec, Status: &s.Status, Now: now})
	rev := wantedRevision(run, v, own)
	switch {
	case rev == nil && ref.RevisionName != "":
		return nil, mayStart(v1alpha1.ReasonSkillNotFound, "The Skill %s has no SkillRevision %s. The run starts when it has.", s.Name, ref.RevisionName)
	case rev == nil:
		return nil, mayStart(v1alpha1.ReasonSkillNotFound, "The Skill %s has no files yet. The run starts when it has.", s.Name)
	}
	pinned := &v1alpha1.RunSkill{Name: s.Name, RevisionName: rev.Name, ContentHash: rev.Spec.ContentHash}
	switch {
	case run.Spec.SkillReview:
		return pinned, nil
	case v.Approved != nil && v.Approved.Name == rev.Name:
		return pinApproved(run, s, pinned)
	}
	return pinUnapproved(run, s, v, pinned)
}

// mayStart returns a refusal that a change of something else ends.
func mayStart(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fit.CutEncoded(fmt.Sprintf(format, args...), fit.MaxFailureText)}
}

// wantedRevision returns the revision that the run means: the one that it names, or else the approved one. If the skill is not approved, and for a
// review, it is the newest.
func wantedRevision(run *v1alpha1.MotorRun, v skill.Verdict, own []v1alpha1.SkillRevision) *v1alpha1.SkillRevision {
	switch name := run.Spec.SkillRef.RevisionName; {
	case name != "":
		i := slices.IndexFunc(own, func(r v1alpha1.SkillRevision) bool { return r.Name == name })
		if i < 0 {
			return nil
		}
		return &own[i]
	case v.Approved != nil && !run.Spec.SkillReview:
		return v.Approved
	}
	return v.Revision
}

// pinApproved adds the policy.
func pinApproved(run *v1alpha1.MotorRun, s *v1alpha1.Skill, pinned *v1alpha1.RunSkill) (*v1alpha1.RunSkill, *Refusal) {
	if s.Status.State != v1alpha1.SkillApproved {
		return nil, mayStart(v1alpha1.ReasonSkillNotApproved, "The Skill %s is approved, and the operator has not said so yet. The run starts when it has.", s.Name)
	}
	policy := s.Spec.Policy.DeepCopy()
	if err := skill.CheckPolicy(policy); err != nil {
		return nil, finalRefusal(v1alpha1.ReasonPolicyInvalid, "The policy of the skill %s cannot be granted: %v.", s.Name, err)
	}
	if r := refuseExcess(run, policy); r != nil {
		return nil, r
	}
	if r := refuseInputs(run, policy.Inputs); r != nil {
		return nil, r
	}
	if skill.HasPackages(policy.Dependencies) {
		if s.Status.Packages == nil || s.Status.Packages.Archive == nil {
			return nil, mayStart(v1alpha1.ReasonSkillPackagesMissing, "The packages of the skill %s are not installed yet. The run starts when they are.", s.Name)
		}
		pinned.Packages = s.Status.Packages.Archive.DeepCopy()
	}
	pinned.PolicyHash, pinned.Approved, pinned.Policy = skill.PolicyHash(policy), true, policy
	return pinned, nil
}

// pinUnapproved lets the run use the files with the tools and rights that it names itself, and no more.
func pinUnapproved(run *v1alpha1.MotorRun, s *v1alpha1.Skill, v skill.Verdict, pinned *v1alpha1.RunSkill) (*v1alpha1.RunSkill, *Refusal) {
	// A run that narrows an approved skill looks just like one that uses the files as they are. If a person has decided about the skill, the first
	// must not silently become the second when the approval ends.
	if len(run.Spec.Tools) == 0 || s.Spec.Approval != nil && run.Spec.SkillRef.RevisionName == "" {
		return nil, refuseUnapproved(s, v, pinned.RevisionName)
	}
	if len(s.Spec.Policy.Inputs) > 0 {
		pinned.Policy = &v1alpha1.SkillPolicy{Inputs: s.Spec.Policy.DeepCopy().Inputs}
		if err := skill.CheckPolicy(pinned.Policy); err != nil {
			return nil, finalRefusal(v1alpha1.ReasonPolicyInvalid, "The inputs of the skill %s cannot be used: %v.", s.Name, err)
		}
	}
	if r := refuseInputs(run, s.Spec.Policy.Inputs); r != nil {
		return nil, r
	}
	return pinned, nil
}

// refuseUnapproved returns the refusal of a run that does not declare that it uses the files without the policy.
func refuseUnapproved(s *v1alpha1.Skill, v skill.Verdict, revision string) *Refusal {
	const advice = "Create another run when it is approved, or one with spec.tools and skillRef.revisionName: that has the files, and nothing of the policy."
	switch {
	case v.Approved != nil:
		return finalRefusal(v1alpha1.ReasonSkillNotApproved, "The revision %s of the skill %s is not the one that was approved, which is %s. %s",
			revision, s.Name, v.Approved.Name, advice)
	case v.State == v1alpha1.SkillPendingReview && s.Spec.Approval != nil:
		return mayStart(v1alpha1.ReasonSkillNotApproved, "The source of the Skill %s, which has an approval, was not read yet. The run starts when it was.", s.Name)
	}
	return finalRefusal(v1alpha1.ReasonSkillNotApproved, "The skill %s is not approved (%s). %s %s", s.Name, v.State, advice, v.Message)
}

func refuseInputs(run *v1alpha1.MotorRun, defs []v1alpha1.SkillInput) *Refusal {
	if _, err := skill.CheckInputs(defs, run.Spec.Inputs); err != nil {
		return finalRefusal(v1alpha1.ReasonSkillInputInvalid, "The inputs are not those of the skill: %v.", err)
	}
	return nil
}

// SkillInputs returns the inputs of the run's skill with their values, as PinSkill accepted them.
func SkillInputs(run *v1alpha1.MotorRun) []skill.Input {
	s := run.Status.Skill
	if s == nil || s.Policy == nil {
		return nil
	}
	inputs, err := skill.CheckInputs(s.Policy.Inputs, run.Spec.Inputs)
	if err != nil {
		return nil
	}
	return inputs
}
