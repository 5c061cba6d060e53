// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func (r *rig) there(name string) bool {
	return r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &corev1.Secret{}) == nil
}

func TestDeleteSaysWhoWillMissIt(t *testing.T) {
	t.Parallel()
	other := credentialSecret("other", nil)
	other.Labels = nil
	r := newRig(t, interceptor.Funcs{}, credentialSecret("saved", nil), other, skillUsing("agentmail", "saved", v1alpha1.SkillApproved), skillUsing("draft", "saved", v1alpha1.SkillRevoked))
	r.want(4, []string{"delete", "saved"}, "The approved skill agentmail will miss it, as weather_key.", "say --yes")
	if _, _, errs := r.run("delete", "saved"); strings.Contains(errs, "draft") {
		t.Errorf("a skill that is not approved is named: %s", errs)
	}
	r.asked, r.in = true, strings.NewReader("\n")
	r.want(1, []string{"delete", "saved"}, "Delete the credential saved? [y/N] ", "nothing was deleted")
	r.in = strings.NewReader("")
	r.want(1, []string{"delete", "saved"}, "nothing was deleted")
	if !r.there("saved") {
		t.Fatal("it is gone")
	}
	r.in = strings.NewReader("Yes\n")
	r.want(0, []string{"delete", "saved"}, "secret/saved deleted")
	r.want(1, []string{"delete", "saved", "--yes"}, "there is no Secret saved in the namespace ns")
	r.want(4, []string{"delete", "saved=" + value, "--yes"}, "the NAME is none that a Secret can have")
	r.want(1, []string{"delete", "other", "--yes"}, "the Secret ns/other is no credential")
	if r.there("saved") || !r.there("other") {
		t.Error("another Secret is gone")
	}
}
