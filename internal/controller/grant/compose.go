// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// compose builds the grant as it must be now, without its CA.
func (g *Granter) compose(s *pass.Run, st *memory, ips []netip.Addr) *grant.Grant {
	run := s.Run
	uid, podUID, attempt := string(run.UID), string(s.Pod.UID), run.Status.LatestAttempt().Index
	want := &grant.Grant{
		RunUID: uid, Namespace: run.Namespace, Run: run.Name, PodName: s.Pod.Name, PodUID: podUID, PodIPs: ips,
		TokenHash: grant.HashToken(grant.Token(g.Key, uid, podUID, attempt)), Attempt: attempt,
		Domains: texts(s.Domains), ExpiresAt: s.Now.Add(grant.Lifetime).UTC().Truncate(time.Second),
	}
	for i := range run.Spec.Credentials {
		c := &run.Spec.Credentials[i]
		if read := st.credentials[c.Name]; read.problem == nil {
			want.Credentials = append(want.Credentials, grant.Credential{
				Name: c.Name, Handle: grant.Handle(g.Key, uid, podUID, c.Name), Hosts: texts(c.Hosts), Slot: c.Slot.String(), Value: read.value,
				Exposed: c.ExposeToSandbox,
			})
		}
	}
	return want
}

func texts(domains []v1alpha1.Domain) []string {
	list := make([]string, 0, len(domains))
	for _, d := range domains {
		list = append(list, string(d))
	}
	return list
}

func addresses(pod *corev1.Pod) []netip.Addr {
	var list []netip.Addr
	for _, ip := range pod.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			list = append(list, a.Unmap())
		}
	}
	return list
}
