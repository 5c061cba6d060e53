// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

func TestProofIsShown(t *testing.T) {
	t.Parallel()
	four := []v1alpha1.AddressFamily{v1alpha1.FamilyIPv4}
	for name, tt := range map[string]struct {
		box      *v1alpha1.StepSandbox
		isolated string
		// confined is the condition's reason, "" if there is none; has is in its message.
		confined string
		has      string
	}{
		"not tried":                              {nil, "was not tried yet", "", ""},
		"by a manager that recorded no families": {&v1alpha1.StepSandbox{IsolationTries: 3}, "blocked 3 times in a row, from 0 ms after the first try on.", "", ""},
		"one family is denied": {
			&v1alpha1.StepSandbox{IsolationTries: 3, Families: four, DeniedFamilies: []v1alpha1.AddressFamily{v1alpha1.FamilyIPv6}},
			"That was tried over IPv4. The kernel gives programs no sockets of IPv6.", v1alpha1.ReasonConfined, "",
		},
		"no Landlock": {
			&v1alpha1.StepSandbox{IsolationTries: 3, Families: four, Unconfined: []v1alpha1.MissingWall{v1alpha1.WithoutLandlock, v1alpha1.WithoutProcessLimit}},
			"tried over IPv4.", v1alpha1.ReasonNoLandlock, "podPidsLimit",
		},
		"no limit": {
			&v1alpha1.StepSandbox{IsolationTries: 3, Families: four, Unconfined: []v1alpha1.MissingWall{v1alpha1.WithoutProcessLimit}},
			"tried over IPv4.", v1alpha1.ReasonNoProcessLimit, "podPidsLimit",
		},
	} {
		s := &pass.Run{Run: &v1alpha1.MotorRun{}, Progress: runpolicy.Progress{Sandbox: tt.box}}
		Show(s)
		if m := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionIsolationVerified).Message; !strings.Contains(m, tt.isolated) {
			t.Errorf("%s: %s", name, m)
		}
		c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionConfined)
		switch {
		case (c == nil) != (tt.confined == ""):
			t.Errorf("%s: %+v", name, c)
		case c != nil && (c.Reason != tt.confined || !strings.Contains(c.Message, tt.has) || (c.Status == metav1.ConditionTrue) != (c.Reason == v1alpha1.ReasonConfined)):
			t.Errorf("%s: %+v", name, c)
		}
	}
}
