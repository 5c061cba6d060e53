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
// +kubebuilder:validation:XValidation:rule="[has(self.webhook), has(self.slack), has(self.email)].exists_one(x, x)",message="a receiver has exactly one of webhook, slack and email"
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
	// email gets each message as an e-mail in plain text.
	// +optional
	Email *EmailReceiver `json:"email,omitempty"`
	// events are those that the receiver is told; unset or empty, all.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Events []NotificationEvent `json:"events,omitempty"`
	// runSelector selects the runs that the receiver is told of, by their labels; unset, all. Skills are told whatever it says.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || size(self.matchLabels) <= 16",message="at most 16 labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) <= 16",message="at most 16 expressions"
	// +optional
	RunSelector *metav1.LabelSelector `json:"runSelector,omitempty"`
	// remindBeforeSeconds is how long before its deadline an ask that is still open is told once more. Unset, it is not. An ask that had no more
	// time from the beginning is told once.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=604800
	// +optional
	RemindBeforeSeconds int32 `json:"remindBeforeSeconds,omitempty"`
	// digest says from when on many asks come in one message.
	// +default={}
	// +optional
	Digest *NotificationDigest `json:"digest,omitempty"`
}

// NotificationDigest bounds how many messages about asks a receiver gets. An ask beyond it waits for one message that lists all such asks. That comes at
// the end of the window, and earlier if half of the time for one of them is over.
type NotificationDigest struct {
	// asks is how many of them have a message of their own within a window. Reminders count, too.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +default=10
	// +optional
	Asks int32 `json:"asks,omitempty"`
	// windowSeconds is the length of the window.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +default=600
	// +optional
	WindowSeconds int32 `json:"windowSeconds,omitempty"`
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
	// buttons has messages about asks come with buttons. The webhook must be of an app of Slack whose interactivity leads to the page of the cluster.
	// +optional
	Buttons bool `json:"buttons,omitempty"`
}

// EmailReceiver are mailboxes that people read. The manager hands each message to a mail server, over TLS alone.
// +kubebuilder:validation:XValidation:rule="has(self.usernameSecretRef) == has(self.passwordSecretRef)",message="usernameSecretRef and passwordSecretRef go together"
type EmailReceiver struct {
	// host is the name of the mail server, or its IPv4 address. Its certificate must be for that.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$`
	// +required
	Host string `json:"host"`
	// port of the mail server, usually 587 with StartTLS and 465 with Implicit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +default=587
	// +optional
	Port int32 `json:"port,omitempty"`
	// tls is how the connection is encrypted. StartTLS: after the greeting, and a server that does not offer it is sent nothing. Implicit: from
	// the first byte.
	// +default="StartTLS"
	// +optional
	TLS MailTLS `json:"tls,omitempty"`
	// sender is the address that messages are from.
	// +required
	Sender MailAddress `json:"sender"`
	// recipients are the addresses of the mailboxes. A server that refuses one of them is sent the message for none.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +required
	Recipients []MailAddress `json:"recipients"`
	// usernameSecretRef is the key of a Secret in this namespace that holds the user name at the mail server. Unset, the manager does not log in.
	// +optional
	UsernameSecretRef *SecretKeyRef `json:"usernameSecretRef,omitempty"`
	// passwordSecretRef is the key of a Secret in this namespace that holds the password.
	// +optional
	PasswordSecretRef *SecretKeyRef `json:"passwordSecretRef,omitempty"`
	// caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CABundle string `json:"caBundle,omitempty"`
}

// MailAddress is the address of a mailbox without a name, as in team@example.org.
// +kubebuilder:validation:MaxLength=254
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$`
type MailAddress string

// MailTLS is how a connection with a mail server is encrypted.
// +kubebuilder:validation:Enum=StartTLS;Implicit
type MailTLS string

const (
	// MailStartTLS: by STARTTLS, after the greeting of the server.
	MailStartTLS MailTLS = "StartTLS"
	// MailImplicitTLS: from the first byte.
	MailImplicitTLS MailTLS = "Implicit"
)

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
