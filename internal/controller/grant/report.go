// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"fmt"
	"strconv"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// showAwaiting sets a condition which shows that the grant waits for the sandbox.
func showAwaiting(s *pass.Run) {
	if needsGrant(s) && s.Run.Status.Egress == nil {
		s.Set(v1alpha1.ConditionEgressReady, metav1.ConditionFalse, v1alpha1.ReasonEgressPending, awaitingMessage)
	}
}

// show writes the grant into the status, and requests the pass that renews it.
func show(s *pass.Run, st *memory, g *grant.Grant, proxy string) {
	var names, missing []string
	for i := range s.Run.Spec.Credentials {
		c := &s.Run.Spec.Credentials[i]
		if p := st.credentials[c.Name].problem; p != nil {
			missing = append(missing, problemText(p))
			continue
		}
		names = append(names, c.Name)
	}
	s.Run.Status.Egress = &v1alpha1.EgressStatus{Domains: s.Domains, Proxy: proxy, Credentials: names, Attempt: g.Attempt}
	way := metav1.ConditionTrue
	if len(s.Domains) == 0 {
		// Credentials alone are no way out.
		way = metav1.ConditionFalse
	}
	switch {
	case len(s.Domains) == 0 && len(s.LeftOut) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonDomainNotAllowed, leftOutMessage(s.LeftOut))
	case len(missing) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonCredentialUnavailable, strings.Join(missing, " "))
	case len(s.LeftOut) > 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonEgressGranted, leftOutMessage(s.LeftOut))
	case len(s.Domains) == 0:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonNoDomains, "The run has no domains, so the sandbox has no way out. Its credentials are ready.")
	default:
		s.Set(v1alpha1.ConditionEgressReady, way, v1alpha1.ReasonEgressGranted, "The egress proxy lets the sandbox reach status.egress.domains.")
	}
	s.Wake(st.written.ExpiresAt.Add(-renewBefore))
	if len(s.Run.Spec.Credentials) > 0 {
		s.Wake(st.readAt.Add(readsEvery(s)))
	}
}

// leftOutMessage does not name a reason for each domain. The domains of the spec were checked before. So either the bounds were narrowed, or a
// person allowed the run more than a run can have.
func leftOutMessage(domains []v1alpha1.Domain) string {
	text := strconv.Itoa(len(domains)) + " domains"
	if len(domains) == 1 {
		text = string(domains[0])
	}
	return fmt.Sprintf("The run does not get %s: beyond spec.egress.allowedDomains of the namespace's MotorCortex, or more than a run can have.", text)
}

// showNone removes the condition of an earlier pass, unless the bounds leave out domains of the run.
func showNone(s *pass.Run) {
	if len(s.LeftOut) > 0 {
		s.Set(v1alpha1.ConditionEgressReady, metav1.ConditionFalse, v1alpha1.ReasonDomainNotAllowed, leftOutMessage(s.LeftOut))
		return
	}
	apimeta.RemoveStatusCondition(&s.Run.Status.Conditions, v1alpha1.ConditionEgressReady)
}
