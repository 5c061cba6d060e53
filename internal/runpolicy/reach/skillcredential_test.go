// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run may begin without a value only of what its approved skill declares, in the Secret that the skill means.
func TestComesLater(t *testing.T) {
	t.Parallel()
	named := v1alpha1.SecretKeyRef{Name: "mail", Key: "k"}
	run := func(change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
		r := &v1alpha1.MotorRun{}
		r.Status.Skill = &v1alpha1.RunSkill{Name: "mail", Approved: true, Policy: &v1alpha1.SkillPolicy{Credentials: []v1alpha1.SkillCredential{
			{Name: "mail_key"}, {Name: "named_key", SecretRef: &named},
		}}}
		for _, c := range change {
			c(r)
		}
		return r
	}
	for name, c := range map[string]struct {
		run        *v1alpha1.MotorRun
		credential string
		secret     v1alpha1.SecretKeyRef
		may, saved bool
	}{
		"what a run saves":     {run(), "mail_key", SavedSecret("mail_key"), true, true},
		"what a person named":  {run(), "named_key", named, true, false},
		"another Secret":       {run(), "mail_key", named, false, false},
		"what is not declared": {run(), "other_key", SavedSecret("other_key"), false, false},
		"not approved":         {run(func(r *v1alpha1.MotorRun) { r.Status.Skill.Approved = false }), "mail_key", SavedSecret("mail_key"), false, false},
		"no skill":             {run(func(r *v1alpha1.MotorRun) { r.Status.Skill = nil }), "mail_key", SavedSecret("mail_key"), false, false},
		"a review":             {run(func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }), "mail_key", SavedSecret("mail_key"), false, false},
	} {
		may, saved := ComesLater(c.run, &v1alpha1.Credential{Name: c.credential, SecretRef: c.secret})
		if may != c.may || saved != c.saved {
			t.Errorf("%s: %t, %t", name, may, saved)
		}
	}
}
