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
		"motorcortex.dev/credential": false, "motorcortex.dev/egress-grant": true,
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

func TestSavedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hosts, url string
		want       bool
	}{
		"the host":                   {"other.example.org, api.example.org", "https://api.example.org/v1", true},
		"below the domain":           {"*.example.org", "https://api.example.org/v1", true},
		"another host":               {"api.example.org", "https://evil.example.com/api.example.org", false},
		"another port":               {"api.example.org", "https://api.example.org:8443/v1", false},
		"the port":                   {"api.example.org:8443", "https://api.example.org:8443/v1", true},
		"without TLS":                {"api.example.org", "http://api.example.org/v1", false},
		"a mail server":              {"mail.example.org:587", "smtp://mail.example.org:587", true},
		"no annotation":              {"", "https://api.example.org/v1", false},
		"a list that cannot be read": {"api.example.org, https://x", "https://api.example.org/v1", false},
		"an address":                 {"api.example.org", "https://192.0.2.1/v1", false},
		"no URL":                     {"api.example.org", "://", false},
		"a user":                     {"api.example.org", "https://api.example.org@evil.example.com", false},
		"no host":                    {"api.example.org", "api.example.org", false},
	} {
		s := &corev1.Secret{}
		s.Annotations = map[string]string{AnnotationHosts: tt.hosts}
		if got := SavedFor(s, tt.url); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// saved is a Secret that a run has saved for one host.
type saved struct{ client.Reader }

func (saved) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s := corev1.Secret{Type: CredentialType, Data: map[string][]byte{"value": []byte("https://saved.example.org/s3cret"), "empty": nil}}
	s.Annotations = map[string]string{AnnotationHosts: "saved.example.org, saved.example.org:465, api.search.brave.com"}
	*into.(*corev1.Secret) = s
	return nil
}

// What a run has saved for its hosts goes to no other one, whatever a MotorCortex says.
func TestSavedValueGoesToItsHosts(t *testing.T) {
	t.Parallel()
	r, value := Resolver{Secrets: saved{}, Default: Endpoint{BaseURL: "https://manager.example.org/v1"}}, ref("keys", "value")
	model := func(url string) error {
		_, err := r.endpoint(t.Context(), "ns", &v1alpha1.ModelEndpoint{BaseURL: url, Model: "m", APIKeySecretRef: value})
		return err
	}
	search := func(url string) error {
		_, err := r.SearchKey(t.Context(), "ns", &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, URL: url, APIKeySecretRef: value})
		return err
	}
	authorization := func(url string) error {
		_, _, err := r.SinkSecrets(t.Context(), "ns", &v1alpha1.SignalSink{URL: url, AuthorizationSecretRef: value})
		return err
	}
	signing := func(url string) error {
		_, _, err := r.SinkSecrets(t.Context(), "ns", &v1alpha1.SignalSink{URL: url, SigningKeySecretRef: value})
		return err
	}
	receiver := func(url string) error {
		_, err := r.ReceiverSecret(t.Context(), "ns", value, "password", url)
		return err
	}
	const theirs, its = "https://theirs.example.org/v1", "https://saved.example.org/v1"
	for what, err := range map[string]error{
		"model": model(theirs), "model of the manager": model(""), "search provider": search(theirs), "sink": authorization(theirs), "sink's key": signing(theirs),
		"receiver": receiver("smtp://mail.example.org:587"),
	} {
		p, ok := AsProblem(err)
		if !ok || p.Reason != v1alpha1.ReasonModelSecretForbidden || !strings.Contains(p.Message, "saved.example.org") || strings.Contains(p.Message, "s3cret") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"model": model(its), "search provider": search(""), "sink": authorization(its), "sink's key": signing(its), "receiver": receiver("smtp://saved.example.org:465"),
		"receiver whose URL it is": receiver(""),
	} {
		if err != nil {
			t.Errorf("%s of its own host: %v", what, err)
		}
	}
}
