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
	// ConditionConfined is True when the sandbox's node has all walls within a sandbox. It is False, and the run goes on with a wall
	// less, where the kernel has no Landlock or no limit of the number of processes can be seen.
	ConditionConfined = "Confined"
	// ConditionToolsOffered is False when the model is not offered a tool that spec.tools grants. Runs whose tools need nothing
	// beside the sandbox do not have it.
	ConditionToolsOffered = "ToolsOffered"
	// ConditionEgressReady is True while the egress proxy lets the sandbox reach the run's domains. A run with
	// neither domains nor credentials does not have it.
	ConditionEgressReady = "EgressReady"
	// ConditionCredentialsExposed is True when the sandbox can read the value of a credential (exposeToSandbox).
	ConditionCredentialsExposed = "CredentialsExposed"
	// ConditionModelAvailable is False while the model cannot be had, and the run waits for it with its clock stopped. A run
	// that never waited for its model does not have it.
	ConditionModelAvailable = "ModelAvailable"
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

// Reasons of Stalled that no other condition has.
const (
	// ReasonSetAside: workers that carried the run on ended one after the other, the last two while they carried on nothing else.
	ReasonSetAside = "SetAside"
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
	// ReasonStorageClassNotAllowed: the namespace's MotorCortex does not allow spec.sandbox.workspaceStorageClassName.
	ReasonStorageClassNotAllowed = "StorageClassNotAllowed"
	// ReasonCredentialSecretNotFound: a Secret that spec.credentials names does not exist, or lacks the key; or a credential of the
	// skill has no Secret, neither in the policy nor in the run.
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
	// ReasonCopiedRun: the run was made of a copy of another one, and waits for a person to release it.
	ReasonCopiedRun = "CopiedRun"
	// ReasonStepsInTheWay: steps of a run of the same name are still there which belong to no run, and are deleted by nothing.
	ReasonStepsInTheWay = "StepsInTheWay"
	// ReasonInputFileForbidden: who created the run may not get the ConfigMap or artifact of one of its files.
	ReasonInputFileForbidden = "InputFileForbidden"
	// ReasonModelSecretNotFound: the Secret with the model's API key does not exist.
	ReasonModelSecretNotFound = "ModelSecretNotFound"
	// ReasonModelSecretKeyMissing: that Secret has no such key, or its value is empty.
	ReasonModelSecretKeyMissing = "ModelSecretKeyMissing"
	// ReasonModelSecretForbidden: that Secret is of a type that holds other things than API keys.
	ReasonModelSecretForbidden = "ModelSecretForbidden"
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
	// ReasonWorkspacePending: the volume of sandbox.workspaceStorageClassName is not there yet.
	ReasonWorkspacePending = "WorkspacePending"
	// ReasonWorkspaceClaimTaken: a PersistentVolumeClaim that is not the sandbox's has the name of its claim.
	ReasonWorkspaceClaimTaken = "WorkspaceClaimTaken"
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
	// ReasonSandboxReplaced: the Pod is lost, and another one is made for the next attempt, under a name of its own.
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

// Reasons of Confined.
const (
	// ReasonConfined: programs cannot reach the tool server, and their number is limited.
	ReasonConfined = "Confined"
	// ReasonNoLandlock: the kernel of the node has no Landlock, so programs reach the files of the tool server.
	ReasonNoLandlock = "NoLandlock"
	// ReasonNoProcessLimit: no limit of the number of processes can be seen in the sandbox.
	ReasonNoProcessLimit = "NoProcessLimit"
)

// Reasons of ToolsOffered.
const (
	// ReasonToolsOffered: the model is offered all tools of spec.tools.
	ReasonToolsOffered = "AllOffered"
	// ReasonSearchNotConfigured: spec.tools has search_web, and the MotorCortex has no spec.search.
	ReasonSearchNotConfigured = "SearchNotConfigured"
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
	// ReasonIsolationLost: a NetworkPolicy of the sandbox was changed or deleted. It was restored, everything in
	// the sandbox is ended, and the sandbox is tried again before anything more runs in it.
	ReasonIsolationLost = "IsolationLost"
	// ReasonUnenforcedAllowed: an address could be reached, and the manager runs with --allow-unenforced-isolation.
	ReasonUnenforcedAllowed = "UnenforcedAllowed"
)

// Reasons of EgressReady and CredentialsExposed.
const (
	// ReasonEgressGranted: the proxy was told what the sandbox may reach.
	ReasonEgressGranted = "Granted"
	// ReasonNoDomains: the run has credentials and no domains, so its sandbox has no way out.
	ReasonNoDomains = "NoDomains"
	// ReasonEgressPending: the sandbox has no address yet that the proxy could know it by.
	ReasonEgressPending = "AwaitingSandbox"
	// ReasonRouteRefused: the API server refused the NetworkPolicy that opens the way to the proxy.
	ReasonRouteRefused = "RouteRefused"
	// ReasonCredentialUnavailable: a credential that the run had cannot be used any more. The rest of the grant stands.
	ReasonCredentialUnavailable = "CredentialUnavailable"
	// ReasonCredentialsExposed: spec.credentials has an entry with exposeToSandbox.
	ReasonCredentialsExposed = "ExposedToSandbox"
)

// Reasons of ModelAvailable, beside ModelNotConfigured, ModelSecretNotFound and ModelSecretKeyMissing. With those three and
// the first five here the condition Stalled is True: they do not pass by themselves.
const (
	// ReasonModelUnauthorized: the endpoint refused the API key (401, 403), or wants one.
	ReasonModelUnauthorized = "ModelUnauthorized"
	// ReasonModelQuotaExceeded: the account has no credit or quota left (402, insufficient_quota).
	ReasonModelQuotaExceeded = "ModelQuotaExceeded"
	// ReasonModelNotFound: the endpoint has no such model, or no chat completions at that address (404, 405, a redirect).
	ReasonModelNotFound = "ModelNotFound"
	// ReasonModelCertificateInvalid: the manager does not trust the certificate of the endpoint.
	ReasonModelCertificateInvalid = "ModelCertificateInvalid"
	// ReasonModelAddressRefused: the manager does not connect with the address of the endpoint (--allowed-model-cidrs).
	ReasonModelAddressRefused = "ModelAddressRefused"
	// ReasonModelRateLimited: the endpoint answers "too many requests" (429).
	ReasonModelRateLimited = "ModelRateLimited"
	// ReasonModelUnavailable: the endpoint cannot be reached, or answers with server errors (5xx).
	ReasonModelUnavailable = "ModelUnavailable"
	// ReasonModelTimeout: the endpoint sends nothing for idleSeconds, or its answer takes longer than requestSeconds.
	ReasonModelTimeout = "ModelTimeout"
	// ReasonModelMalformedAnswer: the endpoint answers what is no chat completion, or breaks off.
	ReasonModelMalformedAnswer = "ModelMalformedAnswer"
	// ReasonModelAnswers: the model answers again.
	ReasonModelAnswers = "ModelAnswers"
	// ReasonModelNotAsked: the attempt that waited for the model is over, and no other one has asked it yet.
	ReasonModelNotAsked = "ModelNotAsked"
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
	// ReasonPartial: the model says that it did a part of the task. What it did is kept.
	ReasonPartial = "Partial"
	// ReasonFailed: the model says that it could not do the task.
	ReasonFailed = "Failed"
	// ReasonNotFinished: the model answered twice in a row without a tool call, and did not call finish.
	ReasonNotFinished = "NotFinished"
	// ReasonAcceptanceFailed: the model called finish three times, and what it claimed or what spec.accept asks for did not hold; or a
	// person did not approve a command of spec.accept.
	ReasonAcceptanceFailed = "AcceptanceFailed"
	// ReasonCancelled: somebody set spec.cancel.
	ReasonCancelled = "Cancelled"
	// ReasonUserResponseTimeout: a question was not answered within spec.limits.awaitingInputSeconds.
	ReasonUserResponseTimeout = "UserResponseTimeout"
	// ReasonTimeout: the run was not done within spec.limits.timeoutSeconds, waiting for people not counted.
	ReasonTimeout = "Timeout"
	// ReasonSandboxStartTimeout: the sandbox did not run within the manager's time for it.
	ReasonSandboxStartTimeout = "SandboxStartTimeout"
	// ReasonSandboxOutdated: the sandbox was made by another release, and does not know what the run needs of it.
	ReasonSandboxOutdated = "SandboxOutdated"
	// ReasonSandboxLost: the sandbox Pod was deleted, or ended by itself, before the run did, its tool server cannot be reached, or it has
	// served a later epoch than the records of the run have.
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
	// ReasonInstallFailed: the packages of a run of mode Install could not be installed, or are too large.
	ReasonInstallFailed = "InstallFailed"
	// ReasonInternalError: the manager could not carry the run on, for no reason that lies in the task: its loop kept
	// panicking, or the journal lacks a step or did not take one.
	ReasonInternalError = "InternalError"
)

// Condition types of a Skill.
const (
	// ConditionSourceReady is True while the skill's source gives files that are a skill.
	ConditionSourceReady = "SourceReady"
	// ConditionPolicyValid is True when spec.policy can be granted as it is.
	ConditionPolicyValid = "PolicyValid"
	// ConditionReviewed is True when what there is to know of the newest revision is in the status.
	ConditionReviewed = "Reviewed"
	// ConditionApproved is True while runs may use the skill.
	ConditionApproved = "Approved"
	// ConditionPackagesReady is True when the packages of spec.policy.dependencies are installed. A skill without any does not have it.
	ConditionPackagesReady = "PackagesReady"
	// ConditionReady is True when the skill is approved and has its packages (kstatus: current).
	ConditionReady = "Ready"
)

// Reasons of SourceReady.
const (
	// ReasonSourceRead: the files were read and are a skill.
	ReasonSourceRead = "SourceRead"
	// ReasonNoSource: spec.source is unset; revisions come from runs.
	ReasonNoSource = "NoSource"
	// ReasonSourceNotFound: a ConfigMap, an artifact or an object of Flux that spec.source names does not exist.
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonSourceUnavailable: the source could not be read now. It is tried again.
	ReasonSourceUnavailable = "SourceUnavailable"
	// ReasonFluxNotInstalled: spec.source.flux is set, and the cluster has no such kind.
	ReasonFluxNotInstalled = "FluxNotInstalled"
	// ReasonSkillInvalid: the files are not a skill: SKILL.md, or the name of a file, is not as the standard has it.
	ReasonSkillInvalid = "SkillInvalid"
	// ReasonSkillTooLarge: a file has more than 1 MiB, or all of them have more than 10 MiB, or there are more than 256.
	ReasonSkillTooLarge = "SkillTooLarge"
)

// Reasons of PolicyValid.
const (
	// ReasonPolicyValid: the policy can be granted.
	ReasonPolicyValid = "PolicyValid"
	// ReasonPolicyInvalid: a domain cannot be allowed, a credential is for a host that is not within the domains, an input's default has
	// not its type, or the policy is too long.
	ReasonPolicyInvalid = "PolicyInvalid"
)

// Reasons of Reviewed and Approved.
const (
	// ReasonFactsGathered: what there is to know of the newest revision is in its status.
	ReasonFactsGathered = "FactsGathered"
	// ReasonNoRevision: there are no files yet that could be reviewed.
	ReasonNoRevision = "NoRevision"
	// ReasonReviewing: the facts are not gathered yet.
	ReasonReviewing = "Reviewing"
	// ReasonReviewSetAside: the operator's process ended twice while it looked through the files. Nothing is known of them, and they
	// are to be taken for dangerous.
	ReasonReviewSetAside = "ReviewSetAside"
	// ReasonSkillApproved: a person approved exactly this content with exactly this policy.
	ReasonSkillApproved = "Approved"
	// ReasonAwaitingApproval: nobody has approved the skill.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonContentChanged: the source gives other files than those that were approved.
	ReasonContentChanged = "ContentChanged"
	// ReasonContentUnknown: the approval names a content that there is no revision of.
	ReasonContentUnknown = "ContentUnknown"
	// ReasonPolicyChanged: the policy is not the one that was approved.
	ReasonPolicyChanged = "PolicyChanged"
	// ReasonApprovalExpired: the approval has ended.
	ReasonApprovalExpired = "ApprovalExpired"
	// ReasonSkillRejected: a person rejected the newest revision.
	ReasonSkillRejected = "Rejected"
	// ReasonSkillRevoked: a person took the approval back.
	ReasonSkillRevoked = "Revoked"
)

// Reasons of PackagesReady, and of Ready beside those of Approved.
const (
	// ReasonPackagesInstalled: the packages are installed.
	ReasonPackagesInstalled = "PackagesInstalled"
	// ReasonPackagesInstalling: a run of mode Install is under way.
	ReasonPackagesInstalling = "PackagesInstalling"
	// ReasonPackagesFailed: they could not be installed. A change of the dependencies, or deleting the run, tries again.
	ReasonPackagesFailed = "PackagesFailed"
	// ReasonNoPackageSource: the namespace's MotorCortex has no address for a kind of package.
	ReasonNoPackageSource = "NoPackageSource"
	// ReasonSkillReady: runs can use the skill.
	ReasonSkillReady = "SkillReady"
)

// Reasons of Accepted for runs with skillRef.
const (
	// ReasonSkillNotFound: there is no such Skill, or it has no such revision.
	ReasonSkillNotFound = "SkillNotFound"
	// ReasonSkillNotApproved: the skill is not approved, and the run does not name its own tools.
	ReasonSkillNotApproved = "SkillNotApproved"
	// ReasonAcceptInvalid: spec.accept asks for what no run can meet: a file outside of the workspace, or a schema that cannot be used.
	ReasonAcceptInvalid = "AcceptInvalid"
	// ReasonSkillPolicyExceeded: the run asks for more than the skill's policy grants.
	ReasonSkillPolicyExceeded = "SkillPolicyExceeded"
	// ReasonSkillInputInvalid: an input of the skill is missing, unknown, or has not its type.
	ReasonSkillInputInvalid = "SkillInputInvalid"
	// ReasonSkillPackagesMissing: the packages of the skill are not installed yet.
	ReasonSkillPackagesMissing = "SkillPackagesMissing"

	// EventMissing is the reason of an Event: something that was there when the run was accepted cannot be read, and the run waits for it.
	EventMissing = "Missing"
	// EventSkillRejected is the reason of an Event of a run that has ended: skills of its workspace were not kept. status.result.skills.rejected
	// says why.
	EventSkillRejected = "SkillRejected"
	// EventHeartbeatFailing is the reason of an Event of the leader's Pod: it cannot write the Lease motorcortex-time, so no deadline passes.
	EventHeartbeatFailing = "HeartbeatFailing"
	// EventHeartbeatWritten is the reason of an Event of the leader's Pod: deadlines pass again.
	EventHeartbeatWritten = "HeartbeatWritten"
	// EventVersionsDiffer is the reason of an Event of a manager's Pod: replicas of different versions live.
	EventVersionsDiffer = "VersionsDiffer"
	// EventVersionsAgree is the reason of an Event of a manager's Pod: all replicas that live have one version again.
	EventVersionsAgree = "VersionsAgree"
)
