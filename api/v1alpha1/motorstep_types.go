// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StepType is what a MotorStep records.
// +kubebuilder:validation:Enum=Turn;Summary;Outcome;Outage
type StepType string

const (
	// StepTurn records one answer of the model and what came of it.
	StepTurn StepType = "Turn"
	// StepSummary records a summary that takes the place of older turns in the conversation.
	StepSummary StepType = "Summary"
	// StepEnd records how an attempt ended that did not end by a Turn without tool calls.
	StepEnd StepType = "Outcome"
	// StepOutage records that the model could not be had for the step of the same index. It takes no index of its own, and is
	// over when that step is there.
	StepOutage StepType = "Outage"
)

// MotorStepSpec is what was decided. It is written before any of it is done, and never changes.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a step's spec never changes"
// +kubebuilder:validation:XValidation:rule="self.type == 'Summary' ? has(self.through) : !has(self.through)",message="through is set if, and only if, type is Summary"
// +kubebuilder:validation:XValidation:rule="!has(self.through) || self.through < self.index",fieldPath=".through",message="a Summary stands for steps before it"
// +kubebuilder:validation:XValidation:rule="self.type == 'Outcome' ? has(self.outcome) : !has(self.outcome)",message="outcome is set if, and only if, type is Outcome"
// +kubebuilder:validation:XValidation:rule="self.type == 'Outage' ? has(self.outage) : !has(self.outage)",message="outage is set if, and only if, type is Outage"
type MotorStepSpec struct {
	// type is Turn for an answer of the model, Summary for a summary of older turns, Outcome for the end of an attempt, Outage
	// for a model that could not be had.
	// +required
	Type StepType `json:"type"`
	// attempt is the number of the attempt that the step is of. The first one is 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +required
	Attempt int32 `json:"attempt"`
	// index counts the steps of the attempt from 1. An Outage has the index of the step that waits for the model.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +required
	Index int32 `json:"index"`
	// epoch of the claim on the run under which the step was written.
	// +kubebuilder:validation:Minimum=1
	// +required
	Epoch int64 `json:"epoch"`
	// worker is the replica of the manager that wrote the step.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Worker string `json:"worker,omitempty"`
	// model is the name of the model as its endpoint reported it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Model string `json:"model,omitempty"`
	// through is the index of the last step that a Summary stands for.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Through int32 `json:"through,omitempty"`
	// content is what the model said beside its tool calls: the text of a Summary, the partial result of an Outcome.
	// +kubebuilder:validation:MaxLength=131072
	// +optional
	Content string `json:"content,omitempty"`
	// final says that content is the result of the run: a call of finish was accepted in the step before, or the model ends its runs with text.
	// +optional
	Final bool `json:"final,omitempty"`
	// value is the result as JSON that a final step has where spec.accept.valueSchema asks for it.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Value string `json:"value,omitempty"`
	// checks says that the calls are the commands of spec.accept, and not the model's: the step before has the call of finish that they decide about.
	// +optional
	Checks bool `json:"checks,omitempty"`
	// tools names the tools called, for printing.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Tools string `json:"tools,omitempty"`
	// toolCalls are carried out one after the other.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	// +optional
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// usage is what the model call cost.
	// +optional
	Usage Usage `json:"usage,omitempty,omitzero"`
	// failedUsage is what tries of the same request cost that came to nothing, as far as the endpoint tells.
	// +optional
	FailedUsage Usage `json:"failedUsage,omitempty,omitzero"`
	// modelMilliseconds is the time from the first try of the model call to its answer, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ModelMilliseconds int64 `json:"modelMilliseconds,omitempty"`
	// promptDigest is the SHA-256 of the system prompt.
	// +kubebuilder:validation:MaxLength=80
	// +optional
	PromptDigest string `json:"promptDigest,omitempty"`
	// requestDigest is the SHA-256 of the whole request to the model.
	// +kubebuilder:validation:MaxLength=80
	// +optional
	RequestDigest string `json:"requestDigest,omitempty"`
	// sandbox is where the tool calls run.
	// +optional
	Sandbox *StepSandbox `json:"sandbox,omitempty"`
	// outcome says how the attempt ended.
	// +optional
	Outcome *StepOutcome `json:"outcome,omitempty"`
	// outage says why the model could not be had when that was first found. status.outage has what changed since.
	// +optional
	Outage *ModelOutage `json:"outage,omitempty"`
}

// ToolCall is one tool call that the model decided on.
type ToolCall struct {
	// id is the call's identity: the sandbox runs an id at most once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// modelID is the id that the model gave to the call.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ModelID string `json:"modelID,omitempty"`
	// tool is the name of the tool.
	// +kubebuilder:validation:MaxLength=128
	// +required
	Tool string `json:"tool"`
	// arguments as the model wrote them: JSON, if the model kept to its format.
	// +kubebuilder:validation:MaxLength=131072
	// +optional
	Arguments string `json:"arguments,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	// +kubebuilder:validation:Minimum=0
	// +optional
	PromptTokens int64 `json:"promptTokens,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	// cachedTokens is the part of promptTokens that the endpoint served from its cache.
	// +kubebuilder:validation:Minimum=0
	// +optional
	CachedTokens int64 `json:"cachedTokens,omitempty"`
	// totalTokens is promptTokens and completionTokens together.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TotalTokens int64 `json:"totalTokens,omitempty"`
	// estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes
	// of the request and of the answer.
	// +optional
	Estimated bool `json:"estimated,omitempty"`
	// cost of the tokens by the prices of the time of the call, unset where the model has no price.
	// +optional
	Cost Amount `json:"cost,omitempty"`
	// currency of the cost.
	// +optional
	Currency Currency `json:"currency,omitempty"`
	// unpriced says that a part of the tokens is not in the cost, because their model had no price.
	// +optional
	Unpriced bool `json:"unpriced,omitempty"`
}

// StepOutcome is the end of an attempt.
type StepOutcome struct {
	// category is the kind of failure.
	// +required
	Category FailureCategory `json:"category"`
	// reason is a CamelCase word for programs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason"`
	// message is for people.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Message string `json:"message,omitempty"`
	// retryable is true if another attempt may succeed although nothing was changed.
	// +optional
	Retryable bool `json:"retryable,omitempty"`
	// hint is a model's guess at the cause and the cure.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Hint string `json:"hint,omitempty"`
}

// ModelOutage is why a model cannot be had.
type ModelOutage struct {
	// deadlineSeconds is how long it is waited for, from the creation of the step.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	// +required
	DeadlineSeconds int32 `json:"deadlineSeconds"`
	// reason is a reason of the condition ModelAvailable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Reason string `json:"reason"`
	// message says what happened, where, and what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// mustAct is true if the model is not expected back before a person changes something.
	// +optional
	MustAct bool `json:"mustAct,omitempty"`
	// ask is set if the model is not asked because of a bound that a person can raise.
	// +optional
	Ask *BudgetAsk `json:"ask,omitempty"`
}

// StepPhase is how far a step got.
// +kubebuilder:validation:Enum=InFlight;Settled;OutcomeUnknown;Closed
type StepPhase string

const (
	// StepInFlight: at least one tool call has no result yet, or what the workspace holds at the end is being collected.
	StepInFlight StepPhase = "InFlight"
	// StepSettled: every tool call has a result.
	StepSettled StepPhase = "Settled"
	// StepClosed: the attempt ended before every tool call had a result, and none of them gets one any more.
	StepClosed StepPhase = "Closed"
	// StepOutcomeUnknown: at least one tool call has no result, and how it ended is unknown.
	StepOutcomeUnknown StepPhase = "OutcomeUnknown"
)

// MotorStepStatus is what came of the step.
type MotorStepStatus struct {
	// phase is InFlight from the creation of the step until every tool call has a result.
	// +kubebuilder:default=InFlight
	// +optional
	Phase StepPhase `json:"phase,omitempty"`
	// results has an entry for each tool call that has ended.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=callID
	// +optional
	Results []ToolResult `json:"results,omitempty"`
	// unknown has an entry for each time that a call was started and its end was not seen. Entries are only added.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=execution
	// +optional
	Unknown []UnknownExecution `json:"unknown,omitempty"`
	// asks are what people were asked about its calls. Entries are only added, and get their outcome once.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	// +optional
	Asks []StepAsk `json:"asks,omitempty"`
	// background has an entry for each program that its calls left in the background. It gets its end once.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=execution
	// +optional
	Background []StepProgram `json:"background,omitempty"`
	// artifacts are what the workspace held for the result when the run last waited for a person in this step, or when the
	// attempt ended with it.
	// +optional
	Artifacts *ArtifactList `json:"artifacts,omitempty"`
	// outage is why the model cannot be had by now, if that is not what spec.outage says any more.
	// +optional
	Outage *ModelOutage `json:"outage,omitempty"`
	// failedUsage is what tries that came to nothing cost in an Outage, as far as the endpoint tells.
	// +optional
	FailedUsage Usage `json:"failedUsage,omitempty,omitzero"`
	// skills are what became of the skills in the workspace when the attempt ended with this step.
	// +optional
	Skills *SkillsResult `json:"skills,omitempty"`
	// closed is set in the last step of an attempt that has ended, when what the workspace held then was collected.
	// +optional
	Closed *StepClosing `json:"closed,omitempty"`
	// left is what the run had left when all calls had results, as the model was told.
	// +optional
	Left *StepLeft `json:"left,omitempty"`
	// ok is "succeeded/called", for printing.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	OK string `json:"ok,omitempty"`
	// toolMilliseconds is the time that the tool calls took together, waiting for people not counted, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +default=0
	// +optional
	ToolMilliseconds int64 `json:"toolMilliseconds,omitempty"`
}

// StepLeft is what a run has left of its limits.
type StepLeft struct {
	// seconds of the run's time.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Seconds int32 `json:"seconds,omitempty"`
	// tokens of the run's tokens. It is not set if the run has no limit of them.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
}

// UnknownExecution is an execution of a tool call of which the sandbox knows the beginning and not the end.
type UnknownExecution struct {
	// execution is the id under which the sandbox ran it: that of the call the first time, with -r1, -r2 … after it when
	// it was made again.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Execution string `json:"execution"`
	// callID is the id of the tool call.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// detectionTime is when this was found.
	// +required
	DetectionTime metav1.Time `json:"detectionTime"`
	// policy is who deals with it. A call that only reads needs no person.
	// +kubebuilder:validation:Enum=Redo;Person;Model
	// +required
	Policy string `json:"policy"`
}

// ToolResult is the envelope of what a tool call gave.
type ToolResult struct {
	// callID is the id of the tool call.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	CallID string `json:"callID"`
	// ok is false if the tool failed.
	// +required
	OK bool `json:"ok"`
	// output is what the model is shown, at most 32 KiB; the rest is in outputFile.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Output string `json:"output,omitempty"`
	// noteBytes is how many bytes at the end of output are the tool server's own words about the call, and not what a program, a page or a
	// file gave. They are not marked as coming from the web.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4096
	// +optional
	NoteBytes int32 `json:"noteBytes,omitempty"`
	// outputFile is the file in the workspace that has the whole output, if output is cut.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	OutputFile string `json:"outputFile,omitempty"`
	// keptFile is the file in the workspace that has the output too, if output is whole and the model may be shown less of it later.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	KeptFile string `json:"keptFile,omitempty"`
	// errorCode is a word for programs.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ErrorCode string `json:"errorCode,omitempty"`
	// retryable says that the same call may succeed when it is made again.
	// +optional
	Retryable bool `json:"retryable,omitempty"`
	// provenance is where the output comes from: an output that is Web is not trusted.
	// +kubebuilder:validation:Enum=User;Web;Internal
	// +required
	Provenance string `json:"provenance"`
	// durationMilliseconds is how long the call took, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DurationMilliseconds int64 `json:"durationMilliseconds,omitempty"`
	// waitedMilliseconds is how long a person took to approve the call, or to decide about its unknown outcome, in milliseconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	WaitedMilliseconds int64 `json:"waitedMilliseconds,omitempty"`
}

// MotorStep is one entry in the journal of a MotorRun. Only the operator writes it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=mstep,categories=motor
// +kubebuilder:printcolumn:name="Step",type=integer,JSONPath=`.spec.index`
// +kubebuilder:printcolumn:name="Tools",type=string,JSONPath=`.spec.tools`
// +kubebuilder:printcolumn:name="OK",type=string,JSONPath=`.status.ok`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.spec.usage.totalTokens`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Type",type=string,priority=1,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Cost",type=string,priority=1,JSONPath=`.spec.usage.cost`
// +kubebuilder:printcolumn:name="Model-ms",type=integer,priority=1,JSONPath=`.spec.modelMilliseconds`
// +kubebuilder:printcolumn:name="Tool-ms",type=integer,priority=1,JSONPath=`.status.toolMilliseconds`
// +kubebuilder:printcolumn:name="Run",type=string,priority=1,JSONPath=`.metadata.labels.motorcortex\.dev/run`
// +kubebuilder:printcolumn:name="Attempt",type=integer,priority=1,JSONPath=`.spec.attempt`
// +kubebuilder:printcolumn:name="Outcome",type=string,priority=1,JSONPath=`.spec.outcome.reason`
type MotorStep struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MotorStepSpec `json:"spec"`
	// The default makes a step InFlight from its creation on: a status is written when there are results.
	// +kubebuilder:default={}
	// +optional
	Status MotorStepStatus `json:"status,omitempty,omitzero"`
}

// MotorStepList is a list of MotorStep.
// +kubebuilder:object:root=true
type MotorStepList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MotorStep `json:"items"`
}
