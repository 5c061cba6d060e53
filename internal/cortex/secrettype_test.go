// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestHoldsOtherThings(t *testing.T) {
	t.Parallel()
	for kind, want := range map[corev1.SecretType]bool{
		"": false, corev1.SecretTypeOpaque: false, corev1.SecretTypeBasicAuth: false, corev1.SecretTypeSSHAuth: false, "example.org/token": false,
		"kubernetes.io/service-account-token": true, "bootstrap.kubernetes.io/token": true, "helm.sh/release.v1": true, "helm.sh/release.v2": true,
		"kubernetes.io/tls": true, "kubernetes.io/dockercfg": true, "kubernetes.io/dockerconfigjson": true,
	} {
		if got := HoldsOtherThings(kind); got != want {
			t.Errorf("%q: %t, want %t", kind, got, want)
		}
	}
}

// release is a Secret in which Helm stores a release.
type release struct{ client.Reader }

func (release) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*corev1.Secret) = corev1.Secret{Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte("all values of a chart")}}
	return nil
}

func TestKeyIsNotOfAnotherKind(t *testing.T) {
	t.Parallel()
	r := Resolver{Secrets: release{}}
	_, err := r.endpoint(t.Context(), "ns", &v1alpha1.ModelEndpoint{BaseURL: "https://theirs.example.org/v1", Model: "m", APIKeySecretRef: ref("keys", "release")})
	_, searchErr := r.SearchKey(t.Context(), "ns", &v1alpha1.SearchProvider{APIKeySecretRef: ref("keys", "release")})
	_, _, sinkErr := r.SinkSecrets(t.Context(), "ns", &v1alpha1.SignalSink{SigningKeySecretRef: ref("keys", "release")})
	for what, err := range map[string]error{"model": err, "search provider": searchErr, "sink": sinkErr} {
		p, ok := AsProblem(err)
		if !ok || p.Reason != v1alpha1.ReasonModelSecretForbidden || !strings.Contains(p.Message, "helm.sh/release.v1") || !strings.Contains(p.Message, what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
