// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of SandboxReady.
const (
	// ReasonSandboxReady is a reason of SandboxReady=True.
	//
	// Meaning: The Pod runs and has an address.
	//
	// Do: Nothing.
	ReasonSandboxReady = "SandboxReady"

	// ReasonSandboxStarting is a reason of SandboxReady=False.
	//
	// Meaning: The Pod was created and does not run yet.
	//
	// Do: Wait. After three minutes the attempt fails with SandboxStartTimeout.
	ReasonSandboxStarting = "SandboxStarting"

	// ReasonUnschedulable is a reason of SandboxReady=False.
	//
	// Meaning: No node has room for the Pod, or can take it. The run waits for room as in a queue, and its time stands still. The attempt
	// fails after a day.
	//
	// Do: Add a node, or lower spec.sandbox.resources in a new run. Name another workspaceStorageClassName if the message speaks
	// of volumes.
	ReasonUnschedulable = "Unschedulable"

	// ReasonSlotsTaken is a reason of SandboxReady=False.
	//
	// Meaning: All slots for loops of the manager's replicas are taken, so no sandbox is made yet. The run waits as in a queue, and its
	// time stands still. Slots go to the namespace that has the fewest, and there to the oldest run.
	//
	// Do: Wait: the run begins by itself, and the message says when. To begin sooner, add a replica of the manager, or give it more
	// memory.
	ReasonSlotsTaken = "SlotsTaken"

	// ReasonWorkspacePending is a reason of SandboxReady=False.
	//
	// Meaning: The volume of sandbox.workspaceStorageClassName is not there yet, or a claim of its name is still being deleted.
	// The attempt fails after three minutes.
	//
	// Do: Wait. `kubectl describe pvc`, with the name in the message, says what its provisioner does. Raise
	// --sandbox-start-timeout of the manager if it usually takes longer.
	ReasonWorkspacePending = "WorkspacePending"

	// ReasonWorkspaceClaimTaken is a reason of SandboxReady=False.
	//
	// Meaning: A PersistentVolumeClaim that is not the sandbox's has the name of its claim, and is not being deleted. The
	// attempt fails after three minutes.
	//
	// Do: Delete the claim that the message names.
	ReasonWorkspaceClaimTaken = "WorkspaceClaimTaken"

	// ReasonImagePullFailed is a reason of SandboxReady=False.
	//
	// Meaning: The node cannot get the sandbox image. The attempt fails after three minutes.
	//
	// Do: Push or load the image that the message names, or set --sandbox-image of the manager (SANDBOX_IMAGE in its ConfigMap).
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonContainerCreateFailed is a reason of SandboxReady=False.
	//
	// Meaning: The node has the image and cannot start the container. The attempt fails after three minutes.
	//
	// Do: Read the message: often a RuntimeClass that the node does not have, or no user namespaces in spite of the node's
	// report.
	ReasonContainerCreateFailed = "ContainerCreateFailed"

	// ReasonBaselineRefused is a reason of SandboxReady=False.
	//
	// Meaning: The API server refused the NetworkPolicy motorcortex-sandbox-baseline: a quota, an admission policy or a failing
	// webhook. No sandbox runs without it. It is tried again every 5 to 60 s.
	//
	// Do: Read the message, and permit the policy.
	ReasonBaselineRefused = "BaselineRefused"

	// ReasonSandboxRefused is a reason of SandboxReady=False.
	//
	// Meaning: The API server refused the Pod: a quota, an admission policy or the Pod Security level. It is tried again every 5
	// to 60 s. While a quota is exceeded the time of the run stands still.
	//
	// Do: Read the message. Make room, or permit Pods with the label motorcortex.dev/component=sandbox.
	ReasonSandboxRefused = "SandboxRefused"

	// ReasonSandboxNameTaken is a reason of SandboxReady=False.
	//
	// Meaning: A foreign Pod has the name of the sandbox.
	//
	// Do: Delete the Pod that the message names, or use another name for the run.
	ReasonSandboxNameTaken = "SandboxNameTaken"

	// ReasonSandboxRestarting is a reason of SandboxReady=False.
	//
	// Meaning: The tool server ended, mostly for its memory, and the node starts it again in the same Pod with the same files.
	// After three restarts the attempt is lost with SandboxCrashed.
	//
	// Do: Wait. If it repeats, raise sandbox.resources.memory in a new run.
	ReasonSandboxRestarting = "SandboxRestarting"

	// ReasonSandboxReplaced is a reason of SandboxReady=False.
	//
	// Meaning: The Pod is lost, and another one is made for the next attempt, under a name of its own. The workspace begins
	// again with the files of the spec.
	//
	// Do: Wait.
	ReasonSandboxReplaced = "SandboxReplaced"

	// ReasonSandboxRemoved is a reason of SandboxReady=False.
	//
	// Meaning: The run has ended, and its Pod was removed.
	//
	// Do: Nothing.
	ReasonSandboxRemoved = "SandboxRemoved"
)

// Reasons of UserNamespace.
const (
	// ReasonUserNamespaceInUse is a reason of UserNamespace=True.
	//
	// Meaning: The Pod has its own user namespace: its users are no users of the node.
	//
	// Do: Nothing.
	ReasonUserNamespaceInUse = "InUse"

	// ReasonUserNamespaceUnsupported is a reason of UserNamespace=False.
	//
	// Meaning: A node that could take the Pod does not support user namespaces. The run goes on with one wall less.
	//
	// Do: Use nodes whose kernel and container runtime support them, or keep runs off the others with a taint.
	ReasonUserNamespaceUnsupported = "NodesWithoutSupport"
)

// Reasons of Confined.
const (
	// ReasonConfined is a reason of Confined=True.
	//
	// Meaning: Programs cannot reach the tool server, and their number is limited.
	//
	// Do: Nothing.
	ReasonConfined = "Confined"

	// ReasonNoLandlock is a reason of Confined=False.
	//
	// Meaning: The kernel of the node has no Landlock, so programs reach the files of the tool server. The run goes on with one
	// wall less.
	//
	// Do: Use nodes with Linux 5.19 or later, with Landlock among the kernel's security modules.
	ReasonNoLandlock = "NoLandlock"

	// ReasonNoProcessLimit is a reason of Confined=False.
	//
	// Meaning: No limit of the number of processes can be seen in the sandbox. The run goes on.
	//
	// Do: Set podPidsLimit of the kubelet, or use nodes with user namespaces.
	ReasonNoProcessLimit = "NoProcessLimit"
)

// Reasons of IsolationVerified.
const (
	// ReasonIsolationVerified is a reason of IsolationVerified=True.
	//
	// Meaning: Every forbidden address was blocked, three times in a row. The message names the families of addresses that were
	// tried, and those of which programs get no sockets.
	//
	// Do: Nothing.
	ReasonIsolationVerified = "AllBlocked"

	// ReasonIsolationUnverified is a reason of IsolationVerified=False.
	//
	// Meaning: A forbidden address could still be reached when the time was over, or the kernel does not filter the system calls
	// of programs. The run has failed, and nothing was run.
	//
	// Do: Use a network plugin that enforces NetworkPolicy for egress, and look for other policies that select
	// motorcortex.dev/component=sandbox. Raise --isolation-timeout if the plugin is only slow. If the message names the filter
	// of system calls, the kernel lacks CONFIG_SECCOMP_FILTER, the runtime refuses seccomp, or the sandbox image is older than
	// the manager.
	ReasonIsolationUnverified = "Reachable"

	// ReasonIsolationPending is a reason of IsolationVerified=Unknown.
	//
	// Meaning: The sandbox was not tried yet, so nothing that the model asked for has run.
	//
	// Do: Nothing.
	ReasonIsolationPending = "NotTriedYet"
)

// Further reasons of IsolationVerified.
const (
	// ReasonIsolationLost is a reason of IsolationVerified=False.
	//
	// Meaning: A NetworkPolicy of the sandbox was changed or deleted. It was restored, everything in the sandbox was ended, and
	// nothing more runs before the proof was made again.
	//
	// Do: Wait for the proof. If it repeats, find out who writes that policy.
	ReasonIsolationLost = "IsolationLost"

	// ReasonUnenforcedAllowed is a reason of IsolationVerified=False.
	//
	// Meaning: A forbidden address could be reached, and the manager goes on because of --allow-unenforced-isolation.
	//
	// Do: Never run anything there that you do not trust.
	ReasonUnenforcedAllowed = "UnenforcedAllowed"
)

// Reasons of EgressReady and CredentialsExposed.
const (
	// ReasonEgressGranted is a reason of EgressReady=True.
	//
	// Meaning: The egress proxy lets the sandbox reach status.egress.domains. The message names domains that the run does not
	// get.
	//
	// Do: Nothing.
	ReasonEgressGranted = "Granted"

	// ReasonNoDomains is a reason of EgressReady=False.
	//
	// Meaning: The run has credentials and no domains, so its sandbox has no way out. The credentials are ready.
	//
	// Do: Nothing, if exposeToSandbox is meant. Otherwise create the run again with spec.domains.
	ReasonNoDomains = "NoDomains"

	// ReasonEgressPending is a reason of EgressReady=False.
	//
	// Meaning: The sandbox has no address yet that the proxy could know it by.
	//
	// Do: Wait, and look at SandboxReady.
	ReasonEgressPending = "AwaitingSandbox"

	// ReasonRouteRefused is a reason of EgressReady=False.
	//
	// Meaning: The API server refused the NetworkPolicy RUN-egress, or a foreign one has its name. It is tried again every 5 to
	// 60 s.
	//
	// Do: Read the message. Permit the policy, or delete the foreign one.
	ReasonRouteRefused = "RouteRefused"

	// ReasonCredentialUnavailable is a reason of EgressReady=True and EgressReady=False.
	//
	// Meaning: A credential that the run had was deleted, became invalid, or can no longer be used. The rest of the grant holds.
	// The status is False in a run without domains.
	//
	// Do: Read the message, and set the credential again. It is back within about 5 s, a right within a minute.
	ReasonCredentialUnavailable = "CredentialUnavailable"

	// ReasonCredentialsExposed is a reason of CredentialsExposed=True.
	//
	// Meaning: spec.credentials has an entry with exposeToSandbox: the sandbox, and with it the model, can read that value.
	//
	// Do: Nothing, if that is meant.
	ReasonCredentialsExposed = "ExposedToSandbox"
)
