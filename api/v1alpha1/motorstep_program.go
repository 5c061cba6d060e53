// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProgramState is how far a program in the background got.
// +kubebuilder:validation:Enum=Running;Succeeded;Failed;Stopped;Lost
type ProgramState string

// States of programs in the background.
const (
	// ProgramRunning: it was running when it was last looked at. At the end of a run it ends with its sandbox.
	ProgramRunning ProgramState = "Running"
	// ProgramSucceeded: it ended with exit status 0.
	ProgramSucceeded ProgramState = "Succeeded"
	// ProgramFailed: it ended otherwise, or its time limit or another program of the sandbox ended it.
	ProgramFailed ProgramState = "Failed"
	// ProgramStopped: the operator ended it; reason says why.
	ProgramStopped ProgramState = "Stopped"
	// ProgramLost: it ended with its tool server. How far it came is unknown.
	ProgramLost ProgramState = "Lost"
)

// StepProgram is a program that a tool call left in the background.
type StepProgram struct {
	// execution that left it; see UnknownExecution.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Execution string `json:"execution"`
	// callID is the id of the tool call. Its arguments have the command.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// state is Running until its end is seen.
	// +required
	State ProgramState `json:"state"`
	// reason is why one that is Stopped was ended: IsolationLost, Suspended, AwaitingInput, WayOutGranted, AttemptFinished.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// exitCode is that of one that Failed: 128 and the number of the signal of one that a signal ended.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	// +optional
	ExitCode int32 `json:"exitCode,omitempty"`
	// startTime is when it was left, by the clock of its sandbox.
	// +required
	StartTime metav1.Time `json:"startTime"`
	// completionTime is when it ended, unset while it runs and of one that is Lost.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// foundIn is the index of the step in whose time its end was seen. The model is told of the end of one that is Stopped or Lost
	// with what the calls of that step gave.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	FoundIn int32 `json:"foundIn,omitempty"`
}
