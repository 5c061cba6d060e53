// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/credential"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
)

// values are those of the grant, by the credential's name.
func values(g *egressgrant.Grant) map[string]string {
	m := map[string]string{}
	if g != nil {
		for _, c := range g.Credentials {
			m[c.Name] = string(c.Value.Reveal())
		}
	}
	return m
}

func (r *rig) wantValues(want map[string]string) {
	r.t.Helper()
	_, g := r.grantOf()
	got := values(g)
	if len(got) != len(want) {
		r.t.Errorf("the grant has %d credentials, want %d", len(got), len(want))
	}
	for name, v := range want {
		if got[name] != v {
			r.t.Errorf("the value of %s is not the one of its Secret", name)
		}
	}
}

func TestRotationDeletionAndReturn(t *testing.T) {
	r := egressRig(t, reaching("example.org"), using("service_key", "example.org"))
	r.ready()
	r.wantValues(map[string]string{"service_key": secretValue})
	_, before := r.grantOf()

	r.putSecret(map[string]string{"service_key": "another-value"})
	r.step()
	r.wantValues(map[string]string{"service_key": secretValue})
	r.now = r.now.Add(5 * time.Second)
	r.step()
	r.wantValues(map[string]string{"service_key": "another-value"})
	_, after := r.grantOf()
	if diff := cmp.Diff(string(before.CA.Cert), string(after.CA.Cert)); diff != "" || !before.CA.Key.Equal(after.CA.Key) {
		t.Error("the CA changed with the value: the sandbox trusts the first one")
	}

	must(t, admin.Delete(r.ctx, &corev1.Secret{ObjectMeta: meta(r.ns, "keys")}))
	r.now = r.now.Add(5 * time.Second)
	res := r.step()
	r.wantValues(nil)
	r.want(v1alpha1.PhaseRunning, "EgressReady True CredentialUnavailable", "SandboxReady True SandboxReady", "Stalled ")
	c := apimeta.FindStatusCondition(r.run().Status.Conditions, "EgressReady")
	if !strings.Contains(c.Message, "service_key") || !strings.Contains(c.Message, "does not exist") {
		t.Errorf("message %q", c.Message)
	}
	if e := r.run().Status.Egress; len(e.Credentials) != 0 || r.domains() != "example.org" {
		t.Errorf("status.egress %+v", e)
	}
	if res.RequeueAfter > 6*time.Second {
		t.Errorf("looks again after %s", res.RequeueAfter)
	}
	if !slices.Contains(r.events, "Warning CredentialUnavailable") {
		t.Errorf("events %v", r.events)
	}

	r.putSecret(map[string]string{"service_key": secretValue})
	r.now = r.now.Add(5 * time.Second)
	r.step()
	r.wantValues(map[string]string{"service_key": secretValue})
	r.want(v1alpha1.PhaseRunning, "EgressReady True Granted")
	if _, g := r.grantOf(); !slices.Equal(g.CA.Cert, before.CA.Cert) {
		t.Error("the CA changed")
	}
	r.wantNoValue("another-value")
}

// Whoever created the run must be allowed to use the Secret, and stay so.
func TestRightToUseASecret(t *testing.T) {
	r := emptyRig(t)
	r.proxy()
	r.allowUse()
	r.createAsRequester(reaching("example.org"), using("service_key", "example.org"))
	r.forbidUse()
	// The right is looked at first: whoever lacks it does not learn whether there is such a Secret.
	r.wantBlocked("Accepted", "CredentialForbidden", "may not use the Secret keys")
	r.putSecret(map[string]string{"service_key": secretValue})
	r.wantBlocked("Accepted", "CredentialForbidden", r.requester())
	r.allowUse()
	r.ready()
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "EgressReady True Granted")

	r.forbidUse()
	r.now = r.now.Add(30 * time.Second)
	r.step()
	r.wantValues(map[string]string{"service_key": secretValue})
	r.now = r.now.Add(31 * time.Second)
	r.step()
	r.wantValues(nil)
	r.want(v1alpha1.PhaseRunning, "EgressReady True CredentialUnavailable")
	r.allowUse()
	r.now = r.now.Add(61 * time.Second)
	r.step()
	r.wantValues(map[string]string{"service_key": secretValue})
	r.wantNoValue()
}

// Admission would have the run say who created it, where it is installed.
func TestNobodyKnownMayUseNothing(t *testing.T) {
	r := emptyRig(t, withoutStamping, "true", withoutChecks, "true")
	r.proxy()
	r.putSecret(map[string]string{"service_key": secretValue})
	r.create(admin, reaching("example.org"), using("service_key", "example.org"))
	r.wantBlocked("Accepted", "CredentialForbidden", "the creator of the run is unknown")
}

func savedFor(hosts string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{credential.AnnotationHosts: hosts}}
}

func TestSecretsThatNoRunMayUse(t *testing.T) {
	for name, tt := range map[string]struct {
		secret corev1.Secret
		reason string
	}{
		"missing":                   {corev1.Secret{Data: map[string][]byte{"other": []byte(secretValue)}}, "CredentialSecretNotFound"},
		"bootstrap token":           {corev1.Secret{Type: corev1.SecretTypeBootstrapToken, Data: keyed(secretValue)}, "CredentialForbidden"},
		"Helm release":              {corev1.Secret{Type: "helm.sh/release.v1", Data: keyed(secretValue)}, "CredentialForbidden"},
		"registry login":            {corev1.Secret{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{".dockercfg": []byte("{}"), "service_key": []byte(secretValue)}}, "CredentialForbidden"},
		"grant":                     {corev1.Secret{Type: egressgrant.SecretType, Data: keyed(secretValue)}, "CredentialForbidden"},
		"empty":                     {corev1.Secret{Data: keyed("")}, "CredentialInvalid"},
		"too short":                 {corev1.Secret{Data: keyed("1234567\n")}, "CredentialInvalid"},
		"two lines":                 {corev1.Secret{Data: keyed("12345678\r\nX-Other: 1")}, "CredentialInvalid"},
		"NUL":                       {corev1.Secret{Data: keyed("12345678\x00")}, "CredentialInvalid"},
		"a space at its end":        {corev1.Secret{Data: keyed(secretValue + " ")}, "CredentialInvalid"},
		"too long":                  {corev1.Secret{Data: keyed(strings.Repeat("x", 8193))}, "CredentialInvalid"},
		"saved by a run, for any":   {corev1.Secret{Type: credential.SecretType, Data: keyed(secretValue)}, "CredentialForbidden"},
		"saved for another host":    {corev1.Secret{Type: credential.SecretType, Data: keyed(secretValue), ObjectMeta: savedFor("api.example.org,*.example.com")}, "CredentialForbidden"},
		"saved by a run, and right": {corev1.Secret{Type: credential.SecretType, Data: keyed(secretValue), ObjectMeta: savedFor("example.com,example.org")}, ""},
		"as long as can be":         {corev1.Secret{Data: keyed(strings.Repeat("x", 8192) + "\n")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := emptyRig(t)
			r.proxy()
			r.allowUse()
			tt.secret.Namespace, tt.secret.Name = r.ns, "keys"
			if tt.secret.Type != credential.SecretType {
				tt.secret.Annotations = savedFor("example.org").Annotations
			}
			must(t, admin.Create(r.ctx, &tt.secret))
			r.createAsRequester(reaching("example.org"), using("service_key", "example.org"))
			if tt.reason != "" {
				r.wantBlocked("Accepted", tt.reason, "The credential service_key")
			} else {
				r.step()
				r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
			}
			r.wantNoValue("12345678")
		})
	}
}

// Whoever may use a Secret and not read it sends its value to the hosts that the Secret names, of whatever type it is.
func TestHostsOfASecret(t *testing.T) {
	const elsewhere = "collector.example.net"
	for name, tt := range map[string]struct {
		hosts   string
		kind    corev1.SecretType
		right   *rbacv1.PolicyRule
		refused bool
	}{
		"none named":            {hosts: "", refused: true},
		"others named":          {hosts: "api.example.com", refused: true},
		"of another type":       {hosts: "api.example.com", kind: "example.org/token", refused: true},
		"no list":               {hosts: "https://collector.example.net/", refused: true},
		"named":                 {hosts: "api.example.com, " + elsewhere},
		"named by a star":       {hosts: "*.example.net"},
		"may read the Secret":   {hosts: "api.example.com", right: &rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"keys"}, Verbs: []string{"get"}}},
		"may read another":      {hosts: "api.example.com", right: &rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"other"}, Verbs: []string{"get"}}, refused: true},
		"may approve the run":   {hosts: "", right: &rbacv1.PolicyRule{APIGroups: []string{"motorcortex.dev"}, Resources: []string{"motorruns"}, Verbs: []string{"approve"}}},
		"may answer the run":    {hosts: "", right: &rbacv1.PolicyRule{APIGroups: []string{"motorcortex.dev"}, Resources: []string{"motorruns"}, Verbs: []string{"respond"}}, refused: true},
		"may approve the skill": {hosts: "", right: &rbacv1.PolicyRule{APIGroups: []string{"motorcortex.dev"}, Resources: []string{"skills"}, Verbs: []string{"approve"}}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := emptyRig(t)
			r.proxy()
			r.allowUse()
			if tt.right != nil {
				r.role("more", *tt.right)
				r.awaitRight(true, rightOf(tt.right))
			}
			secret := &corev1.Secret{ObjectMeta: meta(r.ns, "keys"), Type: tt.kind, Data: keyed(secretValue)}
			if tt.hosts != "" {
				secret.Annotations = savedFor(tt.hosts).Annotations
			}
			must(t, admin.Create(r.ctx, secret))
			r.createAsRequester(reaching(elsewhere), using("service_key", elsewhere))
			if tt.refused {
				r.wantBlocked("Accepted", "CredentialForbidden", "the Secret keys is not for "+elsewhere+": its annotation "+credential.AnnotationHosts)
				r.wantNoValue()
				// The Secret's owner lets it go there.
				secret.Annotations = savedFor(elsewhere).Annotations
				must(t, admin.Update(r.ctx, secret))
			}
			r.step()
			r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
		})
	}
}

// Hosts that the Secret does not name any more, and a right to choose others that is taken away, end the use of the value.
func TestHostsOfASecretAreTakenBack(t *testing.T) {
	r := egressRig(t, reaching("example.org"), using("service_key", "example.org"))
	r.ready()
	r.wantValues(map[string]string{"service_key": secretValue})
	must(t, admin.Patch(r.ctx, &corev1.Secret{ObjectMeta: meta(r.ns, "keys")}, mergePatchOf(`{"metadata":{"annotations":{%q:"other.example.org"}}}`, credential.AnnotationHosts)))
	r.now = r.now.Add(6 * time.Second)
	r.step()
	r.wantValues(nil)
	r.want(v1alpha1.PhaseRunning, "EgressReady True CredentialUnavailable")
}

func rightOf(rule *rbacv1.PolicyRule) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: rule.Verbs[0], Name: append(rule.ResourceNames, "")[0],
	}
}

func keyed(value string) map[string][]byte { return map[string][]byte{"service_key": []byte(value)} }

func TestBasicNeedsAColon(t *testing.T) {
	r := egressRig(t, reaching("example.org"), using("service_key", "example.org"), func(run *v1alpha1.MotorRun) { run.Spec.Credentials[0].Slot.Type = v1alpha1.SlotBasic })
	r.wantBlocked("Accepted", "CredentialInvalid", "user:password")
	r.putSecret(map[string]string{"service_key": "user:" + secretValue})
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// A credential that the sandbox may read needs no way out, and the engine finds it in the same place.
func TestExposedCredentialWithoutDomains(t *testing.T) {
	r := egressRig(t, using("service_key"))
	r.ready()
	r.want(v1alpha1.PhaseRunning, "EgressReady False NoDomains", "CredentialsExposed True ExposedToSandbox", "Stalled ")
	r.wantValues(map[string]string{"service_key": secretValue})
	_, g := r.grantOf()
	if g.CA != nil || len(g.Domains) != 0 || len(g.Credentials[0].Hosts) != 0 || r.route() != nil {
		t.Errorf("CA %t, domains %v, hosts %v, NetworkPolicy %t", g.CA != nil, g.Domains, g.Credentials[0].Hosts, r.route() != nil)
	}
	want := &v1alpha1.EgressStatus{Attempt: 1, Credentials: []string{"service_key"}}
	if diff := cmp.Diff(want, r.run().Status.Egress); diff != "" {
		t.Errorf("status.egress (-want +got):\n%s", diff)
	}
	if !slices.Contains(r.events, "Warning ExposedToSandbox") || !slices.Contains(r.events, "Normal NoDomains") {
		t.Errorf("events %v", r.events)
	}
	r.wantNoValue()
	must(t, admin.Delete(r.ctx, &corev1.Secret{ObjectMeta: meta(r.ns, "keys")}))
	r.now = r.now.Add(5 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseRunning, "EgressReady False CredentialUnavailable", "Stalled ")
}

// The CA can certify the hosts of the credentials, and nothing else.
func TestAuthorityOfTheRun(t *testing.T) {
	r := egressRig(t, reaching("example.org", "*.example.com:8443"), using("service_key", "example.org", "*.example.com:8443"))
	r.ready()
	_, g := r.grantOf()
	pair, err := tls.X509KeyPair(g.CA.Cert, g.CA.Key.Reveal())
	must(t, err)
	block, _ := pem.Decode(g.CA.Cert)
	ca, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	if !ca.IsCA || !ca.MaxPathLenZero || ca.MaxPathLen != 0 || !ca.PermittedDNSDomainsCritical {
		t.Errorf("CA %t, path %d, constraints critical %t", ca.IsCA, ca.MaxPathLen, ca.PermittedDNSDomainsCritical)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	for host, want := range map[string]bool{
		"example.org": true, "a.example.com": true, "example.net": false, "badexample.org": false, "192.0.2.1": false,
	} {
		leaf := leafOf(t, pair, ca, host, r.now)
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: r.now})
		if (err == nil) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}
