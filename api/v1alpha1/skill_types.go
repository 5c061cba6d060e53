// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SkillSpec is where a skill's files come from, what it may use, and what a person decided about it.
type SkillSpec struct {
	// source is where the files come from. Unset, they come from the runs that wrote them.
	// +optional
	Source *SkillSource `json:"source,omitempty"`
	// policy is what runs of the skill may use. To change it takes a new approval.
	// +optional
	Policy SkillPolicy `json:"policy,omitempty,omitzero"`
	// approval lets runs use the skill: exactly that content with exactly that policy. A client that writes it needs the verb approve
	// on the skill.
	// +optional
	Approval *SkillApproval `json:"approval,omitempty"`
	// rejections are contents that a person looked at and does not want. A client that writes one needs the verb approve on the skill.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=contentHash
	// +optional
	Rejections []SkillRejection `json:"rejections,omitempty"`
}

// SkillSource is where the files of a skill come from.
// +kubebuilder:validation:XValidation:rule="[has(self.files), has(self.configMaps), has(self.oci), has(self.flux)].filter(x, x).size() == 1",message="a source has one of files, configMaps, oci and flux"
type SkillSource struct {
	// files are the files themselves.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=path
	// +optional
	Files []SkillFile `json:"files,omitempty"`
	// configMaps of this namespace, whose keys are the files. Two must not have the same file.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	ConfigMaps []SkillConfigMap `json:"configMaps,omitempty"`
	// oci is an artifact in an OCI registry.
	// +optional
	OCI *SkillOCI `json:"oci,omitempty"`
	// flux is a source object of Flux, where that is installed.
	// +optional
	Flux *SkillFlux `json:"flux,omitempty"`
}

// SkillFile is one file of a skill.
type SkillFile struct {
	// path in the skill's folder, with / between folders: SKILL.md, or below references, scripts or assets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// content of the file.
	// +kubebuilder:validation:MaxLength=1048576
	// +required
	Content string `json:"content"`
	// executable says that the file is a program. Files below scripts that begin with #! are, whatever this says.
	// +optional
	Executable bool `json:"executable,omitempty"`
}

// SkillConfigMap is a ConfigMap whose keys are files.
type SkillConfigMap struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// path is the folder that the keys are files of, "" for the skill's own. In a key, two underscores stand for /, as in
	// scripts__send.py, because a key can have no /.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Path string `json:"path,omitempty"`
}

// SkillOCI is an artifact in an OCI registry: one layer that is a tar archive, compressed with gzip or not, or one layer for each file
// with its path in the annotation org.opencontainers.image.title.
type SkillOCI struct {
	// reference is REGISTRY/REPOSITORY@sha256:… or REGISTRY/REPOSITORY:TAG. What a tag stands for is looked up every 10 minutes.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=512
	// +required
	Reference string `json:"reference"`
	// pullSecretName is a Secret of type kubernetes.io/dockerconfigjson in this namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PullSecretName string `json:"pullSecretName,omitempty"`
}

// SkillFlux names a source object of Flux.
type SkillFlux struct {
	// kind of the object.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket
	// +required
	Kind string `json:"kind"`
	// name of the object in this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// path of the skill's folder in the source.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Path string `json:"path,omitempty"`
}

// SkillDecision is what a person decided about a skill.
// +kubebuilder:validation:Enum=Approved;Revoked
type SkillDecision string

const (
	// SkillDecisionApproved: runs may use that content with that policy.
	SkillDecisionApproved SkillDecision = "Approved"
	// SkillDecisionRevoked: no run may use the skill until it is approved again.
	SkillDecisionRevoked SkillDecision = "Revoked"
)

// SkillApproval binds an approval to a content and a policy.
type SkillApproval struct {
	// decision is Approved, or Revoked.
	// +default="Approved"
	// +optional
	Decision SkillDecision `json:"decision,omitempty"`
	// contentHash of the approved files: status.contentHash, or that of an earlier revision to go back to it.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// policyHash of the approved policy: status.policyHash. Who changes the policy and approves it in one patch writes the new
	// one: sha256 of spec.policy as JSON with sorted keys, without spaces.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=71
	// +required
	PolicyHash string `json:"policyHash"`
	// approvedBy is who approved. A person's is their own name; a service account that carries an approval out of Git writes
	// who approved it there.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// account is the user who wrote the approval into the cluster. Admission fills it in, where the cluster can, and refuses any other.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Account string `json:"account,omitempty"`
	// note says why.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Note string `json:"note,omitempty"`
	// expirationTime is when the approval ends; unset, it does not.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// SkillRejection records that a person does not want a content.
type SkillRejection struct {
	// contentHash of the files.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// rejectedBy is who rejected it. Admission fills it in, where the cluster can.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RejectedBy string `json:"rejectedBy,omitempty"`
	// note says why.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Note string `json:"note,omitempty"`
}

// Skill is a capability: files after the Agent Skills standard, what they may use, and who approved it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=mskill,categories=motor
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Runs",type=integer,JSONPath=`.status.usage.runs`
// +kubebuilder:printcolumn:name="Success",type=string,JSONPath=`.status.usage.successRate`
// +kubebuilder:printcolumn:name="Last-Used",type=date,JSONPath=`.status.usage.lastUsedTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Content",type=string,priority=1,JSONPath=`.status.contentHash`
// +kubebuilder:printcolumn:name="Policy",type=string,priority=1,JSONPath=`.status.policyHash`
// +kubebuilder:printcolumn:name="Domains",type=string,priority=1,JSONPath=`.spec.policy.domains`
// +kubebuilder:printcolumn:name="Description",type=string,priority=1,JSONPath=`.status.description`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 64 && self.metadata.name.matches('^[a-z0-9]+(-[a-z0-9]+)*$')",message="the name of a Skill is the one in its SKILL.md: 1 to 64 of a-z, 0-9 and single hyphens between them"
type Skill struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec SkillSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status SkillStatus `json:"status,omitempty,omitzero"`
}

// SkillList is a list of Skill.
// +kubebuilder:object:root=true
type SkillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Skill `json:"items"`
}

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
