// SPDX-License-Identifier: Apache-2.0

package savedcredential

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// A run of an approved skill saves the credentials that the skill declares, for the hosts that the skill declares, and replaces them when they
// expire.
func TestCredentialsOfASkill(t *testing.T) {
	t.Parallel()
	mail, own := reach.SavedSecret("mail_key"), v1alpha1.SecretKeyRef{Name: "mine", Key: "k"}
	run := &v1alpha1.MotorRun{}
	run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", Approved: true, Policy: &v1alpha1.SkillPolicy{Credentials: []v1alpha1.SkillCredential{
		{Name: "mail_key", Hosts: []v1alpha1.Domain{"*.mail.dev"}, SecretRef: &mail}, {Name: "free_key", Hosts: []v1alpha1.Domain{"free.dev"}},
		{Name: "own_key", Hosts: []v1alpha1.Domain{"own.dev"}, SecretRef: &own},
	}}}
	without := &v1alpha1.MotorRun{}
	for name, c := range map[string]struct {
		run              *v1alpha1.MotorRun
		credential, host string
		refused          string
		rotates          bool
	}{
		"declared":                     {run, "mail_key", "api.mail.dev", "", true},
		"declared without a Secret":    {run, "free_key", "free.dev", "", true},
		"declared with another Secret": {run, "own_key", "own.dev", "", false},
		"for another host":             {run, "mail_key", "evil.dev", "sends the credential mail_key to other hosts than evil.dev", true},
		"not declared":                 {run, "other_key", "api.mail.dev", "declares no credential other_key", false},
		"in a run that has no skill":   {without, "mail_key", "api.mail.dev", "", false},
	} {
		store := &Store{Env: &runenv.Env{Run: c.run}}
		err := store.declared(c.credential, []string{c.host})
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", name, err)
		}
		if got := store.belongsToSkill(c.credential); got != c.rotates {
			t.Errorf("%s: it replaces another run's: %t", name, got)
		}
	}
}
