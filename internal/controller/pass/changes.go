// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/ids"
)

// Change is one change of a run's phase, or of the status or reason of one of its conditions.
type Change struct {
	// Of is "phase", or the type of a condition.
	Of string
	// From and To are phases or the states of a condition, "" for none.
	From, To string
	// Reason is that of the run with a phase, and that of the condition otherwise.
	Reason string
}

// Changes compares two statuses of a run. A condition whose first status is Unknown, or that says again what another one says, is no change.
func Changes(before, after *v1alpha1.MotorRunStatus) []Change {
	var list []Change
	if before.Phase != after.Phase {
		list = append(list, Change{"phase", string(before.Phase), string(after.Phase), after.Reason})
	}
	for i := range after.Conditions {
		c := &after.Conditions[i]
		was, is := ChangedCondition(before.Conditions, after.Conditions, c.Type)
		if is == nil || repeats(c.Type) || was == nil && is.Status == metav1.ConditionUnknown {
			continue
		}
		from := ""
		if was != nil {
			from = state(was)
		}
		list = append(list, Change{c.Type, from, state(is), is.Reason})
	}
	return list
}

// repeats reports whether a condition only summarizes others.
func repeats(conditionType string) bool {
	switch conditionType {
	case v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionFinished:
		return true
	}
	return false
}

func state(c *metav1.Condition) string { return string(c.Status) + "/" + c.Reason }

// LogChanges writes a line for each change of a status that was just stored. The lines have no messages of conditions: a model or a user worded many of
// these. A nil log gets none.
func LogChanges(ctx context.Context, log *slog.Logger, before, after *v1alpha1.MotorRun) {
	if log == nil {
		return
	}
	var attempt int32
	if a := after.Status.LatestAttempt(); a != nil {
		attempt = a.Index
	}
	log = log.With("namespace", after.Namespace, "run", after.Name, "uid", string(after.UID), "attempt", attempt, "traceID", ids.Of(after.UID, after.Annotations).Trace)
	for _, c := range Changes(&before.Status, &after.Status) {
		log.InfoContext(ctx, "the run changed", "of", c.Of, "from", c.From, "to", c.To, "reason", c.Reason)
	}
}
