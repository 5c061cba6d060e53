// SPDX-License-Identifier: Apache-2.0

package outcome

// Failure ends an attempt. It is an error, so that models and tools can return it.
type Failure struct {
	Category Category
	// Reason is CamelCase, one of the Reason constants.
	Reason string
	// Message is one or two plain sentences: the cause, its location, and the remedy.
	Message string
	// Retryable is true if another attempt may succeed without any change.
	Retryable bool
}

func (f *Failure) Error() string { return f.Reason + ": " + f.Message }

// Category is the kind of a Failure.
type Category string

const (
	ToolFailure     Category = "ToolFailure"
	ModelFailure    Category = "ModelFailure"
	InfraFailure    Category = "InfraFailure"
	BudgetExhausted Category = "BudgetExhausted"
	InvalidTask     Category = "InvalidTask"
	// Incomplete: the model, or a check of its work, reports that the task is not done.
	Incomplete Category = "Incomplete"
)

// Reasons of a Failure.
const (
	// ReasonModelUnauthorized: the endpoint refused the API key.
	ReasonModelUnauthorized = "ModelUnauthorized"
	// ReasonModelQuota: the account has no credit or quota left.
	ReasonModelQuota = "ModelQuotaExceeded"
	// ReasonModelCertificate: the certificate of the endpoint is not trusted.
	ReasonModelCertificate = "ModelCertificateInvalid"
	// ReasonModelAddress: the manager refuses to connect to the address of the endpoint.
	ReasonModelAddress = "ModelAddressRefused"
	// ReasonModelWindow: the conversation does not fit into the model's window, however short it is made.
	ReasonModelWindow = "ModelWindowExceeded"
	// ReasonModelNotFound: the endpoint has no such model, or no chat completions at that address.
	ReasonModelNotFound = "ModelNotFound"
	// ReasonModelRateLimited: the endpoint repeatedly answered "too many requests".
	ReasonModelRateLimited = "ModelRateLimited"
	// ReasonModelUnavailable: the endpoint could not be reached or repeatedly answered with server errors.
	ReasonModelUnavailable = "ModelUnavailable"
	// ReasonModelTimeout: the endpoint repeatedly did not answer in time.
	ReasonModelTimeout = "ModelTimeout"
	// ReasonModelMalformed: the answers of the endpoint were repeatedly no chat completions.
	ReasonModelMalformed = "ModelMalformedAnswer"
	// ReasonModelRefused: the endpoint refused the request itself (bad request, content filter).
	ReasonModelRefused = "ModelRefusedRequest"
	// ReasonEmptyAnswers: the model returned neither text nor tool calls, several times in a row.
	ReasonEmptyAnswers = "EmptyAnswers"
	// ReasonNotFinished: the model answered without a tool call, several times in a row, and did not call finish.
	ReasonNotFinished = "NotFinished"
	// ReasonPartial: the model reports that it did a part of the task.
	ReasonPartial = "Partial"
	// ReasonFailed: the model reports that it could not do the task.
	ReasonFailed = "Failed"
	// ReasonAcceptanceFailed: the model called finish again and again and the demands did not hold, or a check was not approved.
	ReasonAcceptanceFailed = "AcceptanceFailed"
	// ReasonRepeatedToolFailure: the calls of several turns in a row could not be carried out.
	ReasonRepeatedToolFailure = "RepeatedToolFailure"
	// ReasonStuck: the attempt made the same call with the same result again and again, or two calls in turn.
	ReasonStuck = "Stuck"
	// ReasonMaxIterations: the attempt used up its turns.
	ReasonMaxIterations = "MaxIterations"
	// ReasonMaxTokens: the attempt used up its tokens.
	ReasonMaxTokens = "MaxTokens"
	// ReasonSandboxLost: the sandbox Pod is gone, its tool server cannot be reached any more, or it dates from another time than the records
	// of the run.
	ReasonSandboxLost = "SandboxLost"
	// ReasonSandboxOutdated: the sandbox was made by another release, and lacks a feature that the run needs.
	ReasonSandboxOutdated = "SandboxOutdated"
	// ReasonIsolationUnverified: the sandbox could reach a forbidden address.
	ReasonIsolationUnverified = "IsolationUnverified"
	// ReasonEgressUnavailable: the sandbox could not reach the egress proxy.
	ReasonEgressUnavailable = "EgressUnavailable"
	// ReasonInputFile: a file of the spec could not be put into the workspace.
	ReasonInputFile = "InputFile"
	// ReasonSkillFiles: the files of the run's skill are not there any more, are not those that the run was accepted with, or
	// could not be put into the workspace.
	ReasonSkillFiles = "SkillFiles"
	// ReasonInternalError: the manager cannot carry the run on, for a reason outside of the task: its loop panics
	// repeatedly, or the journal lacks a step or does not accept one.
	ReasonInternalError = "InternalError"
)
