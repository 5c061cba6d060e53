// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// RunAcceptance is what must hold before a run counts as done. It is looked at when the model calls finish with Succeeded. The model is
// told what does not hold, and can mend it; the third time ends the attempt with AcceptanceFailed.
type RunAcceptance struct {
	// files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Files []string `json:"files,omitempty"`
	// commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
	// not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Commands []AcceptCommand `json:"commands,omitempty"`
	// valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References
	// lead to $defs of the schema itself.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	ValueSchema string `json:"valueSchema,omitempty"`
}

// AcceptCommand is a command that must end with status 0.
type AcceptCommand struct {
	// command line, run by bash -c in the workspace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`\S`
	// +required
	Command string `json:"command"`
	// timeoutSeconds until the command and everything that it started is killed, which counts as failed.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	// +default=60
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}
