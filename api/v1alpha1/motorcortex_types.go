// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MotorCortexSpec is what the runs of a namespace have in common.
type MotorCortexSpec struct {
	// models are the chat models that runs of this namespace may use. A role without a model of its own falls
	// back: motor to fast, fast to default, default to the manager's.
	// +optional
	Models ModelSet `json:"models,omitempty,omitzero"`
	// concurrency bounds how many runs of this namespace are carried out at the same time: one, if it says nothing else. In a namespace
	// without a MotorCortex there is no bound.
	// +default={}
	// +optional
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	// retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take.
	// +optional
	Retention Retention `json:"retention,omitempty,omitzero"`
	// egress bounds what the runs of this namespace may reach.
	// +optional
	Egress *EgressBounds `json:"egress,omitempty"`
	// search is where the tool search_web asks. Unset, the tool is not offered to any model.
	// +optional
	Search *SearchProvider `json:"search,omitempty"`
	// approval says who may decide for the runs of this namespace.
	// +optional
	Approval *CortexApproval `json:"approval,omitempty"`
	// sandbox bounds the shape of the sandboxes of this namespace, and names the pools that they come from.
	// +optional
	Sandbox *SandboxBounds `json:"sandbox,omitempty"`
	// packages is where the dependencies of skills are installed from. Unset, no skill can have any.
	// +optional
	Packages *PackageSources `json:"packages,omitempty"`
	// signals says which services are told what becomes of the runs and skills of this namespace.
	// +optional
	Signals *Signals `json:"signals,omitempty"`
	// notifications says which people are told what waits for them in this namespace, and how runs end.
	// +optional
	Notifications *Notifications `json:"notifications,omitempty"`
	// energy bounds how much the runs of this namespace do. Unset, there is no such bound.
	// +optional
	Energy *Energy `json:"energy,omitempty"`
	// budget says what models cost, and what the runs of this namespace may spend on them. Unset, nothing is counted but tokens, and nothing is bounded.
	// +optional
	Budget *Budget `json:"budget,omitempty"`
}

// CortexApproval says who may decide for the runs of a namespace.
type CortexApproval struct {
	// fourEyes keeps the creator of a run from deciding for it, whatever rights that person has: about tool calls and domains, and by
	// addDomains of a retry. exposeToSandbox cannot be set then. Off by default.
	// +optional
	FourEyes bool `json:"fourEyes,omitempty"`
}

// PackageSources are the package indexes that dependencies are installed from, and the only hosts that are reached for that.
type PackageSources struct {
	// npm is the address of a registry for npm.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[^/\s?#@]+(/[^\s?#]*)?$`
	// +optional
	NPM string `json:"npm,omitempty"`
	// pip is the address of a simple index for Python packages.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[^/\s?#@]+(/[^\s?#]*)?$`
	// +optional
	Pip string `json:"pip,omitempty"`
	// apt is a repository of Debian packages.
	// +optional
	Apt *AptSource `json:"apt,omitempty"`
	// caBundle has certificates of authorities, in PEM, by which these hosts are known, beside those of the sandbox image.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CABundle string `json:"caBundle,omitempty"`
	// hosts are further hosts that the files of packages come from.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Hosts []Domain `json:"hosts,omitempty"`
}

// AptSource is a repository of Debian packages, as in an entry of sources.list(5) without options.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="self.suite.endsWith('/') != has(self.components)",message="components are required, unless suite is a path that ends with a slash: then there are none"
type AptSource struct {
	// url of the repository, as in https://deb.example.org/debian.
	// +kubebuilder:validation:MaxLength=768
	// +kubebuilder:validation:Pattern=`^https://[^/\s?#@]+(/[^\s?#]*)?$`
	// +required
	URL string `json:"url"`
	// suite of the distribution, as in trixie, or a path that ends with a slash.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9./-]+$`
	// +required
	Suite string `json:"suite"`
	// components of the suite, as in main.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9.-]+$`
	// +listType=set
	// +optional
	Components []string `json:"components,omitempty"`
	// keyring has the armored OpenPGP public keys that apt knows the repository by, in place of those of the sandbox image.
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:Pattern=`^-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n[ -~\r\n\t]*\n-----END PGP PUBLIC KEY BLOCK-----[ \r\n\t]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('PRIVATE KEY')",message="a keyring of public keys alone is wanted"
	// +optional
	Keyring string `json:"keyring,omitempty"`
}

// Entry returns the entry of sources.list(5) after its type, as in "https://deb.example.org/debian trixie main".
func (s *AptSource) Entry() string {
	return strings.Join(append([]string{s.URL, s.Suite}, s.Components...), " ")
}

// SearchProvider is where search_web asks. The manager asks it, not the sandbox.
// +kubebuilder:validation:XValidation:rule="self.type != 'Brave' || has(self.apiKeySecretRef)",message="Brave needs apiKeySecretRef"
// +kubebuilder:validation:XValidation:rule="self.type != 'SearXNG' || has(self.url)",message="SearXNG needs url"
type SearchProvider struct {
	// type is the shape of its API.
	// +required
	Type SearchType `json:"type"`
	// url of a SearXNG instance, without /search; of Brave, where it is not its own.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/\s?#@]+(/[^\s?#]*)?$`
	// +optional
	URL string `json:"url,omitempty"`
	// apiKeySecretRef is the key of a Secret in this namespace that holds the API key.
	// +optional
	APIKeySecretRef *SecretKeyRef `json:"apiKeySecretRef,omitempty"`
}

// SearchType is the shape of a search provider's API.
// +kubebuilder:validation:Enum=SearXNG;Brave
type SearchType string

const (
	SearchSearXNG SearchType = "SearXNG"
	SearchBrave   SearchType = "Brave"
)

// EgressBounds bound what runs may reach.
type EgressBounds struct {
	// allowedDomains are the most that a run may be allowed, by its spec or by a person: each of its domains must be within
	// one of these. An empty list allows none; unset, there is no such bound.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	AllowedDomains []Domain `json:"allowedDomains,omitzero"`
}

// SandboxBounds bound the shape of sandboxes, and name the pools that they come from.
type SandboxBounds struct {
	// allowedStorageClasses are the StorageClasses that a run may name in sandbox.workspaceStorageClassName. Unset or empty, it may name
	// none. How much of a class all runs of the namespace may have together is for a ResourceQuota.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	AllowedStorageClasses []string `json:"allowedStorageClasses,omitempty"`
	// pools are the SandboxPools of the namespace from which its runs take their sandboxes, in this order. A run that finds none of its shape
	// starts with a new one.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=40
	// +listType=set
	// +optional
	Pools []string `json:"pools,omitempty"`
}

// Concurrency bounds how many runs are carried out at the same time. Oneshot runs are neither counted nor held up.
type Concurrency struct {
	// maxActive is the most runs that have begun and not ended. One that waits for a person, or is suspended, holds its place.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +default=1
	// +optional
	MaxActive int32 `json:"maxActive,omitempty"`
	// whenBusy is what becomes of a run for which there is no place: it waits for its turn (Queue), or ends at once (Reject).
	// +default="Queue"
	// +optional
	WhenBusy WhenBusy `json:"whenBusy,omitempty"`
}

// WhenBusy is what becomes of a run for which there is no place.
// +kubebuilder:validation:Enum=Queue;Reject
type WhenBusy string

const (
	BusyQueue  WhenBusy = "Queue"
	BusyReject WhenBusy = "Reject"
)

// Retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take. Whichever limit is reached
// first, counts.
type Retention struct {
	// succeededSeconds is how long a run that succeeded is kept, unless it says so itself: a day if unset, of mode Oneshot
	// 10 minutes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	SucceededSeconds *int32 `json:"succeededSeconds,omitempty"`
	// failedSeconds is how long a run that failed or was cancelled is kept, unless it says so itself: a week if unset, of
	// mode Oneshot 10 minutes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	FailedSeconds *int32 `json:"failedSeconds,omitempty"`
	// maxSucceeded is how many runs that succeeded are kept, the newest; unset, there is no such limit. Runs of mode Oneshot
	// do not count.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxSucceeded *int32 `json:"maxSucceeded,omitempty"`
	// maxFailed is how many runs that failed or were cancelled are kept, the newest; unset, there is no such limit. Runs of
	// mode Oneshot do not count.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxFailed *int32 `json:"maxFailed,omitempty"`
	// maxStorage is the most bytes that the runs of the namespace may keep in the cluster, with their steps and artifacts: default 1Gi. Runs
	// that have not begun do not count. From four fifths of it on, runs of which the archive has everything are deleted before their time, the
	// oldest first. At all of it, no further run begins. At a quarter more, no run asks its model for another step.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="no run could begin: to lift the bound, set more than etcd can hold, such as 1Ti"
	// +optional
	MaxStorage *resource.Quantity `json:"maxStorage,omitempty"`
}

// ModelSet is a model for each role.
type ModelSet struct {
	// motor drives the loop of a run.
	// +optional
	Motor *ModelEndpoint `json:"motor,omitempty"`
	// fast is for the hint with which an attempt that failed suggests what to try next. Everything else is asked of motor.
	// +optional
	Fast *ModelEndpoint `json:"fast,omitempty"`
	// default is for every role that has none of its own.
	// +optional
	Default *ModelEndpoint `json:"default,omitempty"`
}

// ModelEndpoint is one model of an OpenAI-compatible Chat Completions endpoint.
type ModelEndpoint struct {
	// model is the name that the endpoint knows the model by.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Model string `json:"model"`
	// baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^/\s?#@]+(/[^\s?#]*)?$`
	// +optional
	BaseURL string `json:"baseURL,omitempty"`
	// apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's
	// key if baseURL is unset too, and none otherwise: the manager's key is never sent to another endpoint.
	// +optional
	APIKeySecretRef *SecretKeyRef `json:"apiKeySecretRef,omitempty"`
	// contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the
	// endpoint's own word for it counts as soon as it refuses a request for its length, and 128000 until then.
	// +kubebuilder:validation:Minimum=4000
	// +kubebuilder:validation:Maximum=100000000
	// +optional
	ContextTokens int32 `json:"contextTokens,omitempty"`
	// finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a row
	// ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool call;
	// whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and one that
	// says what the model is about to do.
	// +default="Call"
	// +optional
	Finish FinishMode `json:"finish,omitempty"`
	// idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole
	// answer takes is bounded by requestTimeoutSeconds alone.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +default=90
	// +optional
	IdleTimeoutSeconds int32 `json:"idleTimeoutSeconds,omitempty"`
	// requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +default=1800
	// +optional
	RequestTimeoutSeconds int32 `json:"requestTimeoutSeconds,omitempty"`
	// outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt
	// fails. It counts anew for each outage.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +default=3600
	// +optional
	OutageDeadlineSeconds int32 `json:"outageDeadlineSeconds,omitempty"`
}

// FinishMode is how a model ends a run.
// +kubebuilder:validation:Enum=Call;Text
type FinishMode string

const (
	// FinishCall: with a call of the tool finish.
	FinishCall FinishMode = "Call"
	// FinishText: with the tool finish, or with a text and no tool call.
	FinishText FinishMode = "Text"
)

// SecretKeyRef names one key of a Secret in the same namespace.
type SecretKeyRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// key in the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`
}

// MotorCortexStatus reports whether runs of the namespace find the services that the MotorCortex names. The operator checks them when the spec
// changes and every five minutes, every minute while one of them is not available.
type MotorCortexStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// model is the name of the model that drives the runs of the namespace which name none themselves, unset if there is none.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Model string `json:"model,omitempty"`
	// storage is what the runs of the namespace keep in the cluster.
	// +optional
	Storage *StorageStatus `json:"storage,omitempty"`
	// energy is how much the body has, and what drained it; unset while spec.energy is.
	// +optional
	Energy *EnergyStatus `json:"energy,omitempty"`
	// conditions are what programs read: Ready, StorageAvailable, NotificationsReady, and one for each service that is configured.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// sinks say how each of spec.signals.sinks takes its signals. It is written when a sink begins to fail or to take signals again, and else
	// at most once a minute, and once an hour while nothing is delivered.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Sinks []SinkStatus `json:"sinks,omitempty"`
	// receivers say the same of each of spec.notifications.receivers.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Receivers []SinkStatus `json:"receivers,omitempty"`
	// budget is what the runs of the namespace have spent, unset where no bound of spec.budget is about all of them.
	// +optional
	Budget *BudgetStatus `json:"budget,omitempty"`
}

// StorageStatus says how much the runs of a namespace keep in the cluster.
type StorageStatus struct {
	// used is about how many bytes they keep, with their steps and artifacts. It is written anew when it has changed by a twentieth of max.
	// +required
	Used resource.Quantity `json:"used"`
	// max is the most that they may keep: spec.retention.maxStorage or its default.
	// +required
	Max resource.Quantity `json:"max"`
}

// MotorCortex is an agent's body: the models and defaults of the runs in its namespace.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=motorcortices,singular=motorcortex,shortName=cortex,categories=motor
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Energy",type=string,priority=1,JSONPath=`.status.energy.level`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="a namespace has one MotorCortex, and its name is default"
type MotorCortex struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec MotorCortexSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status MotorCortexStatus `json:"status,omitempty,omitzero"`
}

// MotorCortexList is a list of MotorCortex.
// +kubebuilder:object:root=true
type MotorCortexList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorCortex `json:"items"`
}
