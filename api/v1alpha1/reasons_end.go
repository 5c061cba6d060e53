// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Succeeded and Finished.
const (
	// ReasonRunning is a reason of Succeeded=Unknown, Finished=False and Reconciling=True.
	//
	// Meaning: The run has not ended.
	//
	// Do: Nothing.
	ReasonRunning = "Running"

	// ReasonCompleted is a reason of Succeeded=True and Finished=True.
	//
	// Meaning: The task was done, by the model's word and by what spec.accept demands.
	//
	// Do: Nothing.
	ReasonCompleted = "Completed"

	// ReasonPartial is a reason of Succeeded=False (Incomplete).
	//
	// Meaning: The model says in its call of finish that it did a part of the task.
	//
	// Do: Read result.partial for what is missing. Retry with guidance, or create a run for the rest.
	ReasonPartial = "Partial"

	// ReasonFailed is a reason of Succeeded=False (Incomplete).
	//
	// Meaning: The model says in its call of finish that the task cannot be done.
	//
	// Do: Read result.partial for why. Correct the task, or give it what it lacks.
	ReasonFailed = "Failed"

	// ReasonAcceptanceFailed is a reason of Succeeded=False (Incomplete).
	//
	// Meaning: Three calls of finish claimed what does not hold, or did not meet spec.accept: a missing file, a command that did
	// not end with status 0, a value that does not fit its schema. Or a person did not approve a command of spec.accept.
	//
	// Do: Read the message for the last of them, the steps with spec.checks for all outputs, and result.partial for what the
	// model did. If the check is right, retry with guidance. If it is wrong, create another run.
	ReasonAcceptanceFailed = "AcceptanceFailed"

	// ReasonCancelled is a reason of Succeeded=False.
	//
	// Meaning: A person set spec.cancel.
	//
	// Do: Nothing.
	ReasonCancelled = "Cancelled"

	// ReasonUserResponseTimeout is a reason of Succeeded=False (BudgetExhausted).
	//
	// Meaning: A question was not answered within spec.limits.inputDeadlineSeconds.
	//
	// Do: Raise the limit, or put the answer into the task. The default of a question counts where spec.questions.onTimeout is
	// UseDefault.
	ReasonUserResponseTimeout = "UserResponseTimeout"

	// ReasonTimeout is a reason of Succeeded=False (BudgetExhausted).
	//
	// Meaning: The run was not done within spec.limits.activeDeadlineSeconds, all attempts together, waiting not counted. The message
	// ends with what it was doing. With the category InfraFailure: the Pod's own deadline.
	//
	// Do: If it waited for something, look at that condition. Otherwise raise the limit or split the task.
	ReasonTimeout = "Timeout"

	// ReasonMaxIterations is a reason of Succeeded=False (BudgetExhausted).
	//
	// Meaning: The model used up its answers. status.result.partial is what it had to show.
	//
	// Do: Look at the steps for what it repeats. Raise the limit (at most 50), or split the task.
	ReasonMaxIterations = "MaxIterations"

	// ReasonMaxTokens is a reason of Succeeded=False (BudgetExhausted).
	//
	// Meaning: All model calls of the run together used up limits.maxTokens, or the next one would.
	//
	// Do: Create a run with a higher limit, or give the model less to read.
	ReasonMaxTokens = "MaxTokens"

	// ReasonStuck is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The model repeated itself: the same call four times in a row with the same result, three times with the same
	// error of the tool, or six calls that alternate between two. A program that ends with another status than 0 has a result
	// and no error. The result before had a warning.
	//
	// Do: The message names the call and its last output. Say in a retry what to do instead, or correct what the output
	// complains of.
	ReasonStuck = "Stuck"

	// ReasonRepeatedToolFailure is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The calls of three turns in a row could not be carried out: unknown or not granted tools, arguments that do not
	// fit, calls that the rules of the run or a person did not allow.
	//
	// Do: The message has the last call and why. Say in the task what to do instead, or grant the missing tool.
	ReasonRepeatedToolFailure = "RepeatedToolFailure"

	// ReasonExecutionTimeout is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The code of a Oneshot run did not end in its time.
	//
	// Do: Create the run again with faster code or a higher timeoutMilliseconds.
	ReasonExecutionTimeout = "ExecutionTimeout"

	// ReasonExecutionError is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The code of a Oneshot run threw an error, or is not a program.
	//
	// Do: Read status.result.value for the message and the line. Create the run again with other code.
	ReasonExecutionError = "ExecutionError"

	// ReasonExecutionBlocked is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The code of a Oneshot run asks for processes, files or a network.
	//
	// Do: Read status.result.value for the line. Create the run again with other code, or with domains.
	ReasonExecutionBlocked = "ExecutionBlocked"

	// ReasonInstallFailed is a reason of Succeeded=False (ToolFailure).
	//
	// Meaning: The packages of a run of mode Install could not be installed, or are too large.
	//
	// Do: Read the output in its step. Change the dependencies of the skill, or delete the run to have it tried again.
	ReasonInstallFailed = "InstallFailed"

	// ReasonInputFile is a reason of Succeeded=False (InvalidTask).
	//
	// Meaning: A file of spec.files could not be put into the workspace: it has more than 1 MiB, one path is a folder of
	// another, or a ConfigMap or an artifact has another content than the digest says.
	//
	// Do: Correct the file that the message names, and create the run again.
	ReasonInputFile = "InputFile"

	// ReasonSkillFiles is a reason of Succeeded=False (InvalidTask).
	//
	// Meaning: The files of the skill's revision are gone, or not what was approved.
	//
	// Do: Look at the SkillRevision in status.skill.revisionName and its ConfigMaps: one was deleted or replaced. Have the skill
	// approved again, and create the run again.
	ReasonSkillFiles = "SkillFiles"

	// ReasonSandboxStartTimeout is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The Pod did not run within three minutes (--sandbox-start-timeout). The operator makes up to two further
	// attempts, each with a Pod and a claim of a name of their own.
	//
	// Do: The message says what it waited for: see SandboxReady.
	ReasonSandboxStartTimeout = "SandboxStartTimeout"

	// ReasonSandboxOutdated is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The sandbox was made by another release and lacks what the run needs. The two attempts that the operator makes by
	// itself met such sandboxes too.
	//
	// Do: Wait until the rollout of the manager is complete, check that --sandbox-image is that of the same release, and retry.
	ReasonSandboxOutdated = "SandboxOutdated"

	// ReasonSandboxLost is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The Pod was deleted or ended by itself, its tool server could not be reached for a minute, or it has served a
	// later epoch than the records of the run have. The two attempts that the operator makes by itself were used up.
	//
	// Do: Retry, or create the run again. If it repeats, look for drained nodes, a preempting workload, a NetworkPolicy between
	// manager and sandbox, or a replaced manager's key. Where the records are older (etcd was restored, or status.execution.epoch was
	// changed by hand), find out what the sandbox did in the lost time first.
	ReasonSandboxLost = "SandboxLost"

	// ReasonSandboxOOMKilled is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The whole Pod ended because it exceeded its memory.
	//
	// Do: Raise sandbox.resources.memory.
	ReasonSandboxOOMKilled = "SandboxOOMKilled"

	// ReasonIsolationRefused is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The sandbox reached an address that it must not reach, so nothing was run in it.
	//
	// Do: See Reachable of IsolationVerified.
	ReasonIsolationRefused = "IsolationUnverified"

	// ReasonSandboxCrashed is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The tool server ended more often than it is started again, three times.
	//
	// Do: The message says how it ended last. If it was memory, raise sandbox.resources.memory.
	ReasonSandboxCrashed = "SandboxCrashed"

	// ReasonSandboxEvicted is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The node evicted the Pod, for its storage or under pressure.
	//
	// Do: Raise sandbox.resources.workspace if the message speaks of storage.
	ReasonSandboxEvicted = "SandboxEvicted"

	// ReasonInternalError is a reason of Succeeded=False (InfraFailure).
	//
	// Meaning: The loop of the run failed three times in the same unforeseen way, or a step of its journal was deleted or is
	// refused by the API server.
	//
	// Do: The message says which, and the manager's log has the rest. Check that CRDs and manager are of the same version, and
	// create the run again.
	ReasonInternalError = "InternalError"
)

// Reasons of ModelAvailable, beside ModelNotConfigured, ModelSecretNotFound and ModelSecretKeyMissing. With those three and
// the first five here the condition Stalled is True: they do not pass by themselves.
const (
	// ReasonModelUnauthorized is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint refused the API key, or wants one (401, 403). A 403 right after an answer with the same key is
	// ModelRefusedRequest.
	//
	// Do: Put a key that can use the model into its Secret. The run goes on by itself within two minutes.
	ReasonModelUnauthorized = "ModelUnauthorized"

	// ReasonModelQuotaExceeded is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The account has no credit or quota left (402, insufficient_quota).
	//
	// Do: Give the account credit, or use another key.
	ReasonModelQuotaExceeded = "ModelQuotaExceeded"

	// ReasonModelNotFound is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint has no such model, or no Chat Completions at that address (404, 405, a redirect).
	//
	// Do: Check the model's name and the base URL, which often ends in /v1.
	ReasonModelNotFound = "ModelNotFound"

	// ReasonModelCertificateInvalid is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The manager does not trust the endpoint's certificate, or the endpoint does not speak TLS.
	//
	// Do: Check the base URL. Add the authority to the manager's image or SSL_CERT_DIR.
	ReasonModelCertificateInvalid = "ModelCertificateInvalid"

	// ReasonModelAddressRefused is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint has an address that the manager does not connect with for a namespace: of a node, the API server,
	// loopback, link-local or metadata.
	//
	// Do: Check the base URL, or have the address allowed with --allowed-model-cidrs of the manager.
	ReasonModelAddressRefused = "ModelAddressRefused"

	// ReasonModelRateLimited is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint answers "too many requests" (429). The replica asks with fewer loops at a time.
	//
	// Do: Wait, run fewer at a time, or raise the account's limit.
	ReasonModelRateLimited = "ModelRateLimited"

	// ReasonModelUnavailable is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint cannot be reached, or answers with server errors (5xx).
	//
	// Do: Check the base URL, and that the manager's Pods can connect to it (HTTPS_PROXY in their ConfigMap if they need a
	// proxy).
	ReasonModelUnavailable = "ModelUnavailable"

	// ReasonModelTimeout is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint sent nothing for idleTimeoutSeconds, or its answer took longer than requestTimeoutSeconds.
	//
	// Do: Raise them for a model that thinks long, and check that the endpoint is up.
	ReasonModelTimeout = "ModelTimeout"

	// ReasonModelMalformedAnswer is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint answers something else than a chat completion, or breaks off.
	//
	// Do: Check the base URL: another service may answer there.
	ReasonModelMalformedAnswer = "ModelMalformedAnswer"

	// ReasonModelAnswers is a reason of ModelAvailable=True.
	//
	// Meaning: The model answers again.
	//
	// Do: Nothing.
	ReasonModelAnswers = "ModelAnswers"

	// ReasonModelNotAsked is a reason of ModelAvailable=Unknown.
	//
	// Meaning: The attempt that waited for the model is over, and no other attempt has asked it yet.
	//
	// Do: Nothing.
	ReasonModelNotAsked = "ModelNotAsked"
)

// Reasons of Succeeded that are about the model.
const (
	// ReasonModelRefusedRequest is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The endpoint refused the request itself (400 and others): a content filter, or a model without tools.
	//
	// Do: Say in a retry what to avoid, or use another model.
	ReasonModelRefusedRequest = "ModelRefusedRequest"

	// ReasonModelWindowExceeded is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The conversation does not fit into the model's window, however short it is made.
	//
	// Do: Set contextTokens of the model, split the task, or use a model with a larger window.
	ReasonModelWindowExceeded = "ModelWindowExceeded"

	// ReasonEmptyAnswers is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The model gave two answers in a row with neither a call nor a whole text.
	//
	// Do: Use another model, or one with a larger output limit.
	ReasonEmptyAnswers = "EmptyAnswers"

	// ReasonNotFinished is a reason of Succeeded=False (ModelFailure).
	//
	// Meaning: The model gave two answers in a row without a tool call, and did not call finish: text, a call that is written as
	// text, or a stated intention. result.partial and the last step have its last words.
	//
	// Do: Retry. A model that cannot call a tool at the end needs `finish: Text` in its MotorCortex (`spec.models.default:
	// {model: NAME, finish: Text}`), which counts from its next answer on.
	ReasonNotFinished = "NotFinished"

	// ReasonBudgetStopped is a reason of ModelAvailable=False and Succeeded=False (BudgetExhausted).
	//
	// Meaning: The runs of the namespace have reached perDay or perMonth of spec.budget of the MotorCortex, which is hard. The run waits,
	// with its time standing still.
	//
	// Do: Wait until the day or the month of UTC is over, or raise the bound in the MotorCortex. The run goes on by itself.
	ReasonBudgetStopped = "BudgetStopped"

	// ReasonPriceMissing is a reason of ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: A bound of cost applies to the run, and its model has no price. The model is not asked: what it costs would not be known.
	//
	// Do: Add the model to spec.budget.prices of the MotorCortex, by the name that spec.models or spec.model of the run has. The run goes
	// on by itself. After outageDeadlineSeconds its attempt fails.
	ReasonPriceMissing = "PriceMissing"
)
