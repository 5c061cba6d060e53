// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Accepted.
const (
	// ReasonAccepted is a reason of Accepted=True.
	//
	// Meaning: Nothing prevents carrying the run out. The condition stays True.
	//
	// Do: Nothing.
	ReasonAccepted = "Accepted"

	// ReasonQueued is a reason of Accepted=False.
	//
	// Meaning: All slots of the namespace are taken, so the run waits for its turn. Its time stands still.
	//
	// Do: Wait: the run begins by itself. The message names the run that comes first. To begin sooner, end or cancel a run that
	// waits for people, or raise concurrency.maxActive of the MotorCortex.
	ReasonQueued = "Queued"

	// ReasonBusy is a reason of Accepted=False and Succeeded=False (BudgetExhausted).
	//
	// Meaning: All slots of the namespace are taken, and whenBusy of its MotorCortex is Reject. The run has failed.
	//
	// Do: Create the run again when the run that the message names has ended, or set `whenBusy: Queue`.
	ReasonBusy = "Busy"

	// ReasonStorageFull is a reason of Accepted=False, ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The runs of the namespace keep all that spec.retention.maxStorage of the MotorCortex allows in the cluster, so the
	// run waits with its time standing still. A run that has begun waits only when they keep a quarter more than allowed: then its
	// model is not asked. After outageDeadlineSeconds its attempt fails.
	//
	// Do: Delete finished runs, lower their retention, set up the archive, or raise maxStorage if etcd has room. The run goes on by
	// itself.
	ReasonStorageFull = "StorageFull"

	// ReasonEgressUnavailable is a reason of Accepted=False, EgressReady=False and Succeeded=False (InfraFailure).
	//
	// Meaning: The egress proxy cannot be used. Before a run begins: its Service does not exist or has no address, and the run
	// waits. In a run under way: the Service is gone, and whatever needs no way out goes on. At the end of an attempt: for a
	// minute the sandbox did not reach the proxy, or the proxy did not know its grant.
	//
	// Do: Install config/egressproxy (config/default has it), or set --egress-service of the manager. Look at the Pods with
	// app.kubernetes.io/component=egressproxy and their log, at policies that keep the proxy from being reached, and at a slow
	// network plugin (--egress-timeout). Then retry.
	ReasonEgressUnavailable = "EgressUnavailable"

	// ReasonDomainInvalid is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: An entry of spec.domains can be allowed to no run, such as a public suffix or a name of the cluster, or all
	// entries together are longer than 4 KiB. The run has failed.
	//
	// Do: Create the run again with other domains. The message names the entry.
	ReasonDomainInvalid = "DomainInvalid"

	// ReasonDomainNotAllowed is a reason of Accepted=False and EgressReady=False.
	//
	// Meaning: The namespace's MotorCortex does not allow its runs one of spec.domains, and the run waits. In a run under way
	// the MotorCortex was narrowed, and no host is left to reach.
	//
	// Do: Have spec.egress.allowedDomains of the MotorCortex widened, or create the run without the domain. Cancel a run under
	// way that cannot go on.
	ReasonDomainNotAllowed = "DomainNotAllowed"

	// ReasonStorageClassNotAllowed is a reason of Accepted=False.
	//
	// Meaning: sandbox.allowedStorageClasses of the MotorCortex does not list spec.sandbox.workspaceStorageClassName. The run
	// waits.
	//
	// Do: Have the class listed, or create the run without workspaceStorageClassName.
	ReasonStorageClassNotAllowed = "StorageClassNotAllowed"

	// ReasonCredentialSecretNotFound is a reason of Accepted=False.
	//
	// Meaning: A Secret that spec.credentials names does not exist or lacks the key, or a credential of the skill has no Secret,
	// neither in the policy nor in the run. The run waits.
	//
	// Do: Create the Secret in the run's namespace. The message names Secret and key.
	ReasonCredentialSecretNotFound = "CredentialSecretNotFound"

	// ReasonCredentialInvalid is a reason of Accepted=False.
	//
	// Meaning: The value cannot be used: it has less than 8 bytes or more than 8 KiB, several lines or control characters, or no
	// colon for the slot Basic. The run waits.
	//
	// Do: Set the value again. The message says which rule it breaks.
	ReasonCredentialInvalid = "CredentialInvalid"

	// ReasonCredentialForbidden is a reason of Accepted=False.
	//
	// Meaning: The creator of the run has no verb use on the Secret or is not known, a host of the credential is not in the
	// Secret's annotation motorcortex.dev/hosts, or the Secret has a type that no run can use. The run waits.
	//
	// Do: Give the creator the verb (ClusterRole motorcortex-credential-user, or a Role that names the Secret). Add the host
	// with `kubectl annotate --overwrite secret NAME motorcortex.dev/hosts=HOST`. Create a run without spec.requester again. Put
	// the value into a Secret of type Opaque.
	ReasonCredentialForbidden = "CredentialForbidden"

	// ReasonCredentialHostNotAllowed is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: A credential is bound to a host that is not within spec.domains. The run has failed.
	//
	// Do: Create the run again, with the host in domains and in the credential's hosts.
	ReasonCredentialHostNotAllowed = "CredentialHostNotAllowed"

	// ReasonModelNotConfigured is a reason of Accepted=False, ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: Neither the namespace's MotorCortex nor the manager names a model endpoint, or the configured endpoint can never
	// be asked: a user or a query in the URL, white space inside the key. The run waits.
	//
	// Do: Create a MotorCortex default with spec.models.default, or the Secret motorcortex-model and restart the manager.
	// Correct spec.models or the Secret of the key.
	ReasonModelNotConfigured = "ModelNotConfigured"

	// ReasonCopiedRun is a reason of Accepted=False.
	//
	// Meaning: The run was created from a copy of another one, such as a backup or the output of `kubectl get -o yaml`. It may
	// have been carried out already, so it waits with its time standing still.
	//
	// Do: Delete it, or release it in your own name: `kubectl patch motorrun NAME --type=merge -p
	// '{"spec":{"origin":"Released"}}'` (needs the verb update). Leave spec.origin out of a new run that follows an example.
	ReasonCopiedRun = "CopiedRun"

	// ReasonStepsInTheWay is a reason of Accepted=False.
	//
	// Meaning: MotorSteps of an earlier run of the same name are still there and belong to no run. They are left by `kubectl
	// delete --cascade=orphan`, or by a restore without the run. The run waits until they are deleted.
	//
	// Do: Keep what you need of them, then `kubectl delete motorsteps -l motorcortex.dev/run=NAME`, or use another name.
	ReasonStepsInTheWay = "StepsInTheWay"

	// ReasonInputFileForbidden is a reason of Accepted=False.
	//
	// Meaning: The creator of the run cannot get the ConfigMap or artifact of one of its files, or the run does not name its
	// creator. The run waits.
	//
	// Do: Give the creator the verb get on the ConfigMap, or on the run that left the artifact. Create the run again with
	// spec.requester.
	ReasonInputFileForbidden = "InputFileForbidden"

	// ReasonModelSecretNotFound is a reason of Accepted=False, ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The Secret of apiKeySecretRef does not exist in the run's namespace. The run waits.
	//
	// Do: Create it there.
	ReasonModelSecretNotFound = "ModelSecretNotFound"

	// ReasonModelSecretKeyMissing is a reason of Accepted=False, ModelAvailable=False and Succeeded=False (ModelFailure).
	//
	// Meaning: The Secret of apiKeySecretRef has no value under that key. The run waits.
	//
	// Do: Put the API key there. White space alone does not count.
	ReasonModelSecretKeyMissing = "ModelSecretKeyMissing"

	// ReasonModelSecretForbidden is a reason of Accepted=False.
	//
	// Meaning: The Secret of apiKeySecretRef has a type that holds other things: a service account's token, a Helm release, a
	// TLS key, a registry login. Or a run saved it for other hosts. The run waits.
	//
	// Do: Put the API key into a Secret of type Opaque, and name that one.
	ReasonModelSecretForbidden = "ModelSecretForbidden"

	// ReasonInputFileNotFound is a reason of Accepted=False.
	//
	// Meaning: A ConfigMap of spec.files, its key, or an artifact does not exist in the run's namespace, or does not have the content of the
	// digest that the run gives, or artifacts in the bucket have more than 256 MiB together. The run waits.
	//
	// Do: Create what the message names, or give fewer files.
	ReasonInputFileNotFound = "InputFileNotFound"

	// ReasonMCPServerNotAllowed is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: The host of an MCP server is not within spec.domains, or its credential is not bound to that host. The run has
	// failed.
	//
	// Do: Add the host to domains and to the credential's hosts, and create the run again.
	ReasonMCPServerNotAllowed = "MCPServerNotAllowed"

	// ReasonNoEnergy is a reason of Accepted=False and Succeeded=False (BudgetExhausted).
	//
	// Meaning: The energy of the namespace (spec.energy of the MotorCortex) is too low for a run of this kind. The run waits for its
	// turn with its time standing still, or has failed if whenTired is Reject. Nothing was drained.
	//
	// Do: Wait: the message says when it will be enough. `kubectl motor body` shows what drained it. To begin sooner, raise
	// regenerationPerHour or lower what the kind of run needs; with Reject, create the run again then.
	ReasonNoEnergy = "NoEnergy"
)

// Reasons of Accepted for spec.accept and for runs with skillRef.
const (
	// ReasonAcceptInvalid is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: spec.accept asks for what no run can meet: a file outside of the workspace, a schema that is not a JSON object,
	// has an unknown type, refers outside of its $defs or takes too long, or more than 8 commands together with the policy of
	// the skill. The run has failed.
	//
	// Do: Create another run. The message names the field.
	ReasonAcceptInvalid = "AcceptInvalid"

	// ReasonSkillNotFound is a reason of Accepted=False.
	//
	// Meaning: The namespace has no Skill of that name, or the Skill has no such revision. The run waits.
	//
	// Do: Create it, or look at status.revisions of the Skill.
	ReasonSkillNotFound = "SkillNotFound"

	// ReasonSkillNotApproved is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: The skill is not approved as it is now, and the run names no tools of its own. The run has failed.
	//
	// Do: Approve the skill, or give the run tools and domains of its own, and create the run again. The message names the
	// skill's state.
	ReasonSkillNotApproved = "SkillNotApproved"

	// ReasonSkillPolicyExceeded is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: The run asks for a tool, domain, credential, MCP server or command that the skill's policy does not grant, or
	// brings a file at a path of the skill. The run has failed.
	//
	// Do: Leave it out, or have the policy widened and approved.
	ReasonSkillPolicyExceeded = "SkillPolicyExceeded"

	// ReasonSkillInputInvalid is a reason of Accepted=False and Succeeded=False (InvalidTask).
	//
	// Meaning: An input of the skill is missing, unknown, or not of its type. The run has failed.
	//
	// Do: Correct the input that the message names. spec.policy.inputs of the Skill lists them.
	ReasonSkillInputInvalid = "SkillInputInvalid"

	// ReasonSkillPackagesMissing is a reason of Accepted=False.
	//
	// Meaning: The packages of the skill are not installed yet. The run waits.
	//
	// Do: Wait. The condition PackagesReady of the Skill says more.
	ReasonSkillPackagesMissing = "SkillPackagesMissing"
)

// Reasons of ToolsOffered.
const (
	// ReasonToolsOffered is a reason of ToolsOffered=True.
	//
	// Meaning: The model is offered all tools of spec.tools.
	//
	// Do: Nothing.
	ReasonToolsOffered = "AllOffered"

	// ReasonSearchNotConfigured is a reason of ToolsOffered=False.
	//
	// Meaning: spec.tools has search_web, and the MotorCortex has no spec.search. The model is not offered the tool, and the run
	// goes on.
	//
	// Do: Set spec.search of the MotorCortex, or leave the tool out.
	ReasonSearchNotConfigured = "SearchNotConfigured"
)

// Reasons of AwaitingInput.
const (
	// ReasonQuestion is a reason of AwaitingInput=True.
	//
	// Meaning: The model asks a person. status.pendingInputs has the question.
	//
	// Do: Add an entry with answer to spec.responses before status.pendingInputs[].expirationTime. It needs the verb respond.
	ReasonQuestion = "Question"

	// ReasonDomainRequest is a reason of AwaitingInput=True.
	//
	// Meaning: The model asks to reach one more domain.
	//
	// Do: Decide with decision AllowOnce, AllowRun or Deny under status.pendingInputs[].id. It needs the verb approve. A reason
	// tells the model why.
	ReasonDomainRequest = "DomainRequest"

	// ReasonApproval is a reason of AwaitingInput=True.
	//
	// Meaning: A tool call is to be approved. status.pendingInputs[].action shows the call and the rule that asked for approval.
	//
	// Do: Add a response with decision ApproveOnce, ApproveRun or Deny, and the digest of action.argsDigest. It needs the verb
	// approve. Without a decision within spec.limits.approvalDeadlineSeconds the call is denied, and the run goes on.
	ReasonApproval = "Approval"

	// ReasonOutcomeUnknown is a reason of AwaitingInput=True.
	//
	// Meaning: A tool call was started, and the tool server or sandbox ended before the end of the call was seen. Nothing else
	// of the run happens until there is an answer.
	//
	// Do: Find out what the call did: status.pendingInputs[].question names it, and its step has the arguments. Decide
	// Retry to have it made again, Done if it did its work, or Skip to go on without it. It needs the verb respond.
	ReasonOutcomeUnknown = "OutcomeUnknown"

	// ReasonAttemptFailed is a reason of AwaitingInput=True.
	//
	// Meaning: An attempt failed. The sandbox and its files stay until status.pendingInputs[].expirationTime.
	//
	// Do: Add a response with decision Retry and with guidance, or with decision Stop. It needs the verb respond or update,
	// and addDomains the verb approve.
	ReasonAttemptFailed = "AttemptFailed"

	// ReasonBudgetExhausted is a reason of AwaitingInput=True, ModelAvailable=False and Succeeded=False (BudgetExhausted).
	//
	// Meaning: An attempt used up its answers or tokens. The sandbox and its files stay until status.pendingInputs[].expirationTime. With
	// ModelAvailable=False: the next call of the model may go beyond a bound of the budget. The run waits, with its time standing still.
	//
	// Do: Look at status.pendingInputs[].kind. Of kind Retry: add a response with decision Retry, or with decision Stop, and create a run
	// with higher limits. Of kind BudgetExhausted: add a response with decision Raise and an amount, which needs the verb approve, or with
	// decision Stop (`kubectl motor raise`, `kubectl motor stop`). A bound of a day or a month ends by itself, and the run goes on.
	ReasonBudgetExhausted = "BudgetExhausted"

	// ReasonAnswered is a reason of AwaitingInput=False.
	//
	// Meaning: The last ask was answered, and the run goes on.
	//
	// Do: Nothing.
	ReasonAnswered = "Answered"

	// ReasonNothingAsked is a reason of AwaitingInput=False.
	//
	// Meaning: The run has not asked anything yet.
	//
	// Do: Nothing.
	ReasonNothingAsked = "NothingAsked"

	// ReasonRunEnded is a reason of AwaitingInput=False, ModelAvailable=False, Suspended=False and Reconciling=False.
	//
	// Meaning: The run has ended, so the condition does not hold any more.
	//
	// Do: Nothing.
	ReasonRunEnded = "RunEnded"
)

// Reasons of ResponsesValid.
const (
	// ReasonResponsesValid is a reason of ResponsesValid=True.
	//
	// Meaning: Every response answers something that was asked.
	//
	// Do: Nothing.
	ReasonResponsesValid = "AllAsked"

	// ReasonUnknownQuestion is a reason of ResponsesValid=False.
	//
	// Meaning: A response names an id under which nothing was asked, or carries the digest of another call. It is ignored.
	//
	// Do: Add another entry with the id of status.pendingInputs[].id. The wrong entry stays and does no harm.
	ReasonUnknownQuestion = "UnknownQuestion"
)

// Reasons of Suspended.
const (
	// ReasonSuspended is a reason of Suspended=True.
	//
	// Meaning: spec.suspend keeps the run from going on.
	//
	// Do: Set spec.suspend to false.
	ReasonSuspended = "Suspended"

	// ReasonResumed is a reason of Suspended=False.
	//
	// Meaning: spec.suspend was set to false.
	//
	// Do: Nothing.
	ReasonResumed = "Resumed"
)

// Reasons of Stalled that no other condition has.
const (
	// ReasonSetAside is a reason of Stalled=True.
	//
	// Meaning: Processes of the manager that carried the run on ended one after the other, the last two while they carried on
	// nothing else. A worker watches the sandbox and carries nothing on until the run is suspended and resumed. The run's time
	// goes on.
	//
	// Do: Look at the manager's former log (`kubectl -n motorcortex-system logs --previous deployment/motorcortex-manager`) and
	// report it. Set spec.suspend to true and back to have the run tried again, or cancel it.
	ReasonSetAside = "SetAside"
)
