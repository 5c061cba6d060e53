// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a MotorRun. Read these, never the phase, to decide anything.
const (
	// ConditionAccepted is True when the spec can be carried out: its model, Secret and files were found.
	ConditionAccepted = "Accepted"
	// ConditionSandboxReady is True while the run's sandbox Pod runs.
	ConditionSandboxReady = "SandboxReady"
	// ConditionUserNamespace is True when the sandbox's users are not users of the node. It is False, and the run
	// goes on with one wall less, where the nodes cannot do that.
	ConditionUserNamespace = "UserNamespace"
	// ConditionIsolationVerified is True when the sandbox was seen to reach none of the addresses that it must not.
	ConditionIsolationVerified = "IsolationVerified"
	// ConditionEgressReady is True while the egress proxy lets the sandbox reach the run's domains. A run with
	// neither domains nor credentials does not have it.
	ConditionEgressReady = "EgressReady"
	// ConditionCredentialsExposed is True when the sandbox can read the value of a credential (exposeToSandbox).
	ConditionCredentialsExposed = "CredentialsExposed"
	// ConditionAwaitingInput is True while the run waits for a person. status.pendingInput says for what.
	ConditionAwaitingInput = "AwaitingInput"
	// ConditionResponsesValid is False when an entry of spec.responses answers nothing that was asked.
	ConditionResponsesValid = "ResponsesValid"
	// ConditionRetriesValid is False when an entry of spec.retries cannot start an attempt any more.
	ConditionRetriesValid = "RetriesValid"
	// ConditionSuspended is True while spec.suspend keeps the run from going on.
	ConditionSuspended = "Suspended"
	// ConditionSucceeded is Unknown until the run ends, then True or False for ever.
	ConditionSucceeded = "Succeeded"
	// ConditionFinished is True when the run has ended, whichever way, and its sandbox was told to go.
	ConditionFinished = "Finished"
	// ConditionReconciling is True while the operator works on the run (kstatus: in progress).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the run cannot go on before somebody changes something (kstatus: failed).
	ConditionStalled = "Stalled"
)

// Reasons of Accepted.
const (
	// ReasonAccepted: nothing stands against carrying the run out.
	ReasonAccepted = "Accepted"
	// ReasonQueued: the namespace's places are taken, and the run waits for its turn.
	ReasonQueued = "Queued"
	// ReasonBusy: the namespace's places are taken, and its MotorCortex has runs rejected then.
	ReasonBusy = "Busy"
	// ReasonEgressUnavailable: the run asks for domains, and there is no egress proxy.
	ReasonEgressUnavailable = "EgressUnavailable"
	// ReasonDomainInvalid: an entry of spec.domains is none that a run can be allowed: a public suffix, a cluster's name.
	ReasonDomainInvalid = "DomainInvalid"
	// ReasonDomainNotAllowed: the namespace's MotorCortex does not allow its runs one of spec.domains.
	ReasonDomainNotAllowed = "DomainNotAllowed"
	// ReasonCredentialSecretNotFound: a Secret that spec.credentials names does not exist, or lacks the key.
	ReasonCredentialSecretNotFound = "CredentialSecretNotFound"
	// ReasonCredentialInvalid: the value cannot be used: it is empty, too short to be found where it must not be, or has
	// characters that no header can carry.
	ReasonCredentialInvalid = "CredentialInvalid"
	// ReasonCredentialForbidden: who created the run may not use the Secret, nobody knows who that was, or the Secret is of
	// a kind that no run may use.
	ReasonCredentialForbidden = "CredentialForbidden"
	// ReasonCredentialHostNotAllowed: a credential is bound to a host that is not within spec.domains.
	ReasonCredentialHostNotAllowed = "CredentialHostNotAllowed"
	// ReasonModelNotConfigured: neither the namespace's MotorCortex nor the manager names a model endpoint.
	ReasonModelNotConfigured = "ModelNotConfigured"
	// ReasonModelSecretNotFound: the Secret with the model's API key does not exist.
	ReasonModelSecretNotFound = "ModelSecretNotFound"
	// ReasonModelSecretKeyMissing: that Secret has no such key, or its value is empty.
	ReasonModelSecretKeyMissing = "ModelSecretKeyMissing"
	// ReasonInputFileNotFound: a ConfigMap, a key of it, or an artifact that spec.files names does not exist.
	ReasonInputFileNotFound = "InputFileNotFound"
	// ReasonMCPServerNotAllowed: the host of an MCP server is not within spec.domains, or its credential is not for that host.
	ReasonMCPServerNotAllowed = "MCPServerNotAllowed"
)

// Reasons of SandboxReady.
const (
	// ReasonSandboxReady: the Pod runs and has an address.
	ReasonSandboxReady = "SandboxReady"
	// ReasonSandboxStarting: the Pod was created and does not run yet.
	ReasonSandboxStarting = "SandboxStarting"
	// ReasonUnschedulable: no node has room for the Pod, or may take it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed: the node cannot get the sandbox image.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerCreateFailed: the node has the image and cannot start the container.
	ReasonContainerCreateFailed = "ContainerCreateFailed"
	// ReasonBaselineRefused: the API server refused the NetworkPolicy that closes the namespace's sandboxes.
	ReasonBaselineRefused = "BaselineRefused"
	// ReasonSandboxRefused: the API server refused the Pod (quota, admission, policy).
	ReasonSandboxRefused = "SandboxRefused"
	// ReasonSandboxNameTaken: a Pod of that name exists and belongs to somebody else.
	ReasonSandboxNameTaken = "SandboxNameTaken"
	// ReasonSandboxRestarting: the tool server ended, and its node starts it again in the same Pod.
	ReasonSandboxRestarting = "SandboxRestarting"
	// ReasonSandboxReplaced: the Pod is gone, and another one is made for the next attempt.
	ReasonSandboxReplaced = "SandboxReplaced"
	// ReasonSandboxRemoved: the run has ended and its Pod was removed.
	ReasonSandboxRemoved = "SandboxRemoved"
)

// Reasons of UserNamespace.
const (
	// ReasonUserNamespaceInUse: the Pod was created with hostUsers false.
	ReasonUserNamespaceInUse = "InUse"
	// ReasonUserNamespaceUnsupported: a node that could take the Pod does not support user namespaces.
	ReasonUserNamespaceUnsupported = "NodesWithoutSupport"
)

// Reasons of IsolationVerified.
const (
	// ReasonIsolationVerified: every address that was tried was blocked, several times over.
	ReasonIsolationVerified = "AllBlocked"
	// ReasonIsolationUnverified: an address could still be reached when the time for it was over.
	ReasonIsolationUnverified = "Reachable"
	// ReasonIsolationPending: the sandbox was not tried yet, so nothing of the model's runs in it.
	ReasonIsolationPending = "NotTriedYet"
)

// Further reasons of IsolationVerified.
const (
	// ReasonIsolationLost: a NetworkPolicy of the sandbox was changed or deleted. It was restored, and the sandbox is tried again
	// before anything more runs in it.
	ReasonIsolationLost = "IsolationLost"
	// ReasonUnenforcedAllowed: an address could be reached, and the manager runs with --allow-unenforced-isolation.
	ReasonUnenforcedAllowed = "UnenforcedAllowed"
)

// Reasons of EgressReady and CredentialsExposed.
const (
	// ReasonEgressGranted: the proxy was told what the sandbox may reach.
	ReasonEgressGranted = "Granted"
	// ReasonEgressPending: the sandbox has no address yet that the proxy could know it by.
	ReasonEgressPending = "AwaitingSandbox"
	// ReasonRouteRefused: the API server refused the NetworkPolicy that opens the way to the proxy.
	ReasonRouteRefused = "RouteRefused"
	// ReasonCredentialUnavailable: a credential that the run had cannot be used any more. The rest of the grant stands.
	ReasonCredentialUnavailable = "CredentialUnavailable"
	// ReasonCredentialsExposed: spec.credentials has an entry with exposeToSandbox.
	ReasonCredentialsExposed = "ExposedToSandbox"
)

// Reasons of AwaitingInput.
const (
	// ReasonQuestion: the model asked a question.
	ReasonQuestion = "Question"
	// ReasonDomainRequest: the model asks for leave to reach one more domain.
	ReasonDomainRequest = "DomainRequest"
	// ReasonApproval: a tool call is to be approved.
	ReasonApproval = "Approval"
	// ReasonOutcomeUnknown: a tool call was started and nobody can tell how it ended.
	ReasonOutcomeUnknown = "OutcomeUnknown"
	// ReasonAttemptFailed: an attempt failed, and an entry in spec.retries would start the next one.
	ReasonAttemptFailed = "AttemptFailed"
	// ReasonBudgetExhausted: an attempt used up its answers or tokens, and an entry in spec.retries would start the next one.
	ReasonBudgetExhausted = "BudgetExhausted"
	// ReasonAnswered: the question was answered and the run goes on.
	ReasonAnswered = "Answered"
	// ReasonNothingAsked: the run has not asked anything yet.
	ReasonNothingAsked = "NothingAsked"
	// ReasonRunEnded: the run ended, so it does not wait any more.
	ReasonRunEnded = "RunEnded"
)

// Reasons of ResponsesValid.
const (
	// ReasonResponsesValid: every response answers something that was asked.
	ReasonResponsesValid = "AllAsked"
	// ReasonUnknownQuestion: a response names an id under which nothing was asked.
	ReasonUnknownQuestion = "UnknownQuestion"
)

// Reasons of RetriesValid.
const (
	// ReasonRetriesValid: every retry started an attempt, or can start one.
	ReasonRetriesValid = "AllUsable"
	// ReasonRetryTooLate: the attempt that the retry names began without it.
	ReasonRetryTooLate = "AttemptBegan"
	// ReasonRetryOverLimit: there can be no such attempt within spec.maxAttempts.
	ReasonRetryOverLimit = "OverMaxAttempts"
)

// Reasons of Suspended.
const (
	// ReasonSuspended: spec.suspend is set.
	ReasonSuspended = "Suspended"
	// ReasonResumed: spec.suspend was taken back.
	ReasonResumed = "Resumed"
)

// Reasons of Succeeded and Finished. The operator's part of a failed run's reason; the loop's own reasons
// (internal/motorloop: MaxIterations, ModelUnauthorized …) appear there too.
const (
	// ReasonRunning: the run has not ended.
	ReasonRunning = "Running"
	// ReasonCompleted: the task was done.
	ReasonCompleted = "Completed"
	// ReasonCancelled: somebody set spec.cancel.
	ReasonCancelled = "Cancelled"
	// ReasonUserResponseTimeout: a question was not answered within spec.limits.awaitingInputSeconds.
	ReasonUserResponseTimeout = "UserResponseTimeout"
	// ReasonTimeout: the run was not done within spec.limits.timeoutSeconds, waiting for people not counted.
	ReasonTimeout = "Timeout"
	// ReasonSandboxStartTimeout: the sandbox did not run within the manager's time for it.
	ReasonSandboxStartTimeout = "SandboxStartTimeout"
	// ReasonSandboxLost: the sandbox Pod was deleted, or ended by itself, before the run did.
	ReasonSandboxLost = "SandboxLost"
	// ReasonSandboxOOMKilled: the sandbox went over its memory limit.
	ReasonSandboxOOMKilled = "SandboxOOMKilled"
	// ReasonIsolationRefused: the sandbox could reach what it must not, so nothing was run in it.
	ReasonIsolationRefused = "IsolationUnverified"
	// ReasonSandboxCrashed: the tool server kept ending, more often than it is started again.
	ReasonSandboxCrashed = "SandboxCrashed"
	// ReasonSandboxEvicted: the node evicted the sandbox (its storage limit, or pressure on the node).
	ReasonSandboxEvicted = "SandboxEvicted"
	// ReasonExecutionTimeout: the code of a Oneshot run did not end in its time.
	ReasonExecutionTimeout = "ExecutionTimeout"
	// ReasonExecutionError: the code of a Oneshot run threw an error, or could not be read as a program.
	ReasonExecutionError = "ExecutionError"
	// ReasonExecutionBlocked: the code of a Oneshot run asks for what no Oneshot run may have.
	ReasonExecutionBlocked = "ExecutionBlocked"
	// ReasonInternalError: the manager could not carry the run on, for no reason that lies in the task: its loop kept
	// panicking, or the journal lacks a step or did not take one.
	ReasonInternalError = "InternalError"
)
