// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Signals says who is told what becomes of the runs and skills of a namespace.
type Signals struct {
	// sinks are the services that are told, each on its own: one that is slow or away holds up no other, and no run.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Sinks []SignalSink `json:"sinks,omitempty"`
}

// SignalSink is a service that takes CloudEvents by HTTP POST, in structured mode. The manager sends them, not the sandbox.
type SignalSink struct {
	// name of the sink, for the status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
	// url that the signals are posted to. Redirects are not followed.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/\s?#@]+(/[^\s?#]*)?$`
	// +required
	URL string `json:"url"`
	// authorizationSecretRef is the key of a Secret in this namespace that holds the whole value of the header Authorization, as in
	// "Bearer abc". Unset, there is no such header.
	// +optional
	AuthorizationSecretRef *SecretKeyRef `json:"authorizationSecretRef,omitempty"`
	// signingKeySecretRef is the key of a Secret in this namespace that holds the key by which signals are signed after Standard Webhooks, with
	// HMAC-SHA256. Unset, they are not signed.
	// +optional
	SigningKeySecretRef *SecretKeyRef `json:"signingKeySecretRef,omitempty"`
	// events are those that the sink is told; unset or empty, all.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Events []SignalEvent `json:"events,omitempty"`
	// caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CABundle string `json:"caBundle,omitempty"`
}

// SignalEvent is something that happens to a run or a skill.
// +kubebuilder:validation:Enum=RunStarted;RunProgress;RunAwaitingInput;RunCompleted;RunFailed;RunCancelled;SkillPendingReview;SkillAwaitingApproval;SkillApproved;SkillNeedsReapproval;SkillRejected;SkillRevoked
type SignalEvent string

const (
	// SignalRunStarted: the run was accepted, and its task begins.
	SignalRunStarted SignalEvent = "RunStarted"
	// SignalRunProgress: the model said what it does next.
	SignalRunProgress SignalEvent = "RunProgress"
	// SignalRunAwaitingInput: the run waits for a person.
	SignalRunAwaitingInput SignalEvent = "RunAwaitingInput"
	// SignalRunCompleted: the run succeeded.
	SignalRunCompleted SignalEvent = "RunCompleted"
	// SignalRunFailed: the run ended without success.
	SignalRunFailed SignalEvent = "RunFailed"
	// SignalRunCancelled: the run was cancelled, or deleted before its end.
	SignalRunCancelled SignalEvent = "RunCancelled"
	// SignalSkillPendingReview: there is something new in a skill.
	SignalSkillPendingReview SignalEvent = "SkillPendingReview"
	// SignalSkillAwaitingApproval: a person can decide about a skill.
	SignalSkillAwaitingApproval SignalEvent = "SkillAwaitingApproval"
	// SignalSkillApproved: runs may use a skill.
	SignalSkillApproved SignalEvent = "SkillApproved"
	// SignalSkillNeedsReapproval: a skill is not what was approved any more, or its approval ended.
	SignalSkillNeedsReapproval SignalEvent = "SkillNeedsReapproval"
	// SignalSkillRejected: a person does not want what is in a skill.
	SignalSkillRejected SignalEvent = "SkillRejected"
	// SignalSkillRevoked: a person took the approval of a skill back.
	SignalSkillRevoked SignalEvent = "SkillRevoked"
)

// Notifications says which people are told what waits for them, and how runs end.
type Notifications struct {
	// pageURL is where the page is for people, as in https://motor.example.org. Set, each message has a link to its run or skill there.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^/\s?#@<>|"]+(/[^\s?#<>|"]*)?$`
	// +optional
	PageURL string `json:"pageURL,omitempty"`
	// receivers are told each on its own: one that is slow or away holds up no other, and no run.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Receivers []NotificationReceiver `json:"receivers,omitempty"`
}

// NotificationReceiver is a channel that people read.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.slack)",message="a receiver has either webhook or slack"
type NotificationReceiver struct {
	// name of the receiver, for the status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
	// webhook gets each message as JSON by HTTP POST.
	// +optional
	Webhook *WebhookReceiver `json:"webhook,omitempty"`
	// slack gets each message in a channel of Slack.
	// +optional
	Slack *SlackReceiver `json:"slack,omitempty"`
	// events are those that the receiver is told; unset or empty, all.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Events []NotificationEvent `json:"events,omitempty"`
}

// WebhookReceiver is a service that takes messages by HTTP POST. The manager sends them, not the sandbox.
type WebhookReceiver struct {
	// url that the messages are posted to. Redirects are not followed.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/\s?#@]+(/[^\s?#]*)?$`
	// +required
	URL string `json:"url"`
	// signingKeySecretRef is the key of a Secret in this namespace that holds the key by which messages are signed after Standard Webhooks,
	// with HMAC-SHA256. Unset, they are not signed.
	// +optional
	SigningKeySecretRef *SecretKeyRef `json:"signingKeySecretRef,omitempty"`
	// caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CABundle string `json:"caBundle,omitempty"`
}

// SlackReceiver is an incoming webhook of Slack, which writes into one channel.
type SlackReceiver struct {
	// urlSecretRef is the key of a Secret in this namespace that holds the URL of the incoming webhook, which begins with https. Who knows
	// the URL can write into the channel.
	// +required
	URLSecretRef SecretKeyRef `json:"urlSecretRef"`
}

// NotificationEvent is a kind of news for people.
// +kubebuilder:validation:Enum=Asks;Ends;Failures;Skills
type NotificationEvent string

const (
	// NotifyAsks: a run waits for a person.
	NotifyAsks NotificationEvent = "Asks"
	// NotifyEnds: a run ended, in whatever way.
	NotifyEnds NotificationEvent = "Ends"
	// NotifyFailures: a run ended without success and was not cancelled.
	NotifyFailures NotificationEvent = "Failures"
	// NotifySkills: a skill waits for a decision.
	NotifySkills NotificationEvent = "Skills"
)

// SinkStatus says how a sink takes its signals.
type SinkStatus struct {
	// name of the sink.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// settledTime is the instant before which nothing is left to tell the sink. A manager that begins to lead tells it what happened later.
	// +optional
	SettledTime metav1.Time `json:"settledTime,omitempty,omitzero"`
	// lastDeliveryTime is when the sink last took a signal, as far as it was written.
	// +optional
	LastDeliveryTime *metav1.Time `json:"lastDeliveryTime,omitempty"`
	// lastFailureTime is when it last did not, as far as it was written.
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`
	// lastFailure says why. Of a sink outside of the cluster it has the code of the answer.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	LastFailure string `json:"lastFailure,omitempty"`
	// dropped is how many signals the sink was not told: those that it refused for good, and those of deleted runs for which
	// there was no room or whose end is not known.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Dropped int64 `json:"dropped,omitempty"`
	// conditions are what programs read: SinkReady.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
