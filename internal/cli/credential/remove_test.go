// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func (r *rig) there(name string) bool {
	return r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &corev1.Secret{}) == nil
}

func TestDeleteSaysWhichRunsAndServicesWillMissIt(t *testing.T) {
	t.Parallel()
	key := &v1alpha1.SecretKeyRef{Name: "saved", Key: "value"}
	run := func(name string, conditions ...metav1.Condition) *v1alpha1.MotorRun {
		return &v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.MotorRunSpec{Credentials: []v1alpha1.Credential{{Name: "weather_key", SecretRef: *key}}},
			Status: v1alpha1.MotorRunStatus{Conditions: conditions},
		}
	}
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CortexName}, Spec: v1alpha1.MotorCortexSpec{
		Models:  v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "m-1", APIKeySecretRef: key}},
		Search:  &v1alpha1.SearchProvider{APIKeySecretRef: key},
		Signals: &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{{Name: "bus", SigningKeySecretRef: key}}},
	}}
	r := newRig(t, interceptor.Funcs{}, credentialSecret("saved", nil), cortex, run("under-way"), run("over", metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}))
	r.want(4, []string{"delete", "saved"}, "The run under-way, which has not ended, will miss it.", "The MotorCortex, for the model m-1, will miss it.", "for search,", "for the sink bus,")
	if _, _, errs := r.run("delete", "saved"); strings.Contains(errs, "The run over") {
		t.Errorf("a run that has ended is named: %s", errs)
	}
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
