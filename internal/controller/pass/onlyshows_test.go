// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"reflect"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// underWay is the status of a run whose sandbox is, or is not, ready.
func underWay(ready metav1.ConditionStatus) *v1alpha1.MotorRunStatus {
	st := &v1alpha1.MotorRunStatus{
		Attempts: []v1alpha1.AttemptStatus{{Index: 1}}, Sandbox: &v1alpha1.SandboxStatus{PodName: "p", PodUID: "u"},
		Execution: v1alpha1.ExecutionStatus{Worker: "w", Epoch: 1},
	}
	setCondition(st, v1alpha1.ConditionSandboxReady, ready, "Some", "text")
	setCondition(st, v1alpha1.ConditionIsolationVerified, metav1.ConditionUnknown, v1alpha1.ReasonIsolationPending, "text")
	return st
}

func setCondition(st *v1alpha1.MotorRunStatus, of string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: of, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Unix(1, 0))})
}

func TestOnlyShows(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	for name, tt := range map[string]struct {
		ready  metav1.ConditionStatus
		change func(*v1alpha1.MotorRunStatus)
		want   bool
	}{
		"nothing": {metav1.ConditionTrue, func(*v1alpha1.MotorRunStatus) {}, true},
		"how far it got": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) {
			st.Steps, st.Message, st.Model, st.Usage.TotalTokens = 7, "Working.", "m", 9
			a := st.LatestAttempt()
			a.Iterations, a.Usage.TotalTokens, a.LastCalls = 7, 9, []v1alpha1.CallHead{{ID: "c"}}
		}, true},
		"the text of a condition": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) {
			setCondition(st, v1alpha1.ConditionSandboxReady, metav1.ConditionTrue, "Some", "other text")
		}, true},
		"a proof": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) {
			setCondition(st, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, "text")
			setCondition(st, v1alpha1.ConditionConfined, metav1.ConditionTrue, v1alpha1.ReasonConfined, "text")
		}, true},
		"an address of a Pod that starts": {metav1.ConditionFalse, func(st *v1alpha1.MotorRunStatus) {
			st.Sandbox.PodIP, st.Sandbox.NodeIP, st.Sandbox.NodeName = "10.0.0.1", "10.0.0.2", "n"
		}, true},
		"an address of a Pod that runs": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodIP = "10.0.0.1" }, false},
		"it runs": {metav1.ConditionFalse, func(st *v1alpha1.MotorRunStatus) {
			setCondition(st, v1alpha1.ConditionSandboxReady, metav1.ConditionTrue, "Some", "text")
		}, false},
		"another reason": {metav1.ConditionFalse, func(st *v1alpha1.MotorRunStatus) {
			setCondition(st, v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, "Other", "text")
		}, false},
		"it is open": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) {
			setCondition(st, v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationLost, "text")
		}, false},
		"another worker":     {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Execution.Epoch++ }, false},
		"another Pod":        {metav1.ConditionFalse, func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodUID = "v" }, false},
		"a loss":             {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Sandbox.IsolationLossTime = &now }, false},
		"a new attempt":      {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2}) }, false},
		"a failed attempt":   {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Attempts[0].Failure = &v1alpha1.FailureSummary{} }, false},
		"it ends":            {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Ending = &v1alpha1.RunEnding{} }, false},
		"it has ended":       {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.CompletionTime = &now }, false},
		"a question":         {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.PendingInputs = []v1alpha1.PendingInput{{ID: "a"}} }, false},
		"a newer spec":       {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.ObservedGeneration++ }, false},
		"a pause":            {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Paused.StartTime = &now }, false},
		"artifacts":          {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Artifacts = []v1alpha1.Artifact{{}} }, false},
		"a way out":          {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Egress = &v1alpha1.EgressStatus{} }, false},
		"workers that ended": {metav1.ConditionTrue, func(st *v1alpha1.MotorRunStatus) { st.Losses = &v1alpha1.LossStatus{} }, false},
	} {
		before, after := underWay(tt.ready), underWay(tt.ready)
		tt.change(after)
		kept := after.DeepCopy()
		if got := OnlyShows(before, after); got != tt.want {
			t.Errorf("%s: only shows %t", name, got)
		}
		if !reflect.DeepEqual(kept, after) {
			t.Errorf("%s: the comparison changes the status", name)
		}
	}
}
