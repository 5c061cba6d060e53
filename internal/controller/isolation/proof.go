// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

const lostMessage = "A NetworkPolicy of the sandbox was changed or deleted. It is put right, everything in the sandbox is ended, and nothing more runs in it before no connection is left and its isolation is proved again."

// Show writes the result of the last isolation proof into the status.
func Show(s *pass.Run) {
	showConfinement(s)
	sb := s.Progress.Sandbox
	switch f := s.Progress.Failure; {
	case runpolicy.IsolationLost(s.Run, s.Progress):
		s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationLost, lostMessage)
	case sb != nil && len(sb.Open) > 0:
		s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonUnenforcedAllowed, fmt.Sprintf(
			"The sandbox is not isolated: it reaches %s. The manager goes on because of --allow-unenforced-isolation.", strings.Join(sb.Open, ", ")))
	case sb != nil:
		s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, fmt.Sprintf(
			"Every forbidden address was blocked %d times in a row, from %d ms after the first try on.%s", sb.IsolationTries, sb.IsolationMilliseconds, familiesText(sb)))
	case f != nil && f.Reason == v1alpha1.ReasonIsolationRefused:
		s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified, f.Message)
	default:
		s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionUnknown, v1alpha1.ReasonIsolationPending,
			"The sandbox was not tried yet, and nothing that the model asked for has run in it.")
	}
}

// familiesText names the families of addresses that were tried, "" if the proof does not name them.
func familiesText(sb *v1alpha1.StepSandbox) string {
	text := ""
	if len(sb.Families) > 0 {
		text = " That was tried over " + joinFamilies(sb.Families) + "."
	}
	if len(sb.DeniedFamilies) > 0 {
		text += " The kernel gives programs no sockets of " + joinFamilies(sb.DeniedFamilies) + "."
	}
	return text
}

func joinFamilies(families []v1alpha1.AddressFamily) string {
	var names []string
	for _, f := range families {
		names = append(names, string(f))
	}
	return strings.Join(names, " and ")
}

// showConfinement reports whether the sandbox's node has the walls within a sandbox. The run goes on without them.
func showConfinement(s *pass.Run) {
	sb := s.Progress.Sandbox
	if sb == nil || len(sb.Families) == 0 {
		return // It is not known yet.
	}
	texts := map[v1alpha1.MissingWall]string{
		v1alpha1.WithoutLandlock: "The kernel of its node has no Landlock (Linux 5.19 or newer): programs can reach the files of the tool server, and lie about their sandbox.",
		v1alpha1.WithoutProcessLimit: "No limit of the number of processes can be seen in the sandbox: set podPidsLimit in the configuration of the kubelets, " +
			"or use nodes that support user namespaces.",
	}
	var missing []string
	for _, wall := range sb.Unconfined {
		missing = append(missing, texts[wall])
	}
	switch {
	case slices.Contains(sb.Unconfined, v1alpha1.WithoutLandlock):
		s.Set(v1alpha1.ConditionConfined, metav1.ConditionFalse, v1alpha1.ReasonNoLandlock, strings.Join(missing, " "))
	case len(missing) > 0:
		s.Set(v1alpha1.ConditionConfined, metav1.ConditionFalse, v1alpha1.ReasonNoProcessLimit, strings.Join(missing, " "))
	default:
		s.Set(v1alpha1.ConditionConfined, metav1.ConditionTrue, v1alpha1.ReasonConfined,
			"Programs are kept from the tool server by Landlock, and their number is limited.")
	}
}
