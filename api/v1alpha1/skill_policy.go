// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SkillPolicy is what runs of a skill may use. A run may have less of it, never more.
type SkillPolicy struct {
	// tools that the model may use.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Tools []ToolName `json:"tools,omitempty"`
	// domains are the only hosts that the sandbox may reach.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Domains []Domain `json:"domains,omitempty"`
	// credentials that the skill needs.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Credentials []SkillCredential `json:"credentials,omitempty"`
	// dependencies are packages that are installed for the skill, before its runs.
	// +optional
	Dependencies *SkillDependencies `json:"dependencies,omitempty"`
	// inputs are what a run of the skill is given.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Inputs []SkillInput `json:"inputs,omitempty"`
	// approval says what needs a person, beside what the run itself says.
	// +optional
	Approval *RunApproval `json:"approval,omitempty"`
	// bash narrows the bash tool.
	// +optional
	Bash *BashRules `json:"bash,omitempty"`
	// accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
	// +optional
	Accept *RunAcceptance `json:"accept,omitempty"`
}

// SkillCredential is a credential that a skill needs.
type SkillCredential struct {
	// name by which the model knows it, as <credential:name>, and that files of the skill use in upper case as an environment variable.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*[a-z0-9]$`
	// +required
	Name string `json:"name"`
	// hosts are the only ones that the value is sent to. Each must be within domains.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +required
	Hosts []Domain `json:"hosts"`
	// slot is where in a request the value belongs, as in spec.credentials of a MotorRun.
	// +default={"type": "Bearer"}
	// +optional
	Slot CredentialSlot `json:"slot,omitzero"`
	// secretRef is the key of a Secret in this namespace that has the value. Unset, each run names its own, in spec.credentials.
	// The creator of the run needs the verb use on it.
	// +optional
	SecretRef *SecretKeyRef `json:"secretRef,omitempty"`
}

// SkillDependencies are packages, each with its exact version.
type SkillDependencies struct {
	// npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`
	// +listType=set
	// +optional
	NPM []string `json:"npm,omitempty"`
	// pip packages, as in requests==2.32.3 or name[extra]==1.0.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?==[0-9][0-9A-Za-z.!+-]*$`
	// +listType=set
	// +optional
	Pip []string `json:"pip,omitempty"`
	// apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of
	// theirs is run when they are unpacked.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9][a-z0-9+.-]+=[0-9][0-9A-Za-z.+~:-]*$`
	// +listType=set
	// +optional
	Apt []string `json:"apt,omitempty"`
}

// InputType is the type of an input.
// +kubebuilder:validation:Enum=string;integer;number;boolean
type InputType string

const (
	InputString  InputType = "string"
	InputInteger InputType = "integer"
	InputNumber  InputType = "number"
	InputBoolean InputType = "boolean"
)

// SkillInput is something that a run of the skill is given.
type SkillInput struct {
	// name of the input.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_-]*$`
	// +required
	Name string `json:"name"`
	// type that the value must have.
	// +default="string"
	// +optional
	Type InputType `json:"type,omitempty"`
	// description for the person who fills it in. A run without a required input is told it.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Description string `json:"description,omitempty"`
	// required says that a run without a value is refused.
	// +optional
	Required bool `json:"required,omitempty"`
	// default is the value if a run gives none.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Default *string `json:"default,omitempty"`
	// options are the only values that are allowed, if there are any.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Options []string `json:"options,omitempty"`
}
