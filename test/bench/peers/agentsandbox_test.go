// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestThePoolIsFullWhenEachOfItsSandboxesIsReady(t *testing.T) {
	t.Parallel()
	b := bench()
	if err := b.Client.Create(t.Context(), b.pool()); err != nil {
		t.Fatal(err)
	}
	add := func(name, owner, status string) {
		o := withCondition(name, status)
		o.SetGroupVersionKind(sandboxKind)
		o.SetNamespace(b.Namespace)
		o.SetOwnerReferences([]metav1.OwnerReference{{Kind: owner, Name: poolName}})
		if err := b.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	add("claimed", claimKind.Kind, "False")
	add("first", poolKind.Kind, "True")
	if err := b.fill(t.Context(), 1); err != nil {
		t.Errorf("a full pool: %v", err)
	}
	add("second", poolKind.Kind, "False")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.fill(ctx, 2); err == nil {
		t.Error("a pool with one sandbox that is not ready is taken for full")
	}
}

func TestATemplateHasThePod(t *testing.T) {
	t.Parallel()
	b := bench()
	b.Pod = corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "sandbox:1"}}}
	template, err := b.template()
	if err != nil {
		t.Fatal(err)
	}
	pod := template.Object["spec"].(map[string]any)["podTemplate"].(map[string]any)["spec"].(map[string]any)
	if first := pod["containers"].([]any)[0].(map[string]any); first["image"] != "sandbox:1" {
		t.Errorf("the template's container is %v", first)
	}
}
