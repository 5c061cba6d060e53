// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
