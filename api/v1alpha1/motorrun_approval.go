// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CommandPattern is a command line with stars: the words of the command and its arguments, separated by single spaces. A
// star stands for any text in one word; a star alone, as the last word, for any further arguments, also none.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[^\s\x00-\x1f\x7f]+( [^\s\x00-\x1f\x7f]+)*$`
type CommandPattern string

// BashRules narrow the bash tool.
type BashRules struct {
	// allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a
	// shell is told to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name
	// comes out of a variable, is refused. An empty list allows none; unset, any program of the image may be run.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowedCommands []CommandPattern `json:"allowedCommands,omitzero"`
}

// MCPServer is a server of the Model Context Protocol. Its tools are called mcp__NAME__TOOL.
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.command)",message="an MCP server has either url or command"
// +kubebuilder:validation:XValidation:rule="!has(self.credentialName) || has(self.url)",message="credentialName goes with url only"
type MCPServer struct {
	// name of the server, for the names of its tools.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`
	// +required
	Name string `json:"name"`
	// url of a server that speaks Streamable HTTP. Its host must be one of the run's domains: the sandbox reaches it through
	// the egress proxy, like everything else.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[^/\s?#@]+(/[^\s?#]*)?$`
	// +optional
	URL string `json:"url,omitempty"`
	// command starts a server in the sandbox that speaks on standard input and output: a program and its arguments.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// tools of the server that the model may use. No others are offered.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.-]+$`
	// +listType=set
	// +required
	Tools []string `json:"tools"`
	// credentialName is the name of one of spec.credentials, whose slot must be of type Bearer: it goes with every request to url.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	CredentialName string `json:"credentialName,omitempty"`
}

// ApprovalMode says which tool calls a person must approve.
// +kubebuilder:validation:Enum=Never;Irreversible;Always
type ApprovalMode string

const (
	// ApprovalNever: none but those that the rules for single tools name.
	ApprovalNever ApprovalMode = "Never"
	// ApprovalIrreversible: also those that may do outside of the sandbox what cannot be undone: in a run with domains every program
	// that is not plainly harmless. docs/reference/tools.md says which.
	ApprovalIrreversible ApprovalMode = "Irreversible"
	// ApprovalAlways: every call that does more than read in the workspace (read, list, glob, grep) or ask a person.
	ApprovalAlways ApprovalMode = "Always"
)

// RunApproval says what needs a person.
type RunApproval struct {
	// required says which tool calls a person must approve before they are made. The rules below add to it.
	// +default="Never"
	// +optional
	Required ApprovalMode `json:"required,omitempty"`
	// tools whose calls all need approval.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Tools []ToolName `json:"tools,omitempty"`
	// mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=96
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9_-]*/([A-Za-z0-9_.-]+|[*])$`
	// +listType=set
	// +optional
	MCPTools []string `json:"mcpTools,omitempty"`
	// bash says which commands need approval.
	// +optional
	Bash *BashApproval `json:"bash,omitempty"`
	// fetch says which requests need approval.
	// +optional
	Fetch *FetchApproval `json:"fetch,omitempty"`
	// onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person),
	// or the model is told (Model). Calls that only read are made again without asking anybody.
	// +default="Person"
	// +optional
	OnUnknown UnknownPolicy `json:"onUnknown,omitempty"`
}

// RunQuestions says how the questions of the model are dealt with.
type RunQuestions struct {
	// onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the default
	// that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
	// +kubebuilder:validation:Enum=Fail;UseDefault
	// +default="Fail"
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
}

// BashApproval says which commands need approval.
type BashApproval struct {
	// commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their
	// order, whatever else it has; so does one that cannot be told before it runs.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +required
	Commands []CommandPattern `json:"commands"`
}

// FetchApproval says which requests need approval.
type FetchApproval struct {
	// methods of the requests.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=GET;HEAD;POST;PUT;PATCH;DELETE;OPTIONS
	// +listType=set
	// +required
	Methods []string `json:"methods"`
}

// UnknownPolicy is who deals with a call of unknown outcome.
// +kubebuilder:validation:Enum=Person;Model
type UnknownPolicy string

const (
	UnknownAskPerson UnknownPolicy = "Person"
	UnknownTellModel UnknownPolicy = "Model"
)

// Decision is what a person decided.
// +kubebuilder:validation:Enum=AllowOnce;AllowRun;ApproveOnce;ApproveRun;Deny;Retry;Skip;Done;Stop;Raise
type Decision string

const (
	// DecisionAllowOnce allows it for the first tool call of the model's next answer that can use it.
	DecisionAllowOnce Decision = "AllowOnce"
	// DecisionAllowRun allows it until the run ends.
	DecisionAllowRun Decision = "AllowRun"
	// DecisionApproveOnce lets the tool call be made, once.
	DecisionApproveOnce Decision = "ApproveOnce"
	// DecisionApproveRun lets the tool call be made, and until the run ends every further one of the same tool that needs approval by the same
	// rule.
	DecisionApproveRun Decision = "ApproveRun"
	// DecisionDeny does not allow it.
	DecisionDeny Decision = "Deny"
	// DecisionRetry has a call of unknown outcome made again, or starts another attempt.
	DecisionRetry Decision = "Retry"
	// DecisionSkip goes on without a call of unknown outcome. The model is told that it may or may not have taken effect.
	DecisionSkip Decision = "Skip"
	// DecisionDone goes on as if a call of unknown outcome had succeeded.
	DecisionDone Decision = "Done"
	// DecisionStop ends the run with the attempt that failed, or at the bound of its budget.
	DecisionStop Decision = "Stop"
	// DecisionRaise raises the bound that a run has reached.
	DecisionRaise Decision = "Raise"
)

// Response answers one question.
// +kubebuilder:validation:XValidation:rule="has(self.answer) != has(self.decision)",message="a response has either an answer or a decision"
// +kubebuilder:validation:XValidation:rule="has(self.digest) ? has(self.decision) && self.decision in ['ApproveOnce', 'ApproveRun', 'Deny'] : !has(self.decision) || !(self.decision in ['ApproveOnce', 'ApproveRun'])",message="ApproveOnce and ApproveRun need digest, and digest goes with these and Deny only"
// +kubebuilder:validation:XValidation:rule="!has(self.reason) || has(self.decision)",message="reason goes with a decision: write what the model is to read into answer"
// +kubebuilder:validation:XValidation:rule="!has(self.guidance) && !has(self.addDomains) || has(self.decision) && self.decision == 'Retry'",message="guidance and addDomains go with the decision Retry"
// +kubebuilder:validation:XValidation:rule="!has(self.reason) || !has(self.decision) || self.decision != 'Retry'",message="the decision Retry takes no reason: write what the model is to read into guidance"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || has(self.answer)",message="files go with an answer"
// +kubebuilder:validation:XValidation:rule="has(self.budget) == (has(self.decision) && self.decision == 'Raise')",message="the decision Raise needs budget, and budget goes with it alone"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a response cannot be changed"
type Response struct {
	// id of the question: status.pendingInputs[].id.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// answer is given to the model, word for word.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	Answer string `json:"answer,omitempty"`
	// files go with the answer: they are put into the folder answers of the workspace before the model reads it. The
	// person who answers must be allowed to get the objects that they name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(f, self.exists_one(g, g.path == f.path))",message="each path is there once"
	// +kubebuilder:validation:XValidation:rule="!self.exists(f, self.exists(g, g.path.startsWith(f.path + '/')))",message="no path is a folder of another one"
	// +listType=atomic
	// +optional
	Files []ResponseFile `json:"files,omitempty"`
	// decision about an input of another kind than Question. AllowOnce, AllowRun, ApproveOnce, ApproveRun, Deny and Raise need the verb approve on
	// the run. The others, and answers, need the verb respond.
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// reason of any other decision than Retry. The model is told it as the words of the person, and the end of a run that was stopped has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Reason string `json:"reason,omitempty"`
	// digest of the tool call that is approved or denied: status.pendingInputs[].action.argsDigest.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
	// guidance tells the model of the next attempt what to do differently. It goes with the decision Retry about an attempt that failed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Guidance string `json:"guidance,omitempty"`
	// addDomains are hosts that the sandbox may reach from the next attempt on. They need the verb approve on the run.
	// +kubebuilder:validation:MaxItems=12
	// +listType=set
	// +optional
	AddDomains []Domain `json:"addDomains,omitempty"`
	// budget is the amount by which the decision Raise raises the bound.
	// +optional
	Budget *BudgetAmount `json:"budget,omitempty"`
	// respondedBy is who answered. Admission fills it in, where the cluster can, and refuses any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RespondedBy string `json:"respondedBy,omitempty"`
}

// SkillRef names the skill that a run uses.
type SkillRef struct {
	// name of the Skill in this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
}

// RunInput is a value for an input of the skill.
type RunInput struct {
	// name of the input.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// value, in the form that its type has in JSON, without quotes: 3, true, some text.
	// +kubebuilder:validation:MaxLength=8192
	// +required
	Value string `json:"value"`
}

// SkillExtraction says after which runs the skills in the workspace are kept as proposals.
// +kubebuilder:validation:Enum=OnSuccess;Always;Never
type SkillExtraction string

const (
	// ExtractOnSuccess: after a run that succeeded.
	ExtractOnSuccess SkillExtraction = "OnSuccess"
	// ExtractAlways: also after one that failed, ran out of its time or was cancelled, if its sandbox still answers.
	ExtractAlways SkillExtraction = "Always"
	// ExtractNever: after none.
	ExtractNever SkillExtraction = "Never"
)

// RunSkill is the skill of a run as it was when the run was accepted. It never changes after that.
type RunSkill struct {
	// name of the Skill.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName whose files the run has.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// contentHash of the revision.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// policyHash of the policy that applies, "" if none does.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	PolicyHash string `json:"policyHash,omitempty"`
	// approved says that the skill was approved, so that its policy applies. Otherwise the run has what its own spec says and
	// nothing of the policy but inputs.
	// +optional
	Approved bool `json:"approved,omitempty"`
	// policy that applies.
	// +optional
	Policy *SkillPolicy `json:"policy,omitempty"`
	// packages that the sandbox has.
	// +optional
	Packages *PackageArchive `json:"packages,omitempty"`
}

// SkillsResult says what became of the skills that the workspace held when the run ended.
type SkillsResult struct {
	// created are new Skills.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Created []ProposedSkill `json:"created,omitempty"`
	// updated are Skills that have a new revision to be reviewed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Updated []ProposedSkill `json:"updated,omitempty"`
	// rejected are folders that were not taken.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=path
	// +optional
	Rejected []RejectedSkill `json:"rejected,omitempty"`
}

// ProposedSkill is a skill that a run wrote or changed.
type ProposedSkill struct {
	// name of the Skill.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName that holds what the run wrote.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// changedFiles is how many files were changed or added, deletedFiles how many were deleted.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ChangedFiles int32 `json:"changedFiles,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	DeletedFiles int32 `json:"deletedFiles,omitempty"`
}

// RejectedSkill is a folder that was not taken for a skill.
type RejectedSkill struct {
	// path of the folder in the workspace, "." for the workspace itself.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// message says why.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}
