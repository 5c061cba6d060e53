// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MotorRunTemplateSpec is a run to be made again and again, and the parameters that differ each time.
type MotorRunTemplateSpec struct {
	// parameters are what differs from run to run. $(params.NAME) stands for the value of one in runTemplate.spec.task, the values of
	// runTemplate.spec.inputs and the contents of runTemplate.spec.files. No other field is changed. $$(params.NAME) is that text itself.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Parameters []TemplateParameter `json:"parameters,omitempty"`

	// runTemplate is the run.
	// +required
	RunTemplate RunTemplate `json:"runTemplate"`

	// requester is who wrote parameters and runTemplate last. Admission fills it in, where the cluster can, and refuses any other.
	// +optional
	Requester *Requester `json:"requester,omitempty"`
}

// TemplateParameter is a value that differs from run to run.
// +kubebuilder:validation:XValidation:rule="!(has(self.required) && self.required && has(self.default))",fieldPath=".default",message="a parameter that is required has no default"
// +kubebuilder:validation:XValidation:rule="!has(self.default) || !has(self.enum) || self.enum.size() == 0 || self.default in self.enum",fieldPath=".default",message="the default is one of enum"
type TemplateParameter struct {
	// name of the parameter, as in $(params.NAME).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9_-]*$`
	// +required
	Name string `json:"name"`
	// description says to people what the value is for.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// default is the value if none is given. A parameter without one that is not required is the empty text then.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Default *string `json:"default,omitempty"`
	// required refuses a run for which no value is given.
	// +optional
	Required bool `json:"required,omitempty"`
	// pattern is a regular expression (RE2) for the whole of a value that is given.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) in [true, false]",message="pattern is a regular expression after RE2"
	// +optional
	Pattern string `json:"pattern,omitempty"`
	// enum are the only values that may be given.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Enum []string `json:"enum,omitempty"`
}

// ParameterValue is the value of a parameter.
type ParameterValue struct {
	// name of the parameter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// value of the parameter.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value string `json:"value,omitempty"`
}

// RunTemplate is a MotorRun that is made later, perhaps many times.
type RunTemplate struct {
	// metadata of each run.
	// +optional
	Metadata RunTemplateMetadata `json:"metadata,omitempty,omitzero"`
	// spec of each run.
	// +required
	Spec RunTemplateSpec `json:"spec"`
}

// RunTemplateMetadata are labels and annotations for runs.
type RunTemplateMetadata struct {
	// labels of each run. Those of motorcortex.dev/ are the operator's.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('motorcortex.dev/'))",message="labels motorcortex.dev/… are the operator's: choose another prefix"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of each run. Those of motorcortex.dev/ are the operator's.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('motorcortex.dev/'))",message="annotations motorcortex.dev/… are the operator's: choose another prefix"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RunTemplateSpec is the spec of a MotorRun that is made later: all of it that describes the task, and nothing that is said about one run, such as
// responses, suspend and cancel. Unlike the spec of a run it can change. A field that is unset is unset in the run.
// +kubebuilder:validation:XValidation:rule="(!has(self.mode) || self.mode == 'Agentic') == has(self.task)",fieldPath=".task",message="an Agentic run needs a task, and a Oneshot run has none"
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Oneshot') == has(self.code)",fieldPath=".code",message="a Oneshot run needs code, and an Agentic run has none"
// +kubebuilder:validation:XValidation:rule="has(self.skillRef) || !has(self.inputs) || self.inputs.size() == 0",fieldPath=".inputs",message="inputs go with skillRef"
// +kubebuilder:validation:XValidation:rule="!has(self.mcpServers) || self.mcpServers.all(m, !has(m.credentialName) || has(self.credentials) && self.credentials.exists(c, c.name == m.credentialName))",fieldPath=".mcpServers",message="the credential of an MCP server is one of credentials"
type RunTemplateSpec struct {
	// mode of the run: Agentic or Oneshot.
	// +kubebuilder:validation:XValidation:rule="self in ['Agentic', 'Oneshot']",message="mode is Agentic or Oneshot: runs of mode Install are the operator's"
	// +optional
	Mode RunMode `json:"mode,omitempty"`
	// task is spec.task of the run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:Pattern=`\S`
	// +optional
	Task string `json:"task,omitempty"`
	// code is spec.code of the run. Parameters do not change it: give them to the run in files.
	// +optional
	Code *Code `json:"code,omitempty"`
	// tools is spec.tools of the run.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Tools []ToolName `json:"tools,omitempty"`
	// bash is spec.bash of the run.
	// +optional
	Bash *BashRules `json:"bash,omitempty"`
	// mcpServers is spec.mcpServers of the run.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	MCPServers []MCPServer `json:"mcpServers,omitempty"`
	// domains is spec.domains of the run.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Domains []Domain `json:"domains,omitempty"`
	// credentials is spec.credentials of the run. Who writes it needs the verb use on each Secret.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Credentials []Credential `json:"credentials,omitempty"`
	// files is spec.files of the run.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=path
	// +optional
	Files []InputFile `json:"files,omitempty"`
	// model is spec.model of the run.
	// +optional
	Model *RunModel `json:"model,omitempty"`
	// skillRef is spec.skillRef of the run.
	// +optional
	SkillRef *SkillRef `json:"skillRef,omitempty"`
	// inputs is spec.inputs of the run.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Inputs []RunInput `json:"inputs,omitempty"`
	// extractSkills is spec.extractSkills of the run.
	// +optional
	ExtractSkills SkillExtraction `json:"extractSkills,omitempty"`
	// keep is spec.keep of the run.
	// +optional
	Keep RunKeep `json:"keep,omitempty"`
	// limits is spec.limits of the run.
	// +optional
	Limits *RunLimits `json:"limits,omitempty"`
	// budget is spec.budget of the run.
	// +optional
	Budget *BudgetAmount `json:"budget,omitempty"`
	// sandbox is spec.sandbox of the run.
	// +optional
	Sandbox *TemplateSandbox `json:"sandbox,omitempty"`
	// approval is spec.approval of the run.
	// +optional
	Approval *RunApproval `json:"approval,omitempty"`
	// questions is spec.questions of the run.
	// +optional
	Questions *RunQuestions `json:"questions,omitempty"`
	// accept is spec.accept of the run.
	// +optional
	Accept *RunAcceptance `json:"accept,omitempty"`
	// maxAttempts is spec.maxAttempts of the run.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	// +optional
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
	// priority is spec.priority of the run.
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// ttlSecondsAfterFinished is spec.ttlSecondsAfterFinished of the run.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TemplateSandbox is spec.sandbox of a run. Unlike that it can change.
type TemplateSandbox struct {
	// runtimeClassName is spec.sandbox.runtimeClassName of the run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// workspaceStorageClassName is spec.sandbox.workspaceStorageClassName of the run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	WorkspaceStorageClassName *string `json:"workspaceStorageClassName,omitempty"`
	// resources is spec.sandbox.resources of the run.
	// +optional
	Resources TemplateResources `json:"resources,omitempty,omitzero"`
}

// TemplateResources are the limits of a sandbox. Unlike those of a run they can change.
type TemplateResources struct {
	// cpu is the most processor time: default 1.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory is the most memory: default 1Gi.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// workspace is the most that the files in the workspace may have: default 1Gi.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +optional
	Workspace *resource.Quantity `json:"workspace,omitempty"`
}

// MotorRunTemplate is a run that people, schedules and skills make again and again, with parameters. It has no status: the operator reads it when a
// run is made of it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=mrt,categories=motor
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.runTemplate.spec.mode`
// +kubebuilder:printcolumn:name="Skill",type=string,JSONPath=`.spec.runTemplate.spec.skillRef.name`
// +kubebuilder:printcolumn:name="Written-By",type=string,JSONPath=`.spec.requester.username`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name of a MotorRunTemplate has at most 63 characters"
type MotorRunTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MotorRunTemplateSpec `json:"spec"`
}

// MotorRunTemplateList is a list of MotorRunTemplate.
// +kubebuilder:object:root=true
type MotorRunTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorRunTemplate `json:"items"`
}
