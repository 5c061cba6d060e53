// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MotorCortexSpec is what the runs of a namespace have in common.
type MotorCortexSpec struct {
	// models are the chat models that runs of this namespace may use. A role without a model of its own falls
	// back: motor to fast, fast to default, default to the manager's.
	// +optional
	Models ModelSet `json:"models,omitempty,omitzero"`
}

// ModelSet is a model for each role.
type ModelSet struct {
	// motor drives the loop of a run.
	// +optional
	Motor *ModelEndpoint `json:"motor,omitempty"`
	// fast is for short, cheap questions.
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
}

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

// MotorCortex is an agent's body: the models and defaults of the runs in its namespace.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=motorcortices,singular=motorcortex,shortName=cortex,categories=motor
// +kubebuilder:printcolumn:name="Motor",type=string,JSONPath=`.spec.models.motor.model`
// +kubebuilder:printcolumn:name="Fast",type=string,JSONPath=`.spec.models.fast.model`
// +kubebuilder:printcolumn:name="Default",type=string,JSONPath=`.spec.models.default.model`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="a namespace has one MotorCortex, and its name is default"
type MotorCortex struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec MotorCortexSpec `json:"spec,omitempty,omitzero"`
}

// MotorCortexList is a list of MotorCortex.
// +kubebuilder:object:root=true
type MotorCortexList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorCortex `json:"items"`
}
