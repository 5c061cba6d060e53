// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StepClosing says that nothing more comes of a step, or of the attempt that ended with it.
type StepClosing struct {
	// closeTime is when the last look at the workspace was over.
	// +required
	CloseTime metav1.Time `json:"closeTime"`
	// problem says why not everything could be collected, unset if all was.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Problem string `json:"problem,omitempty"`
}

// AskOutcome is what became of an ask.
// +kubebuilder:validation:Enum=Answered;Approved;Denied;Expired
type AskOutcome string

const (
	// AskAnswered: a person answered the question.
	AskAnswered AskOutcome = "Answered"
	// AskApproved: a person approved the call, or allowed the domain.
	AskApproved AskOutcome = "Approved"
	// AskDenied: a person said no.
	AskDenied AskOutcome = "Denied"
	// AskExpired: there was no response in time.
	AskExpired AskOutcome = "Expired"
)

// OnTimeout is what becomes of an ask without a response in time.
// +kubebuilder:validation:Enum=Fail;Deny;UseDefault
type OnTimeout string

const (
	// OnTimeoutFail ends the run.
	OnTimeoutFail OnTimeout = "Fail"
	// OnTimeoutDeny counts as Deny. The run goes on.
	OnTimeoutDeny OnTimeout = "Deny"
	// OnTimeoutUseDefault takes the default of the question for the answer. The run goes on.
	OnTimeoutUseDefault OnTimeout = "UseDefault"
)

// StepAsk is one thing that a person is asked in a step, and what became of it. It is recorded before the person is shown it,
// and its outcome before anything follows from that.
type StepAsk struct {
	// id under which spec.responses of the run answers it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=96
	// +required
	ID string `json:"id"`
	// kind of the ask. Retry is none: it is about an attempt, and not about a step.
	// +required
	Kind InputKind `json:"kind"`
	// callID is the id of the tool call that it is about.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// execution of the call that it is about, of kind Approval and OutcomeUnknown; see UnknownExecution.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Execution string `json:"execution,omitempty"`
	// digest is "sha256:…" of tool and arguments, of kind Approval. A decision that names another one does not count.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	Digest string `json:"digest,omitempty"`
	// rule by which the call needs approval, of kind Approval: the one that ApproveRun approves, unset where only this call can be approved.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Rule string `json:"rule,omitempty"`
	// domain that is asked for, of kind DomainRequest.
	// +optional
	Domain Domain `json:"domain,omitempty"`
	// askTime is when it was recorded.
	// +required
	AskTime metav1.Time `json:"askTime"`
	// expirationTime is until when there is time for a response. Times in which no manager led are added to it.
	// +optional
	ExpirationTime metav1.Time `json:"expirationTime,omitempty,omitzero"`
	// onTimeout is what becomes of it then.
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
	// outcome, unset while it is open.
	// +optional
	Outcome AskOutcome `json:"outcome,omitempty"`
	// decision that the response has, if it has one.
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// by is who responded, as the response says.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`
	// reason of the decision, as the response says.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Reason string `json:"reason,omitempty"`
	// closeTime is when the response was put to use, or the time was found to be over.
	// +optional
	CloseTime metav1.Time `json:"closeTime,omitempty,omitzero"`
	// files that the response brought, of kind Question. They are recorded before they are put into the workspace.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Files []AskFile `json:"files,omitempty"`
}

// AskFile is a file that a response brought. A file with another content is not put into the workspace.
type AskFile struct {
	// path in the workspace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Path string `json:"path"`
	// size in bytes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size,omitempty"`
	// mediaType by its name and its first bytes.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	MediaType string `json:"mediaType,omitempty"`
	// sha256 of the content in hexadecimal digits.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// provenance is Web if the content may come from the web.
	// +kubebuilder:validation:Enum=Web;Internal
	// +optional
	Provenance string `json:"provenance,omitempty"`
	// problem is why it could not be had, or not be put into the workspace. It is not there then, and the model is told so.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Problem string `json:"problem,omitempty"`
	// missingInAttempt is the attempt whose new workspace lacks it, because of problem. The workspaces before that had it.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MissingInAttempt int32 `json:"missingInAttempt,omitempty"`
}

// ProgramState is how far a program in the background got.
// +kubebuilder:validation:Enum=Running;Succeeded;Failed;Stopped;Lost
type ProgramState string

// States of programs in the background.
const (
	// ProgramRunning: it was running when it was last looked at. At the end of a run it ends with its sandbox.
	ProgramRunning ProgramState = "Running"
	// ProgramSucceeded: it ended with exit status 0.
	ProgramSucceeded ProgramState = "Succeeded"
	// ProgramFailed: it ended otherwise, or its time limit or another program of the sandbox ended it.
	ProgramFailed ProgramState = "Failed"
	// ProgramStopped: the operator ended it; reason says why.
	ProgramStopped ProgramState = "Stopped"
	// ProgramLost: it ended with its tool server. How far it came is unknown.
	ProgramLost ProgramState = "Lost"
)

// StepProgram is a program that a tool call left in the background.
type StepProgram struct {
	// execution that left it; see UnknownExecution.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Execution string `json:"execution"`
	// callID is the id of the tool call. Its arguments have the command.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// state is Running until its end is seen.
	// +required
	State ProgramState `json:"state"`
	// reason is why one that is Stopped was ended: IsolationLost, Suspended, AwaitingInput, WayOutGranted, AttemptFinished.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// exitCode is that of one that Failed: 128 and the number of the signal of one that a signal ended.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	// +optional
	ExitCode int32 `json:"exitCode,omitempty"`
	// startTime is when it was left, by the clock of its sandbox.
	// +required
	StartTime metav1.Time `json:"startTime"`
	// completionTime is when it ended, unset while it runs and of one that is Lost.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// foundIn is the index of the step in whose time its end was seen. The model is told of the end of one that is Stopped or Lost
	// with what the calls of that step gave.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	FoundIn int32 `json:"foundIn,omitempty"`
}

// StepSandbox names the sandbox of a step so exactly that no other can take its place.
type StepSandbox struct {
	// podUID of the sandbox Pod.
	// +kubebuilder:validation:MaxLength=64
	// +required
	PodUID string `json:"podUID"`
	// serverKey is "sha256:…" of the tool server's public key, pinned at the first handshake.
	// +kubebuilder:validation:MaxLength=80
	// +optional
	ServerKey string `json:"serverKey,omitempty"`
	// isolationTries is how many times in a row every forbidden address was seen to be blocked.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IsolationTries int32 `json:"isolationTries,omitempty"`
	// isolationMilliseconds is how long it took, from the first try, until they were all blocked.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IsolationMilliseconds int64 `json:"isolationMilliseconds,omitempty"`
	// proofTime is when its isolation was proved last.
	// +optional
	ProofTime *metav1.Time `json:"proofTime,omitempty"`
	// open names the forbidden addresses that it could reach, where the manager was told to go on all the same.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=atomic
	// +optional
	Open []string `json:"open,omitempty"`
	// families are the families of addresses that were tried, and of which programs get sockets.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	// +optional
	Families []AddressFamily `json:"families,omitempty"`
	// deniedFamilies are those that the sandbox has addresses of, and programs no sockets: the kernel refuses them.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	// +optional
	DeniedFamilies []AddressFamily `json:"deniedFamilies,omitempty"`
	// unconfined are the walls within the sandbox that its node does not have.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Unconfined []MissingWall `json:"unconfined,omitempty"`
	// mcp are the MCP servers whose tools the model was told of.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=server
	// +optional
	MCP []MCPPin `json:"mcp,omitempty"`
}

// AddressFamily is a family of addresses.
// +kubebuilder:validation:Enum=IPv4;IPv6
type AddressFamily string

// Families of addresses.
const (
	FamilyIPv4 AddressFamily = "IPv4"
	FamilyIPv6 AddressFamily = "IPv6"
)

// MissingWall is a wall within the sandbox that its node does not have.
// +kubebuilder:validation:Enum=Landlock;ProcessLimit
type MissingWall string

// Walls within a sandbox.
const (
	// WithoutLandlock: the kernel has no Landlock, and programs reach the files of the tool server.
	WithoutLandlock MissingWall = "Landlock"
	// WithoutProcessLimit: no limit of the number of processes can be seen in the sandbox.
	WithoutProcessLimit MissingWall = "ProcessLimit"
)

// MCPPin says which tools of an MCP server the model is told of.
type MCPPin struct {
	// server is the name in spec.mcpServers.
	// +kubebuilder:validation:MaxLength=24
	// +required
	Server string `json:"server"`
	// digest is "sha256:…" of names, descriptions and schemas of its tools. A server that describes them otherwise later is
	// not used any more.
	// +kubebuilder:validation:MaxLength=71
	// +required
	Digest string `json:"digest"`
}
