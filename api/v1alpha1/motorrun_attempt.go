// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FailureCategory is the kind of a failure.
// +kubebuilder:validation:Enum=ToolFailure;ModelFailure;InfraFailure;BudgetExhausted;InvalidTask;Incomplete;Unknown
type FailureCategory string

const (
	CategoryToolFailure     FailureCategory = "ToolFailure"
	CategoryModelFailure    FailureCategory = "ModelFailure"
	CategoryInfraFailure    FailureCategory = "InfraFailure"
	CategoryBudgetExhausted FailureCategory = "BudgetExhausted"
	CategoryInvalidTask     FailureCategory = "InvalidTask"
	// CategoryIncomplete: the model, or a check of what it did, says that the task is not done.
	CategoryIncomplete FailureCategory = "Incomplete"
	// CategoryUnknown is kept for failures that are none of the others. This release records none.
	CategoryUnknown FailureCategory = "Unknown"
)

// AttemptCause is why an attempt was made.
// +kubebuilder:validation:Enum=First;Retry;Infrastructure
type AttemptCause string

const (
	// CauseFirst: it is the first one.
	CauseFirst AttemptCause = "First"
	// CauseRetry: a person decided Retry.
	CauseRetry AttemptCause = "Retry"
	// CauseInfrastructure: the operator made it by itself, because the one before was lost with its sandbox.
	CauseInfrastructure AttemptCause = "Infrastructure"
)

// SuggestedAction is what to do about an attempt that failed.
// +kubebuilder:validation:Enum=RetryWithGuidance;AskUser;Stop
type SuggestedAction string

const (
	// ActionRetryWithGuidance: try again, and say what to do differently.
	ActionRetryWithGuidance SuggestedAction = "RetryWithGuidance"
	// ActionAskUser: a person has to change or decide something first.
	ActionAskUser SuggestedAction = "AskUser"
	// ActionStop: another attempt would fail like this one.
	ActionStop SuggestedAction = "Stop"
)

// AttemptStatus is one attempt at the task.
type AttemptStatus struct {
	// index is the number of the attempt. The first one is 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +required
	Index int32 `json:"index"`
	// cause says why it was made.
	// +optional
	Cause AttemptCause `json:"cause,omitempty"`
	// recoveryContext is what the model is told of the attempts before, in its system prompt.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	RecoveryContext string `json:"recoveryContext,omitempty"`
	// startTime is when the attempt began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when it ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// iterations is how many answers the model gave in it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Iterations int32 `json:"iterations,omitempty"`
	// usage of its model calls.
	// +optional
	Usage Usage `json:"usage,omitempty,omitzero"`
	// lastCalls are its last tool calls, the newest last.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	LastCalls []CallHead `json:"lastCalls,omitempty"`
	// failure says why it ended without success.
	// +optional
	Failure *FailureSummary `json:"failure,omitempty"`
}

// LatestAttempt returns the last of the attempts, nil if there is none yet. The pointer is into the status.
func (s *MotorRunStatus) LatestAttempt() *AttemptStatus {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[len(s.Attempts)-1]
}

// AttemptNumber returns the attempt with that number, nil if there is none. The pointer is into the status.
func (s *MotorRunStatus) AttemptNumber(n int32) *AttemptStatus {
	for i := range s.Attempts {
		if s.Attempts[i].Index == n {
			return &s.Attempts[i]
		}
	}
	return nil
}

// CallHead is the head of a tool call and its result.
type CallHead struct {
	// id of the call.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// tool that was called.
	// +kubebuilder:validation:MaxLength=128
	// +required
	Tool string `json:"tool"`
	// ok is false if the tool failed, or has no result.
	// +required
	OK bool `json:"ok"`
	// startTime is set if the call has no result: when it began. In an attempt that has ended it never got one.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// errorCode is a word for programs.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ErrorCode string `json:"errorCode,omitempty"`
	// durationMilliseconds is how long the call took, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DurationMilliseconds int64 `json:"durationMilliseconds,omitempty"`
	// head is the beginning of the output.
	// +kubebuilder:validation:MaxLength=200
	// +optional
	Head string `json:"head,omitempty"`
}

// FailureSummary says why an attempt failed.
type FailureSummary struct {
	// category is the kind of failure.
	// +required
	Category FailureCategory `json:"category"`
	// reason is a CamelCase word for programs.
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason"`
	// message is for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// lastStepName is the last step before the failure, by name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	LastStepName string `json:"lastStepName,omitempty"`
	// retryable is true if another attempt may succeed although nothing was changed. It does not say that this run may have one: after a
	// timeout, that is another run.
	// +optional
	Retryable bool `json:"retryable,omitempty"`
	// suggestedAction is what to do about it.
	// +optional
	SuggestedAction SuggestedAction `json:"suggestedAction,omitempty"`
	// hint is a model's guess at the cause and the cure, and not more than that.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Hint string `json:"hint,omitempty"`
}
