// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// OnlyShows reports whether two statuses of a run differ only in what people look at: how far it got, and how its sandbox comes up. No program decides by
// that, so it may be written later, together with further changes. Whatever is not named in decisive counts as something that a program decides by.
func OnlyShows(before, after *v1alpha1.MotorRunStatus) bool {
	return equality.Semantic.DeepEqual(decisive(before), decisive(after))
}

// decisive returns a status without what only shows something.
func decisive(st *v1alpha1.MotorRunStatus) *v1alpha1.MotorRunStatus {
	d := st.DeepCopy()
	d.Message, d.Model, d.Steps, d.Usage = "", "", 0, v1alpha1.Usage{}
	if a := d.LatestAttempt(); a != nil {
		a.Iterations, a.Usage, a.LastCalls = 0, v1alpha1.Usage{}, nil
	}
	if d.Sandbox != nil && !apimeta.IsStatusConditionTrue(d.Conditions, v1alpha1.ConditionSandboxReady) {
		// The engine dials it when it is ready, and the pass reads its Pod.
		d.Sandbox.PodIP, d.Sandbox.NodeName, d.Sandbox.NodeIP = "", "", ""
	}
	d.Conditions = slices.DeleteFunc(d.Conditions, func(c metav1.Condition) bool {
		// A sandbox that is open stops what runs in it. One that is proved to be closed goes on as before.
		return c.Type == v1alpha1.ConditionIsolationVerified && c.Status != metav1.ConditionFalse || c.Type == v1alpha1.ConditionConfined
	})
	for i := range d.Conditions {
		d.Conditions[i].Message = ""
	}
	return d
}
