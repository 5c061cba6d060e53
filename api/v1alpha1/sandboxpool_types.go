// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SandboxPoolSpec is how many sandboxes a pool keeps, and of which shape. A run gets one of them if its own sandbox would have the same shape, and
// the MotorCortex of the namespace names the pool.
type SandboxPoolSpec struct {
	// replicas is how many sandboxes wait for a run. One that a run takes is replaced. Zero keeps none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// resources are the limits of each sandbox, as in spec.sandbox.resources of a MotorRun.
	// +optional
	Resources SandboxResources `json:"resources,omitempty,omitzero"`
	// runtimeClassName is the RuntimeClass of each Pod, as in spec.sandbox.runtimeClassName of a MotorRun.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// maxAgeSeconds is how old a sandbox may become that no run takes. Then another one replaces it.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	// +default=3600
	// +optional
	MaxAgeSeconds int32 `json:"maxAgeSeconds,omitempty"`
}

// SandboxPoolStatus is what a pool has.
type SandboxPoolStatus struct {
	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// replicas is how many sandboxes the pool has, ready or not. Those that runs have taken do not count.
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas is how many of them a run can take now: their isolation is proved.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// selector selects the Pods of the pool, for the scale subresource.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Selector string `json:"selector,omitempty"`
	// conditions of the pool: Ready.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Condition types of a SandboxPool.
const (
	// PoolReady is True when a pool has as many sandboxes as it is to have, all of them ready for a run.
	PoolReady = "Ready"
)

// Reasons of the condition of a SandboxPool. It is also False with SandboxRefused, SandboxStarting, Unschedulable, ImagePullFailed,
// ContainerCreateFailed, BaselineRefused and Reachable, about the sandboxes of the pool. Runs start without the pool meanwhile.
const (
	// ReasonPoolFull is a reason of Ready=True of a SandboxPool.
	//
	// Meaning: Every sandbox is there, and its isolation is proved.
	//
	// Do: Nothing.
	ReasonPoolFull = "Full"

	// ReasonPoolFilling is a reason of Ready=False of a SandboxPool.
	//
	// Meaning: Sandboxes start, or are replaced.
	//
	// Do: Wait.
	ReasonPoolFilling = "Filling"

	// ReasonPoolYielding is a reason of Ready=False of a SandboxPool.
	//
	// Meaning: A run of the namespace has no room for its sandbox. The pool gives up its own until that run has one.
	//
	// Do: Make room, or lower spec.replicas.
	ReasonPoolYielding = "Yielding"

	// ReasonPoolChanged is a reason of Ready=False of a SandboxPool.
	//
	// Meaning: A webhook or another plugin changes the image, the environment, the volumes or the resources of the sandboxes when they are made.
	// A run takes only what equals a sandbox of its own. The pool tries again every 30 s.
	//
	// Do: Leave Pods with the label motorcortex.dev/component=sandbox out of that webhook.
	ReasonPoolChanged = "SandboxChanged"

	// ReasonPoolUnused is a reason of Ready=False of a SandboxPool.
	//
	// Meaning: The MotorCortex "default" of the namespace does not name the pool in spec.sandbox.pools, so the pool keeps no sandboxes.
	//
	// Do: Name it there.
	ReasonPoolUnused = "Unused"
)

// SandboxPool keeps sandboxes that wait for a run: started, empty, closed, and proved to be closed. Each serves one run and is destroyed after it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:scope=Namespaced,shortName=spool,categories=motor
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="the name of a SandboxPool has at most 40 characters, because the names of its Pods begin with it"
type SandboxPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Clients leave out an empty spec, and the API server sets no defaults of fields in an object that is not there.

	// +default={}
	// +optional
	Spec SandboxPoolSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status SandboxPoolStatus `json:"status,omitempty,omitzero"`
}

// SandboxPoolList is a list of SandboxPool.
// +kubebuilder:object:root=true
type SandboxPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SandboxPool `json:"items"`
}
