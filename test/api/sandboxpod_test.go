// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The golden objects of the builders are what the API server takes, unchanged, under the strictest standard.
func TestGoldenSandboxIsAccepted(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, "pod-security.kubernetes.io/enforce", "restricted", "pod-security.kubernetes.io/enforce-version", "latest")
	for file, o := range map[string]client.Object{
		"pod.golden.yaml": &corev1.Pod{}, "pod-custom.golden.yaml": &corev1.Pod{}, "pod-volume.golden.yaml": &corev1.Pod{}, "networkpolicy.golden.yaml": &networkingv1.NetworkPolicy{},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "internal", "sandbox", "testdata", file))
			must(t, err)
			must(t, yaml.UnmarshalStrict(data, o))
			o.SetNamespace(ns)
			o.SetName(strings.TrimSuffix(file, ".golden.yaml"))
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.RuntimeClassName = nil // there is none here
				pod.Name += "-motor-sandbox"
			}
			must(t, manager.Create(ctx, o))
		})
	}
}
