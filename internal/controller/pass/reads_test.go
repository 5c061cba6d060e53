// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func TestReads(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: new(true)}}}
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		node, &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "run"}}, &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "other"}},
	).Build()
	if runs, err := RunsOf(t.Context(), cache, "a"); err != nil || len(runs) != 1 || runs[0].Name != "run" {
		t.Errorf("the runs are %v, %v", runs, err)
	}
	for withoutNodes, want := range map[bool]bool{false: true, true: false} {
		cfg, err := SandboxConfig(t.Context(), cache, sandbox.Config{Image: "image"}, withoutNodes)
		if err != nil || cfg.UserNamespaces != want || cfg.Image != "image" {
			t.Errorf("without nodes %t: %+v, %v", withoutNodes, cfg, err)
		}
	}
}
