// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RunMode is how a run is carried out.
// +kubebuilder:validation:Enum=Agentic;Oneshot;Install
type RunMode string

const (
	// ModeAgentic: a model decides, turn by turn, what is done.
	ModeAgentic RunMode = "Agentic"
	// ModeOneshot: one piece of code is run, without a model.
	ModeOneshot RunMode = "Oneshot"
	// ModeInstall: packages of a skill are installed, without a model. Only the operator creates such runs.
	ModeInstall RunMode = "Install"
)

// ToolName is the name of a tool.
// +kubebuilder:validation:Enum=bash;code;read;write;edit;patch;list;glob;grep;fetch;search_web;save_artifact;ask_user;request_approval;request_domain;save_credential
type ToolName string

// MotorRunSpec is one task to carry out. Only responses, suspend, ttlSecondsAfterFinished and cancel may change
// after creation, and origin of a copy.
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Agentic' || has(self.task)",fieldPath=".task",reason=FieldValueRequired,message="an Agentic run needs a task",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Agentic' || !has(self.code)",fieldPath=".code",reason=FieldValueForbidden,message="code is for Oneshot runs; in an Agentic run the model writes it",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Oneshot' || has(self.code)",fieldPath=".code",reason=FieldValueRequired,message="a Oneshot run needs code",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Oneshot' || !has(self.task)",fieldPath=".task",reason=FieldValueForbidden,message="task is for Agentic runs",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.task) == has(oldSelf.task)",fieldPath=".task",message="task never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.code) == has(oldSelf.code)",fieldPath=".code",message="code never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.tools) && self.tools.size() > 0) == (has(oldSelf.tools) && oldSelf.tools.size() > 0)",fieldPath=".tools",message="tools never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.domains) && self.domains.size() > 0) == (has(oldSelf.domains) && oldSelf.domains.size() > 0)",fieldPath=".domains",message="domains never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.credentials) && self.credentials.size() > 0) == (has(oldSelf.credentials) && oldSelf.credentials.size() > 0)",fieldPath=".credentials",message="credentials never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.bash) == has(oldSelf.bash)",fieldPath=".bash",message="bash never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.mcpServers) && self.mcpServers.size() > 0) == (has(oldSelf.mcpServers) && oldSelf.mcpServers.size() > 0)",fieldPath=".mcpServers",message="mcpServers never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.mcpServers) || self.mcpServers.all(m, !has(m.credentialName) || has(self.credentials) && self.credentials.exists(c, c.name == m.credentialName))",fieldPath=".mcpServers",message="the credential of an MCP server is one of spec.credentials",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Oneshot' || (!has(self.tools) || self.tools.size() == 0) && (!has(self.credentials) || self.credentials.size() == 0) && (!has(self.mcpServers) || self.mcpServers.size() == 0) && (!has(self.files) || self.files.size() == 0)",fieldPath=".mode",message="a Oneshot run has no tools, credentials, mcpServers or files: it is one piece of code, and domains that it may reach",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.code) || !has(self.code.timeoutMilliseconds) || self.code.timeoutMilliseconds <= 5000 || has(self.domains) && self.domains.size() > 0",fieldPath=".code",message="code.timeoutMilliseconds is at most 5000 in a run without domains; code that waits for hosts has up to 30000",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.requester) == has(oldSelf.requester) && (!has(self.requester) || self.requester == oldSelf.requester) || has(self.origin) && self.origin == 'Released' && has(oldSelf.origin) && oldSelf.origin == 'Copied'",fieldPath=".requester",message="requester never changes after creation: it is who created the run, or released a copy of one"
// +kubebuilder:validation:XValidation:rule="has(self.origin) == has(oldSelf.origin)",fieldPath=".origin",message="origin changes only from Copied to Released, which lets the copy of a run begin"
// +kubebuilder:validation:XValidation:rule="(has(self.files) && self.files.size() > 0) == (has(oldSelf.files) && oldSelf.files.size() > 0)",fieldPath=".files",message="files never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.skillRef) == has(oldSelf.skillRef)",fieldPath=".skillRef",message="skillRef never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.inputs) && self.inputs.size() > 0) == (has(oldSelf.inputs) && oldSelf.inputs.size() > 0)",fieldPath=".inputs",message="inputs never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.skillReview) && self.skillReview) == (has(oldSelf.skillReview) && oldSelf.skillReview)",fieldPath=".skillReview",message="skillReview and extractSkills never change after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.dependencies) == has(oldSelf.dependencies)",fieldPath=".dependencies",message="dependencies never change after creation"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode == 'Agentic' || !has(self.skillRef)",fieldPath=".skillRef",message="skillRef is for Agentic runs",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || has(self.skillRef) || (!has(self.inputs) || self.inputs.size() == 0) && !(has(self.skillReview) && self.skillReview)",fieldPath=".skillRef",message="inputs and skillReview go with skillRef",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !(has(self.skillReview) && self.skillReview) || (!has(self.tools) || self.tools.size() == 0) && (!has(self.domains) || self.domains.size() == 0) && (!has(self.credentials) || self.credentials.size() == 0) && (!has(self.mcpServers) || self.mcpServers.size() == 0) && (!has(self.files) || self.files.size() == 0)",fieldPath=".skillReview",message="a run with skillReview has the tools that only read and the files of the skill, and no domains, credentials or mcpServers",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.mode == 'Install') == has(self.dependencies)",fieldPath=".dependencies",message="dependencies are for runs of mode Install, which the operator makes for the policy of a skill",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.mode != 'Install' || !has(self.task) && !has(self.code) && (!has(self.tools) || self.tools.size() == 0) && (!has(self.credentials) || self.credentials.size() == 0) && (!has(self.mcpServers) || self.mcpServers.size() == 0) && (!has(self.files) || self.files.size() == 0)",fieldPath=".mode",message="a run of mode Install has dependencies and domains, and nothing else",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.model) == has(oldSelf.model)",fieldPath=".model",message="model never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.sandbox) == has(oldSelf.sandbox)",fieldPath=".sandbox",message="sandbox never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.approval) == has(oldSelf.approval)",fieldPath=".approval",message="approval never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.questions) == has(oldSelf.questions)",fieldPath=".questions",message="questions never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.accept) == has(oldSelf.accept)",fieldPath=".accept",message="accept never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.accept) || self.mode == 'Agentic' && !(has(self.skillReview) && self.skillReview)",fieldPath=".accept",message="accept is for Agentic runs that are no review of a skill: only their model calls finish",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.budget) == has(oldSelf.budget)",fieldPath=".budget",message="budget never changes after creation: create another run, or raise it when the run asks"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",fieldPath=".cancel",message="a cancelled run cannot be brought back: create another run"
type MotorRunSpec struct {
	// mode is Agentic (a model decides what is done) or Oneshot (one piece of code, no model).
	// +default="Agentic"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mode never changes after creation"
	// +optional
	Mode RunMode `json:"mode,omitempty"`

	// task says in plain language what is to be done.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:Pattern=`\S`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="task never changes after creation: create another run"
	// +optional
	Task string `json:"task,omitempty"`

	// code is what a Oneshot run executes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="code never changes after creation: create another run"
	// +optional
	Code *Code `json:"code,omitempty"`

	// tools are what the model may use. Nothing else is offered to it, but for ask_user and finish, which always are.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tools never change after creation: create another run"
	// +optional
	Tools []ToolName `json:"tools,omitempty"`

	// bash narrows the bash tool.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bash never changes after creation: create another run"
	// +optional
	Bash *BashRules `json:"bash,omitempty"`

	// mcpServers are servers of the Model Context Protocol whose tools the model may use.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mcpServers never change after creation: create another run"
	// +optional
	MCPServers []MCPServer `json:"mcpServers,omitempty"`

	// domains are the only hosts that the sandbox may reach: example.org, *.example.org (its subdomains, not
	// itself), example.org:8443. The port is 443 if none is given.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domains never change after creation: create another run"
	// +optional
	Domains []Domain `json:"domains,omitempty"`

	// credentials are Secrets that the run may use for the hosts that each is bound to. Neither the model nor the sandbox
	// sees a value: the egress proxy puts it into the requests.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="credentials never change after creation: create another run"
	// +optional
	Credentials []Credential `json:"credentials,omitempty"`

	// requester is who created the run. Admission fills it in, where the cluster can, and refuses any other.
	// +optional
	Requester *Requester `json:"requester,omitempty"`

	// origin is Created, or Copied for a run that was made of a copy of another one, from a backup for example: it may have been
	// carried out already, so it waits until a person sets Released. The API server fills it in, where the cluster can, over
	// whatever the client wrote.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf == 'Copied' && self == 'Released'",message="origin changes only from Copied to Released, which lets the copy of a run begin"
	// +optional
	Origin RunOrigin `json:"origin,omitempty"`

	// files are put into the workspace before the first step. Those with content have 512 KiB together in JSON.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="files never change after creation: create another run"
	// +optional
	Files []InputFile `json:"files,omitempty"`

	// model chooses the model; unset, the namespace's MotorCortex does.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="model never changes after creation: create another run"
	// +optional
	Model *RunModel `json:"model,omitempty"`

	// skillRef is the skill that the run uses. Its policy gives the run its tools, domains and credentials; a run that names
	// some itself has no others. A skill that is not approved can be used with what the run itself names only.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="skillRef never changes after creation: create another run"
	// +optional
	SkillRef *SkillRef `json:"skillRef,omitempty"`

	// inputs are values for the inputs of the skill.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="inputs never change after creation: create another run"
	// +optional
	Inputs []RunInput `json:"inputs,omitempty"`

	// skillReview has the model look at the files of skillRef and say what it thinks of them, with tools that only read and
	// without a network, in one attempt of 10 answers at most. Its task is the operator's own; spec.task is a note for people. What it
	// says is stored with the SkillRevision, as advice, with who made the run.
	// +optional
	SkillReview bool `json:"skillReview,omitempty"`

	// extractSkills says when skills that the run wrote or changed are kept as proposals.
	// +default="OnSuccess"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="skillReview and extractSkills never change after creation: create another run"
	// +optional
	ExtractSkills SkillExtraction `json:"extractSkills,omitempty"`

	// keep says what of the workspace is kept, at each end of the run and whenever it waits for a person. Without a model nothing is.
	// +default="Changes"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="keep never changes after creation: create another run"
	// +optional
	Keep RunKeep `json:"keep,omitempty"`

	// dependencies are what a run of mode Install installs.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dependencies never change after creation"
	// +optional
	Dependencies *SkillDependencies `json:"dependencies,omitempty"`

	// limits bound the run.
	// +default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="limits never change after creation: create another run"
	// +optional
	Limits RunLimits `json:"limits,omitempty,omitzero"`

	// budget is the most that the run may spend on models, all attempts together. It narrows perRun of the namespace's MotorCortex, and never widens it. At the bound
	// the run waits for a person, who can raise it. A cost needs a currency and prices in the MotorCortex.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="budget never changes after creation: create another run, or raise it when the run asks"
	// +optional
	Budget *BudgetAmount `json:"budget,omitempty"`

	// sandbox changes the sandbox's shape.
	// +optional
	Sandbox *RunSandbox `json:"sandbox,omitempty"`

	// approval says what needs a person.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="approval never changes after creation: create another run"
	// +optional
	Approval *RunApproval `json:"approval,omitempty"`

	// questions says how the questions of the model are dealt with.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="questions never changes after creation: create another run"
	// +optional
	Questions *RunQuestions `json:"questions,omitempty"`

	// accept says what must hold before the run counts as done. The policy of an approved skill may ask for more.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="accept never changes after creation: create another run"
	// +optional
	Accept *RunAcceptance `json:"accept,omitempty"`

	// maxAttempts is how many attempts at the task there may be, the first one included. After an attempt that failed
	// the run waits for a decision in responses, unless it was the last one. Attempts that the operator makes by itself,
	// because the sandbox was lost, do not count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	// +default=3
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="maxAttempts never changes after creation: create another run"
	// +optional
	MaxAttempts int32 `json:"maxAttempts,omitempty"`

	// priority orders the runs that wait for their turn in the namespace: the highest first, among equals the oldest.
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	// +default=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="priority never changes after creation: create another run"
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// suspend stops the run where it is, and starts it again from there when it is taken back. The sandbox stays. A
	// run that is created suspended does not start. The time does not count for activeDeadlineSeconds.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// suspendedBy is who set suspend. Admission fills it in, where the cluster can, and refuses any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	SuspendedBy string `json:"suspendedBy,omitempty"`

	// ttlSecondsAfterFinished is how long the run is kept after its end, and its steps with it. Unset, the namespace's
	// MotorCortex decides; without one, a run that succeeded is kept for a day and any other for a week, of mode Oneshot
	// either for 10 minutes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// responses answer what the run asked in status.pendingInputs. An entry can be added, never changed or removed. The answers
	// have 256 KiB together in JSON, with reasons, guidance and files.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="oldSelf.all(o, self.exists(n, n.id == o.id))",message="a response cannot be taken back; a merge patch replaces the whole list, so add with a JSON patch: [{\"op\":\"add\",\"path\":\"/spec/responses/-\",\"value\":{…}}]"
	// +listType=map
	// +listMapKey=id
	// +default=[]
	// +optional
	Responses []Response `json:"responses,omitempty"`

	// cancel ends the run, in any phase, for ever.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// cancelledBy is who set cancel. Admission fills it in, where the cluster can, and refuses any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	CancelledBy string `json:"cancelledBy,omitempty"`
}

// RunOrigin is where a run comes from.
// +kubebuilder:validation:Enum=Created;Copied;Released
type RunOrigin string

const (
	// OriginCreated: a client wrote it.
	OriginCreated RunOrigin = "Created"
	// OriginCopied: it was created with an origin in it already, as only a copy of a run has.
	OriginCopied RunOrigin = "Copied"
	// OriginReleased: a person let such a copy begin.
	OriginReleased RunOrigin = "Released"
)

// Domain is a host name, or *. and a host name, with an optional port.
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=261
// +kubebuilder:validation:XValidation:rule="!self.contains('/')",message="a domain is a host name such as example.org, not a URL: leave out the scheme and the path"
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9.]+(:[0-9]*)?$|^[0-9a-f:.]*:[0-9a-f:.]*:')",message="a domain is a host name, not an IP address: only hosts with a name can be reached"
// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[0-9]{1,5})?$')",message="a domain is a lower-case host name with at least two labels, such as example.org, *.example.org or example.org:8443"
// +kubebuilder:validation:XValidation:rule="self.split(':')[0].size() <= 253",message="a host name is at most 253 characters long"
// +kubebuilder:validation:XValidation:rule="!self.matches('[.](local|localhost|localdomain|internal|svc|arpa)(:[0-9]*)?$')",message="a domain is of the Internet, not of the cluster or the local network"
// +kubebuilder:validation:XValidation:rule="!self.matches(':[0-9]{1,5}$') || (!self.split(':')[1].startsWith('0') && int(self.split(':')[1]) <= 65535)",message="the port of a domain is 1 to 65535"
type Domain string

// RunModel chooses the model of a run.
type RunModel struct {
	// name is asked of the same endpoint instead of the configured model.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`
}

// RunLimits bound a run.
type RunLimits struct {
	// maxIterations is the most answers that the model may give in the first attempt; further attempts have three
	// quarters of that. When the conversation fills 60 % of the model's window, its largest older results are shortened, and where that
	// is not enough its older part is replaced by a summary.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +default=20
	// +optional
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits
	// for people, for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +default=600
	// +optional
	ActiveDeadlineSeconds int32 `json:"activeDeadlineSeconds,omitempty"`
	// inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2592000
	// +default=1800
	// +optional
	InputDeadlineSeconds int32 `json:"inputDeadlineSeconds,omitempty"`
	// retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2592000
	// +default=1800
	// +optional
	RetryDeadlineSeconds int32 `json:"retryDeadlineSeconds,omitempty"`
	// approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run goes on.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2592000
	// +default=900
	// +optional
	ApprovalDeadlineSeconds int32 `json:"approvalDeadlineSeconds,omitempty"`
	// maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there
	// is no such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxTokens *int64 `json:"maxTokens,omitempty"`
}

// RunSandbox is the shape of a run's sandbox. Quantities are compared by value: a client that writes 1000m back as 1 changes nothing.
// +kubebuilder:validation:XValidation:rule="has(self.runtimeClassName) == has(oldSelf.runtimeClassName) && (!has(self.runtimeClassName) || self.runtimeClassName == oldSelf.runtimeClassName)",message="sandbox never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="(has(self.resources) && has(self.resources.cpu)) == (has(oldSelf.resources) && has(oldSelf.resources.cpu)) && (has(self.resources) && has(self.resources.memory)) == (has(oldSelf.resources) && has(oldSelf.resources.memory)) && (has(self.resources) && has(self.resources.workspace)) == (has(oldSelf.resources) && has(oldSelf.resources.workspace))",message="sandbox never changes after creation: create another run"
// +kubebuilder:validation:XValidation:rule="has(self.workspaceStorageClassName) == has(oldSelf.workspaceStorageClassName) && (!has(self.workspaceStorageClassName) || self.workspaceStorageClassName == oldSelf.workspaceStorageClassName)",message="sandbox never changes after creation: create another run"
type RunSandbox struct {
	// runtimeClassName is the RuntimeClass of the Pod, gvisor for example.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// workspaceStorageClassName is the StorageClass of a volume that holds the workspace alone, as large as resources.workspace, which it can
	// then in no way exceed. The volume comes and goes with the Pod. The namespace's MotorCortex must list the class in
	// sandbox.allowedStorageClasses. Unset, the workspace is a folder on the node's disk, which the tool server bounds.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	WorkspaceStorageClassName *string `json:"workspaceStorageClassName,omitempty"`
	// resources are the limits of the sandbox. Requests are a tenth of the CPU and a quarter of the memory.
	// +optional
	Resources SandboxResources `json:"resources,omitempty,omitzero"`
}

// MotorRun is one task, carried out in a sandbox of its own.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=mrun,categories=motor
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:selectablefield:JSONPath=`.status.pendingKind`
// +kubebuilder:selectablefield:JSONPath=`.spec.skillRef.name`
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Steps",type=integer,JSONPath=`.status.steps`
// +kubebuilder:printcolumn:name="Asks",type=string,JSONPath=`.status.pendingInputs[0:1].title`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Attempt",type=integer,priority=1,JSONPath=`.status.attempts[-1:].index`
// +kubebuilder:printcolumn:name="Tokens",type=integer,priority=1,JSONPath=`.status.usage.totalTokens`
// +kubebuilder:printcolumn:name="Cost",type=string,priority=1,JSONPath=`.status.usage.cost`
// +kubebuilder:printcolumn:name="Pod",type=string,priority=1,JSONPath=`.status.sandbox.podName`
// +kubebuilder:printcolumn:name="Model",type=string,priority=1,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Purpose",type=string,priority=1,JSONPath=`.spec.code.purpose`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.pendingInputs) || !has(self.spec.responses) || self.spec.responses.all(r, has(oldSelf.spec.responses) && oldSelf.spec.responses.exists(o, o.id == r.id) || self.status.pendingInputs.all(p, r.id != p.id || (p.kind == 'Retry' ? has(r.decision) && r.decision in ['Retry', 'Stop'] : p.kind == 'OutcomeUnknown' ? has(r.decision) && r.decision in ['Retry', 'Skip', 'Done'] && !has(r.guidance) && !has(r.addDomains) : p.kind == 'DomainRequest' ? has(r.decision) && r.decision in ['AllowOnce', 'AllowRun', 'Deny'] : p.kind == 'Approval' ? has(r.decision) && (r.decision in ['ApproveOnce', 'Deny'] || r.decision == 'ApproveRun' && has(p.action.rule)) : p.kind == 'BudgetExhausted' ? has(r.decision) && r.decision in ['Raise', 'Stop'] : has(r.answer))))",fieldPath=".spec.responses",message="a domain request is answered with decision (AllowOnce, AllowRun or Deny), a request for approval with decision (ApproveOnce, Deny, or ApproveRun where action of the pending input has a rule) and digest, a call of unknown outcome with decision (Retry, Skip or Done), an attempt that failed with decision (Retry or Stop), a bound of the budget with decision (Raise with budget, or Stop), and a question with answer"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.pendingInputs) || !has(self.spec.responses) || self.spec.responses.all(r, has(oldSelf.spec.responses) && oldSelf.spec.responses.exists(o, o.id == r.id) || self.status.pendingInputs.all(p, p.kind != 'Approval' || r.id != p.id || has(r.digest) && r.digest == p.action.argsDigest))",fieldPath=".spec.responses",message="a decision about a tool call carries the digest of what was decided about: action.argsDigest of the pending input"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 48",message="the name of a MotorRun has at most 48 characters, so that the names of its steps and its Pod fit"
type MotorRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MotorRunSpec `json:"spec"`
	// +optional
	Status MotorRunStatus `json:"status,omitempty,omitzero"`
}

// MotorRunList is a list of MotorRun.
// +kubebuilder:object:root=true
type MotorRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorRun `json:"items"`
}
