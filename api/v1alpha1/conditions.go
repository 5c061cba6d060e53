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
	// ConditionAwaitingInput is True while the run waits for a person. status.pendingInputs says for what.
	ConditionAwaitingInput = "AwaitingInput"
	// ConditionResponsesValid is False when an entry of spec.responses answers nothing that was asked.
	ConditionResponsesValid = "ResponsesValid"
	// ConditionSuspended is True while spec.suspend keeps the run from going on.
	ConditionSuspended = "Suspended"
	// ConditionSucceeded is Unknown until the run ends, then True or False for ever.
	ConditionSucceeded = "Succeeded"
	// ConditionFinished is True when the run has ended, whichever way, and its sandbox was told to go.
	ConditionFinished = "Finished"
	// ConditionReconciling is True while the operator works on the run (kstatus: in progress).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the run cannot go on before a person or a client changes something (kstatus: failed).
	ConditionStalled = "Stalled"
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

// Reasons of Events that are not the transition of a condition.
const (
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

// Condition types of a MotorCortex.
const (
	// CortexReady is True when every service that the namespace's runs are configured to use is available.
	CortexReady = "Ready"
	// CortexModelAvailable is True when the endpoints of the namespace's models answer. Its reasons are those of the condition ModelAvailable of a
	// MotorRun.
	CortexModelAvailable = "ModelAvailable"
	// CortexSearchReady is True when the search provider can be asked. A MotorCortex without spec.search does not have it.
	CortexSearchReady = "SearchReady"
	// CortexArchiveReady is True when the manager can list the archive's bucket. It is there only where the manager has a bucket.
	CortexArchiveReady = "ArchiveReady"
	// CortexSinkReady is True when a sink takes its signals. It is the condition of each of status.sinks.
	CortexSinkReady = "SinkReady"
	// CortexNotificationsReady is True when every receiver of spec.notifications takes its messages. A MotorCortex without receivers does not have it.
	CortexNotificationsReady = "NotificationsReady"
	// CortexStorageAvailable is True while the runs of the namespace keep less in the cluster than they may, so that further runs can begin.
	CortexStorageAvailable = "StorageAvailable"
)

// Reasons of the conditions of a MotorCortex. SearchReady, SinkReady and NotificationsReady are also False with
// ModelSecretNotFound, ModelSecretKeyMissing and ModelSecretForbidden, about the Secret of the provider, of the sink or of the receiver.
const (
	// ReasonCortexAvailable is a reason of Ready=True, ModelAvailable=True, SearchReady=True, ArchiveReady=True and StorageAvailable=True of a MotorCortex.
	//
	// Meaning: Everything that is configured can be reached, and there is room for runs. Of Brave, which counts every request, only the key was
	// looked for.
	//
	// Do: Nothing.
	ReasonCortexAvailable = "Available"

	// ReasonModelNotListed is a reason of ModelAvailable=True of a MotorCortex.
	//
	// Meaning: The endpoint answers, and its list of models does not name the model of spec.models. Many endpoints serve names that they do
	// not list.
	//
	// Do: Check the name. Nothing, if the endpoint serves names that it does not list.
	ReasonModelNotListed = "ModelNotListed"

	// ReasonSearchUnavailable is a reason of SearchReady=False of a MotorCortex.
	//
	// Meaning: The search provider cannot be reached, or refuses. The message says how.
	//
	// Do: Correct spec.search. A SearXNG instance must have json in search.formats.
	ReasonSearchUnavailable = "SearchUnavailable"

	// ReasonArchiveUnavailable is a reason of ArchiveReady=False of a MotorCortex.
	//
	// Meaning: The manager cannot list the archive's bucket. Runs go on meanwhile.
	//
	// Do: Read the manager's log, and see the guide of the archive.
	ReasonArchiveUnavailable = "ArchiveUnavailable"

	// ReasonSinkTakes is a reason of SinkReady=True and NotificationsReady=True of a MotorCortex.
	//
	// Meaning: The sink took the last signal that it was sent, or was not sent any yet.
	//
	// Do: Nothing.
	ReasonSinkTakes = "Takes"

	// ReasonSinkUnavailable is a reason of SinkReady=False and NotificationsReady=False of a MotorCortex.
	//
	// Meaning: The sink cannot be reached, fails, or asks for a pause. It is tried again, at least every five minutes, and is told then what
	// it missed.
	//
	// Do: Look after the service, if that goes on. The manager connects to Services only if
	// --allowed-sink-cidrs says so.
	ReasonSinkUnavailable = "SinkUnavailable"

	// ReasonSinkRefuses is a reason of SinkReady=False and NotificationsReady=False of a MotorCortex.
	//
	// Meaning: The sink answers that the address, the authorization or the signature is wrong, or refuses several signals in succession. It is tried
	// again, at least every five minutes, and is told then what it missed.
	//
	// Do: Correct what the message names: url, the Secrets, the addresses of an e-mail, or runSelector.
	ReasonSinkRefuses = "SinkRefuses"

	// ReasonCortexStorageLow is a reason of StorageAvailable=True of a MotorCortex.
	//
	// Meaning: The runs of the namespace keep four fifths of what spec.retention.maxStorage allows. Runs of which the archive has
	// everything are deleted before their time, the oldest first. When all of it is used, no further run begins.
	//
	// Do: Delete finished runs, lower their retention, set up the archive, or raise maxStorage if etcd has room.
	ReasonCortexStorageLow = "StorageLow"

	// ReasonCortexStorageFull is a reason of StorageAvailable=False and Ready=False of a MotorCortex.
	//
	// Meaning: The runs of the namespace keep all that spec.retention.maxStorage allows, and there is no finished one of which the
	// archive has everything. Further runs wait. Runs that had begun go on, until they keep a quarter more than allowed.
	//
	// Do: Delete finished runs, lower their retention, set up the archive, or raise maxStorage if etcd has room.
	ReasonCortexStorageFull = "StorageFull"
)
