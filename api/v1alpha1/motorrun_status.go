// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SandboxResources are the limits of a sandbox.
type SandboxResources struct {
	// cpu is the most processor time: default 1.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="sandbox never changes after creation: create another run"
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory is the most memory, the files in the sandbox's /tmp not counted: default 1Gi.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="sandbox never changes after creation: create another run"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// workspace is the most that the files in the workspace may have: default 1Gi.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="0 would be no limit at all"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="sandbox never changes after creation: create another run"
	// +optional
	Workspace *resource.Quantity `json:"workspace,omitempty"`
}

// RunPhase is a word for people; programs read the conditions.
// +kubebuilder:validation:Enum=Created;Running;AwaitingInput;AwaitingApproval;Completed;Failed;Cancelled
type RunPhase string

const (
	PhaseCreated          RunPhase = "Created"
	PhaseRunning          RunPhase = "Running"
	PhaseAwaitingInput    RunPhase = "AwaitingInput"
	PhaseAwaitingApproval RunPhase = "AwaitingApproval"
	PhaseCompleted        RunPhase = "Completed"
	PhaseFailed           RunPhase = "Failed"
	PhaseCancelled        RunPhase = "Cancelled"
)

// MotorRunStatus is what the operator knows of a run. It is derived from the spec, the steps and the Pod.
type MotorRunStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is a word for people.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`
	// reason is why the run does not go on: the reason of the condition that it waits for. It is Running while the run goes on, and the reason of
	// Succeeded when it has ended.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says in one sentence how the run stands.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are what programs read.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// execution says which replica of the manager carries the run on.
	// +optional
	Execution ExecutionStatus `json:"execution,omitzero"`
	// model is the name of the model that the run uses.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Model string `json:"model,omitempty"`
	// sandbox is where the run's tools work.
	// +optional
	Sandbox *SandboxStatus `json:"sandbox,omitempty"`
	// egress is what the sandbox may reach, unset while it may reach nothing.
	// +optional
	Egress *EgressStatus `json:"egress,omitempty"`
	// steps is how many answers the model has given.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Steps int32 `json:"steps,omitempty"`
	// usage is what all model calls together cost.
	// +optional
	Usage Usage `json:"usage,omitempty,omitzero"`
	// pendingInputs are what the run waits for, one for each ask that is open. A run asks one thing at a time at present.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=id
	// +optional
	PendingInputs []PendingInput `json:"pendingInputs,omitempty"`
	// pendingKind is the kind of the first of pendingInputs, unset once there is an answer. A list of runs can be restricted to it with a field
	// selector.
	// +optional
	PendingKind InputKind `json:"pendingKind,omitempty"`
	// attempts at the task, the first one first.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=index
	// +optional
	Attempts []AttemptStatus `json:"attempts,omitempty"`
	// ending is set from the moment in which the end of the run was decided until what it leaves behind was collected.
	// +optional
	Ending *RunEnding `json:"ending,omitempty"`
	// result is set when the run has ended.
	// +optional
	Result *RunResult `json:"result,omitempty"`
	// artifacts are the files that were collected when the run paused last. At the end they are in result.
	// +kubebuilder:validation:MaxItems=33
	// +listType=map
	// +listMapKey=path
	// +optional
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// skill that the run uses, as it was when the run was accepted.
	// +optional
	Skill *RunSkill `json:"skill,omitempty"`
	// paused counts the time that does not count for spec.limits.activeDeadlineSeconds, questions of the model not included.
	// +optional
	Paused PauseStatus `json:"paused,omitempty,omitzero"`
	// losses are the ends of workers that carried the run on and did not give it back; unset, there were none lately.
	// +optional
	Losses *LossStatus `json:"losses,omitempty"`
	// energy is what the run drains from the energy of its namespace, unset where that is not configured.
	// +optional
	Energy *RunEnergy `json:"energy,omitempty"`
	// archive says where the steps are that are not in the cluster any more.
	// +optional
	Archive *ArchiveStatus `json:"archive,omitempty"`
	// startTime is when the operator first saw the run.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RunEnding is the end of a run that was decided and is not complete: its sandbox is looked at once more before it goes.
type RunEnding struct {
	// decisionTime is when the end was decided.
	// +required
	DecisionTime metav1.Time `json:"decisionTime"`
	// reason of the conditions Succeeded and Finished that the run will have.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason"`
	// message says what happened, unset where the last step does.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// failure is set if the run fails for a reason that no step tells of.
	// +optional
	Failure *FailureSummary `json:"failure,omitempty"`
}

// PauseStatus counts the time in which a run is suspended, waits for its turn, or waits for a retry, and in which no manager led.
type PauseStatus struct {
	// startTime is when the present pause began, unset while there is none.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// durationSeconds of all pauses that are over.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DurationSeconds int64 `json:"durationSeconds,omitempty"`
	// observedTime is the end of the last time without a manager that led which was counted; unset, the run lived through none.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// ExecutionStatus is about the replica of the manager that carries a run on.
type ExecutionStatus struct {
	// worker is the replica of the manager that carries the run on.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Worker string `json:"worker,omitempty"`
	// epoch counts how often the run was given to a worker. Journal and sandbox refuse a lower one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
}

// LossStatus counts the workers that ended while they carried a run on.
type LossStatus struct {
	// count is how many workers in succession, at most ten minutes apart, ended while they carried the run on and did not give it back. From 2 on the run is
	// carried on by a worker that carries on nothing else.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Count int32 `json:"count,omitempty"`
	// lastLossTime is when the last of them was found to have ended.
	// +optional
	LastLossTime metav1.Time `json:"lastLossTime,omitempty,omitzero"`
	// aloneEpoch is the epoch in which a worker carries on this run alone, unset while none does.
	// +kubebuilder:validation:Minimum=0
	// +optional
	AloneEpoch int64 `json:"aloneEpoch,omitempty"`
	// aloneStartTime is since when.
	// +optional
	AloneStartTime *metav1.Time `json:"aloneStartTime,omitempty"`
	// trials is how often the run was carried on alone.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Trials int32 `json:"trials,omitempty"`
	// trialsLost is how many of them in succession, up to the last one, ended with the end of the worker.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TrialsLost int32 `json:"trialsLost,omitempty"`
	// setAside says that two workers in succession ended that carried on nothing else: the run is carried on again when it was suspended and resumed.
	// +optional
	SetAside bool `json:"setAside,omitempty"`
}

// ArchiveStatus says where the steps of a finished run are kept.
type ArchiveStatus struct {
	// key of the object in the bucket.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Key string `json:"key"`
	// steps is how many it holds.
	// +kubebuilder:validation:Minimum=0
	// +required
	Steps int32 `json:"steps"`
	// head is "sha256:…" of the last link of its chain: with it, a cut at the end is seen.
	// +kubebuilder:validation:MaxLength=80
	// +required
	Head string `json:"head"`
}

// SandboxStatus says which Pod the sandbox is.
type SandboxStatus struct {
	// podName of the sandbox.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PodName string `json:"podName,omitempty"`
	// podUID tells this Pod from a later one of the same name.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PodUID string `json:"podUID,omitempty"`
	// podIP is where its tool server listens.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PodIP string `json:"podIP,omitempty"`
	// poolName is the SandboxPool that the Pod comes from, unset if it was made for the run.
	// +kubebuilder:validation:MaxLength=40
	// +optional
	PoolName string `json:"poolName,omitempty"`
	// nodeIP is the address of the Pod's node, which the sandbox must not reach.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeIP string `json:"nodeIP,omitempty"`
	// nodeName is the Pod's node.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// creationTime is when the Pod was created.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty"`
	// isolationLossTime is when one of its NetworkPolicies was last found changed or gone. No call is made in it before its
	// isolation was proved again after that.
	// +optional
	IsolationLossTime *metav1.Time `json:"isolationLossTime,omitempty"`
}

// EgressStatus says what the sandbox may reach, and which way.
type EgressStatus struct {
	// domains that the egress proxy lets the sandbox reach now.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Domains []Domain `json:"domains,omitempty"`
	// proxy is the address of the egress proxy, IP:port.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Proxy string `json:"proxy,omitempty"`
	// credentials are the names of those that the proxy puts in now, or that the sandbox was given (exposeToSandbox).
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Credentials []string `json:"credentials,omitempty"`
	// attempt that the proxy knows the sandbox's token of. The first one is 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
}

// InputKind is what a run waits for.
// +kubebuilder:validation:Enum=Question;OutcomeUnknown;Retry;DomainRequest;Approval;BudgetExhausted
type InputKind string

const (
	// InputQuestion is a question of the model's.
	InputQuestion InputKind = "Question"
	// InputOutcomeUnknown asks what to do about a tool call that was started and whose end was not seen. It is answered with the decision
	// Retry, Skip or Done.
	InputOutcomeUnknown InputKind = "OutcomeUnknown"
	// InputDomainRequest asks whether the sandbox may reach one more domain. It is answered with a decision.
	InputDomainRequest InputKind = "DomainRequest"
	// InputApproval asks whether a tool call may be made. It is answered with a decision and the digest of the call. No answer in
	// time counts as Deny.
	InputApproval InputKind = "Approval"
	// InputRetry asks whether to try again after an attempt that failed. It is answered with the decision Retry, with guidance, or Stop.
	InputRetry InputKind = "Retry"
	// InputBudgetExhausted asks whether a run that has reached a bound of its budget may spend more. It is answered with the decision Raise and an
	// amount, or Stop. The run goes on by itself if there is room before.
	InputBudgetExhausted InputKind = "BudgetExhausted"
)

// Pending returns the first of the inputs that the run waits for, nil if there is none. The pointer is into the status.
func (s *MotorRunStatus) Pending() *PendingInput {
	if len(s.PendingInputs) == 0 {
		return nil
	}
	return &s.PendingInputs[0]
}

// PendingList returns a list of one input, and nil for nil.
func PendingList(p *PendingInput) []PendingInput {
	if p == nil {
		return nil
	}
	return []PendingInput{*p}
}

// PendingInput is what a run waits for.
type PendingInput struct {
	// id to answer to, in spec.responses[].id.
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// kind of the input.
	// +required
	Kind InputKind `json:"kind"`
	// title is the beginning of the question, for a column.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Title string `json:"title,omitempty"`
	// question in full.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Question string `json:"question,omitempty"`
	// options to choose from. Another answer is allowed to a Question, and to no other kind.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Options []string `json:"options,omitempty"`
	// files that the model wants with the answer to a Question, in its words. An answer may bring others, or none.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Files []string `json:"files,omitempty"`
	// domain that is asked for, set for kind DomainRequest.
	// +optional
	Domain Domain `json:"domain,omitempty"`
	// action is the tool call that is to be approved, set for kind Approval.
	// +optional
	Action *PendingAction `json:"action,omitempty"`
	// raiseBy is the amount that is proposed, set for kind BudgetExhausted. A response can name another one.
	// +optional
	RaiseBy *BudgetAmount `json:"raiseBy,omitempty"`
	// default is the answer that the model would choose.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Default string `json:"default,omitempty"`
	// stepName that asked, by name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StepName string `json:"stepName,omitempty"`
	// attempt that the decision Retry starts, set for kind Retry. The id names the attempt that failed, which is the one before.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	// +optional
	Attempt *int32 `json:"attempt,omitempty"`
	// askTime is when the question was asked.
	// +optional
	AskTime metav1.Time `json:"askTime,omitempty,omitzero"`
	// expirationTime is until when there is time for an answer.
	// +optional
	ExpirationTime metav1.Time `json:"expirationTime,omitempty,omitzero"`
	// onTimeout is what becomes of it then: the run fails, it counts as Deny, or default counts as the answer.
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
	// answered says that there is an answer, which is about to be put to use.
	// +optional
	Answered bool `json:"answered,omitempty"`
}

// PendingAction is a tool call that waits for approval.
type PendingAction struct {
	// tool that is called.
	// +kubebuilder:validation:MaxLength=128
	// +required
	Tool string `json:"tool"`
	// arguments in canonical JSON, with sorted keys and everything escaped that could deceive the eye. If they are longer
	// than fits here, the middle is left out; the step has them whole.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Arguments string `json:"arguments,omitempty"`
	// argsDigest is "sha256:…" of tool and arguments. A response names it, so that it can only be about this call.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ArgsDigest string `json:"argsDigest"`
	// reason says by which rule it needs approval, and what of the call the rule is about.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Reason string `json:"reason,omitempty"`
	// rule that ApproveRun approves for the run, unset where only this call can be approved.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Rule string `json:"rule,omitempty"`
	// check says that the call is a command of spec.accept, and not the model's.
	// +optional
	Check bool `json:"check,omitempty"`
}
