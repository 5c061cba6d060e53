// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
)

// The right to use a Secret is for the hosts that it names. Other hosts need a right of the creator of the run. Or the person who approved its
// skill must have approved this very Secret for these very hosts. A value that a run saved goes only to the hosts it was saved for, independent of
// the requester.
func TestBound(t *testing.T) {
	t.Parallel()
	ref, other := v1alpha1.SecretKeyRef{Name: "keys", Key: "token"}, v1alpha1.SecretKeyRef{Name: "keys", Key: "another"}
	skill := func(approved bool, name string, ref *v1alpha1.SecretKeyRef, hosts ...v1alpha1.Domain) *v1alpha1.RunSkill {
		return &v1alpha1.RunSkill{Name: "weather", Approved: approved, Policy: &v1alpha1.SkillPolicy{
			Credentials: []v1alpha1.SkillCredential{{Name: name, SecretRef: ref, Hosts: hosts}},
		}}
	}
	const host = "api.example.org"
	for name, tt := range map[string]struct {
		kind    corev1.SecretType
		named   string
		skill   *v1alpha1.RunSkill
		chooses bool
		want    bool
	}{
		"named":                            {named: "other.example.org, " + host, want: true},
		"not named":                        {named: "other.example.org"},
		"what cannot be read":              {named: "https://" + host},
		"whoever created the run chooses":  {chooses: true, want: true},
		"saved for it":                     {kind: SecretType, named: host, want: true},
		"saved for another":                {kind: SecretType, named: "other.example.org", chooses: true, skill: skill(true, "key", &ref, host)},
		"bound by an approved skill":       {skill: skill(true, "key", &ref, host), want: true},
		"by one that nobody approved":      {skill: skill(false, "key", &ref, host)},
		"to another key of the Secret":     {skill: skill(true, "key", &other, host)},
		"to no Secret":                     {skill: skill(true, "key", nil, host)},
		"under another name":               {skill: skill(true, "other", &ref, host)},
		"for other hosts":                  {skill: skill(true, "key", &ref, "other.example.org")},
		"for more hosts":                   {skill: skill(true, "key", &ref, "*.example.org"), want: true},
		"a skill whose policy is not here": {skill: &v1alpha1.RunSkill{Name: "weather", Approved: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Annotations: map[string]string{AnnotationHosts: tt.named}}, Type: tt.kind}
			run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Skill: tt.skill}}
			c := &v1alpha1.Credential{Name: "key", SecretRef: ref, Hosts: []v1alpha1.Domain{host}}
			err := bound(secret, run, c, func() (bool, error) { return tt.chooses, nil })
			p, refused := errors.AsType[*cortex.Problem](err)
			if refused == tt.want || refused && p.Reason != v1alpha1.ReasonCredentialForbidden {
				t.Errorf("got %v", err)
			}
		})
	}
	unknown := errors.New("the API server is not there")
	c := &v1alpha1.Credential{Name: "key", SecretRef: ref, Hosts: []v1alpha1.Domain{host}}
	if err := bound(&corev1.Secret{}, &v1alpha1.MotorRun{}, c, func() (bool, error) { return true, unknown }); !errors.Is(err, unknown) {
		t.Errorf("where the right cannot be asked for: %v", err)
	}
}
