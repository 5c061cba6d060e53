// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// finding is the result of the check of one service.
type finding struct {
	// condition is the type of the condition that it sets.
	condition string
	// ok reports whether the service is available.
	ok bool
	// reason is a reason of the condition, message one or two sentences for a person.
	reason, message string
}

// maxMessage is the most bytes of a message of a condition: an endpoint's own words may be in it.
const maxMessage = 1024

// services are the condition types beside Ready.
var services = []string{v1alpha1.CortexModelAvailable, v1alpha1.CortexSearchReady, v1alpha1.CortexArchiveReady, v1alpha1.CortexStorageAvailable}

// report writes the findings into the status. A service without a finding is not configured and has no condition. Ready has the reason and the
// message of the first service that is not available, and names the others.
func report(st *v1alpha1.MotorCortexStatus, generation int64, found []finding) {
	st.ObservedGeneration = generation
	for _, service := range services {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.condition == service }) {
			apimeta.RemoveStatusCondition(&st.Conditions, service)
		}
	}
	ready := finding{v1alpha1.CortexReady, true, v1alpha1.ReasonCortexAvailable, "Everything that the runs of this namespace are configured to use is available."}
	var missing []string
	for _, f := range found {
		set(st, generation, f)
		if f.ok {
			continue
		}
		if ready.ok {
			ready.ok, ready.reason, ready.message = false, f.reason, f.message
		}
		missing = append(missing, f.condition)
	}
	if len(missing) > 1 {
		ready.message = strings.Join(missing, ", ") + " are False. " + ready.message
	}
	set(st, generation, ready)
}

func set(st *v1alpha1.MotorCortexStatus, generation int64, f finding) {
	status := metav1.ConditionFalse
	if f.ok {
		status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&st.Conditions, metav1.Condition{
		Type: f.condition, Status: status, Reason: f.reason, Message: text.CutBytes(f.message, maxMessage), ObservedGeneration: generation,
	})
}
