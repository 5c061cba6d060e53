// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Who may write Skills learns nothing of what listens beside the manager: whatever is there, the condition says the same.
func TestSkillSourcesWithinTheClusterAreRefused(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "sources")
	for i, registry := range []string{"localhost:8081", "kubernetes.default.svc:443", "motorcortex-manager-metrics.motorcortex-system.svc:8443", "169.254.169.254"} {
		name := fmt.Sprintf("inside-%d", i)
		must(t, suite.client.Create(t.Context(), &v1alpha1.Skill{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec:       v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: registry + "/team/skill:v1"}}},
		}))
		var message string
		awaitSkill(t, ns, name, soon, "that its source was tried", func(s *v1alpha1.Skill) bool {
			c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSourceReady)
			if c != nil {
				message = c.Message
			}
			return c != nil && c.Reason == v1alpha1.ReasonSourceUnavailable
		})
		if !strings.Contains(message, "has an address that the manager does not connect with") {
			t.Errorf("%s: %s", registry, message)
		}
	}
}
