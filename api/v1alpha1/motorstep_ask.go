// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AskOutcome is what became of an ask.
// +kubebuilder:validation:Enum=Answered;Approved;Denied;Expired
type AskOutcome string

const (
	// AskAnswered: a person answered the question.
	AskAnswered AskOutcome = "Answered"
	// AskApproved: a person approved the call, or allowed the domain.
	AskApproved AskOutcome = "Approved"
	// AskDenied: a person said no.
	AskDenied AskOutcome = "Denied"
	// AskExpired: there was no response in time.
	AskExpired AskOutcome = "Expired"
)

// OnTimeout is what becomes of an ask without a response in time.
// +kubebuilder:validation:Enum=Fail;Deny;UseDefault
type OnTimeout string

const (
	// OnTimeoutFail ends the run.
	OnTimeoutFail OnTimeout = "Fail"
	// OnTimeoutDeny counts as Deny. The run goes on.
	OnTimeoutDeny OnTimeout = "Deny"
	// OnTimeoutUseDefault takes the default of the question for the answer. The run goes on.
	OnTimeoutUseDefault OnTimeout = "UseDefault"
)

// StepAsk is one thing that a person is asked in a step, and what became of it. It is recorded before the person is shown it,
// and its outcome before anything follows from that.
type StepAsk struct {
	// id under which spec.responses of the run answers it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=96
	// +required
	ID string `json:"id"`
	// kind of the ask. Retry is none: it is about an attempt, and not about a step.
	// +required
	Kind InputKind `json:"kind"`
	// callID is the id of the tool call that it is about.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// execution of the call that it is about, of kind Approval and OutcomeUnknown; see UnknownExecution.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Execution string `json:"execution,omitempty"`
	// digest is "sha256:…" of tool and arguments, of kind Approval. A decision that names another one does not count.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	Digest string `json:"digest,omitempty"`
	// rule by which the call needs approval, of kind Approval: the one that ApproveRun approves, unset where only this call can be approved.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Rule string `json:"rule,omitempty"`
	// domain that is asked for, of kind DomainRequest.
	// +optional
	Domain Domain `json:"domain,omitempty"`
	// askTime is when it was recorded.
	// +required
	AskTime metav1.Time `json:"askTime"`
	// expirationTime is until when there is time for a response. Times in which no manager led are added to it.
	// +optional
	ExpirationTime metav1.Time `json:"expirationTime,omitempty,omitzero"`
	// onTimeout is what becomes of it then.
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
	// outcome, unset while it is open.
	// +optional
	Outcome AskOutcome `json:"outcome,omitempty"`
	// decision that the response has, if it has one.
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// by is who responded, as the response says.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`
	// reason of the decision, as the response says.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Reason string `json:"reason,omitempty"`
	// closeTime is when the response was put to use, or the time was found to be over.
	// +optional
	CloseTime metav1.Time `json:"closeTime,omitempty,omitzero"`
}
