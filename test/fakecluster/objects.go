// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// Run is a run that asks these things, each asked 40 seconds ago with half an hour to answer.
func Run(namespace, name string, asks ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
	now := time.Now()
	for i := range asks {
		asks[i].AskTime, asks[i].ExpirationTime = metav1.NewTime(now.Add(-40*time.Second)), metav1.NewTime(now.Add(30*time.Minute))
	}
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Minute).Truncate(time.Second)),
	}}
	run.Spec.Requester = &v1alpha1.Requester{Username: "erin@example.org"}
	run.Status.PendingInputs = asks
	run.Status.Phase = v1alpha1.PhaseRunning
	if len(asks) > 0 {
		run.Status.Phase, run.Status.PendingKind = v1alpha1.PhaseAwaitingInput, asks[0].Kind
	}
	return run
}

// Approval asks to approve a call.
func Approval(id, tool, arguments, rule string) v1alpha1.PendingInput {
	return v1alpha1.PendingInput{
		ID: id, Kind: v1alpha1.InputApproval, Title: "Approve " + tool + "?", OnTimeout: v1alpha1.OnTimeoutDeny,
		Action: &v1alpha1.PendingAction{Tool: tool, Arguments: arguments, ArgsDigest: calls.ArgsDigest(tool, arguments), Rule: rule, Reason: rule},
	}
}

// Step is a step of a run with one call and what it gave.
func Step(run *v1alpha1.MotorRun, attempt, index int32, tool, arguments string, result *v1alpha1.ToolResult) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{
		Namespace: run.Namespace, Name: fmt.Sprintf("%s-a%02d-s%04d", run.Name, attempt, index), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: run.Name, UID: run.UID, Controller: new(true)}},
		CreationTimestamp: metav1.NewTime(run.CreationTimestamp.Add(time.Duration(attempt*60+index*7) * time.Second)),
	}}
	s.Spec = v1alpha1.MotorStepSpec{
		Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Epoch: 1, ModelMilliseconds: 1800, Usage: v1alpha1.Usage{TotalTokens: 1240},
		ToolCalls: []v1alpha1.ToolCall{{ID: fmt.Sprintf("a%d-s%d-c0", attempt, index), Tool: tool, Arguments: arguments}},
	}
	if result != nil {
		result.CallID = s.Spec.ToolCalls[0].ID
		s.Status.Results, s.Status.Phase, s.Status.ToolMilliseconds = []v1alpha1.ToolResult{*result}, v1alpha1.StepSettled, result.DurationMilliseconds
	}
	return s
}
