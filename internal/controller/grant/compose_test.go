// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

// A grant is for one Pod and one attempt. It has the domains of now, and the credentials that may be used, each with its hosts and its slot.
func TestCompose(t *testing.T) {
	t.Parallel()
	now, key := time.Date(2026, 1, 1, 12, 0, 0, 900, time.UTC), []byte("key")
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
	run.Spec.Credentials = []v1alpha1.Credential{
		{Name: "api", Hosts: []v1alpha1.Domain{"api.example.org"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "X-Key"}},
		{Name: "refused", Hosts: []v1alpha1.Domain{"example.org"}},
		{Name: "mail", ExposeToSandbox: true},
	}
	s := pass.NewRun(run, now)
	s.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "run-motor-sandbox", UID: "pod-uid"}}
	s.Domains = []v1alpha1.Domain{"example.org", "*.example.org"}
	st := &memory{credentials: map[string]reading{
		"api": {value: secret.New("value of api")}, "refused": {value: secret.New("of no use"), problem: errors.New("it may not be used")}, "mail": {value: secret.New("value of mail")},
	}}
	ips := []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	want := &grant.Grant{
		RunUID: "run-uid", Namespace: "ns", Run: "run", PodName: "run-motor-sandbox", PodUID: "pod-uid", PodIPs: ips,
		TokenHash: grant.HashToken(grant.Token(key, "run-uid", "pod-uid", 2)), Attempt: 2, Domains: []string{"example.org", "*.example.org"},
		Credentials: []grant.Credential{
			{Name: "api", Handle: grant.Handle(key, "run-uid", "pod-uid", "api"), Hosts: []string{"api.example.org"}, Slot: "Header X-Key", Value: secret.New("value of api")},
			{Name: "mail", Handle: grant.Handle(key, "run-uid", "pod-uid", "mail"), Hosts: []string{}, Slot: "Bearer", Exposed: true, Value: secret.New("value of mail")},
		},
		ExpiresAt: time.Date(2026, 1, 1, 12, 5, 0, 0, time.UTC),
	}
	got := (&Granter{Key: key}).compose(s, st, ips)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
