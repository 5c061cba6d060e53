// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of SourceReady.
const (
	// ReasonSourceRead is a reason of SourceReady=True.
	//
	// Meaning: The files were read and are a skill.
	//
	// Do: Nothing.
	ReasonSourceRead = "SourceRead"

	// ReasonNoSource is a reason of SourceReady=True.
	//
	// Meaning: spec.source is unset: revisions come from runs.
	//
	// Do: Nothing.
	ReasonNoSource = "NoSource"

	// ReasonSourceNotFound is a reason of SourceReady=False.
	//
	// Meaning: A ConfigMap, an artifact or a Flux object that spec.source names does not exist.
	//
	// Do: Create what the message names.
	ReasonSourceNotFound = "SourceNotFound"

	// ReasonSourceUnavailable is a reason of SourceReady=False.
	//
	// Meaning: The source could not be read now. It is tried again, after a minute and then ever less often.
	//
	// Do: Check that the manager can reach the registry or the source; its log says what the network did. A registry on a node,
	// a Pod or a Service needs --allowed-source-cidrs.
	ReasonSourceUnavailable = "SourceUnavailable"

	// ReasonFluxNotInstalled is a reason of SourceReady=False.
	//
	// Meaning: spec.source.flux is set, and the cluster has no such kind.
	//
	// Do: Install Flux's source-controller, or use another source.
	ReasonFluxNotInstalled = "FluxNotInstalled"

	// ReasonSkillInvalid is a reason of SourceReady=False.
	//
	// Meaning: The files are not a skill: SKILL.md, or the name of a file, does not follow the standard.
	//
	// Do: Correct the file that the message names, and in SKILL.md the line.
	ReasonSkillInvalid = "SkillInvalid"

	// ReasonSkillTooLarge is a reason of SourceReady=False.
	//
	// Meaning: A file has more than 1 MiB, all files together have more than 10 MiB, or there are more than 256.
	//
	// Do: Make the skill smaller. The message names the file.
	ReasonSkillTooLarge = "SkillTooLarge"
)

// Reasons of PolicyValid.
const (
	// ReasonPolicyValid is a reason of PolicyValid=True.
	//
	// Meaning: The policy can be granted.
	//
	// Do: Nothing.
	ReasonPolicyValid = "PolicyValid"

	// ReasonPolicyInvalid is a reason of PolicyValid=False.
	//
	// Meaning: A domain cannot be allowed, a credential is for a host outside of the domains, the default of an input is not of
	// its type, or the policy is too long.
	//
	// Do: Correct the field that the message names.
	ReasonPolicyInvalid = "PolicyInvalid"
)

// Reasons of Reviewed and Approved.
const (
	// ReasonFactsGathered is a reason of Reviewed=True.
	//
	// Meaning: The facts of the newest revision are in its status.
	//
	// Do: Nothing.
	ReasonFactsGathered = "FactsGathered"

	// ReasonNoRevision is a reason of Reviewed=False and Approved=False.
	//
	// Meaning: There are no files yet that could be reviewed.
	//
	// Do: Give the skill a source, or let a run write it.
	ReasonNoRevision = "NoRevision"

	// ReasonReviewing is a reason of Reviewed=False and Approved=False.
	//
	// Meaning: The facts are not gathered yet.
	//
	// Do: Wait.
	ReasonReviewing = "Reviewing"

	// ReasonReviewSetAside is a reason of Reviewed=False and Approved=False.
	//
	// Meaning: The operator's process ended twice while it looked through the files. Take them for dangerous.
	//
	// Do: Read the files yourself before you approve them, or change them. Deleting the SkillRevision has them looked at once
	// more.
	ReasonReviewSetAside = "ReviewSetAside"

	// ReasonSkillApproved is a reason of Approved=True.
	//
	// Meaning: A person approved exactly this content with exactly this policy.
	//
	// Do: Nothing.
	ReasonSkillApproved = "Approved"

	// ReasonAwaitingApproval is a reason of Approved=False.
	//
	// Meaning: There is no decision about the skill.
	//
	// Do: Look at the skill and approve it.
	ReasonAwaitingApproval = "AwaitingApproval"

	// ReasonContentChanged is a reason of Approved=False.
	//
	// Meaning: The source gives other files than those that were approved. The message names them.
	//
	// Do: Look at the skill and approve it, take the change back, or approve the old files again with another note.
	ReasonContentChanged = "ContentChanged"

	// ReasonContentUnknown is a reason of Approved=False.
	//
	// Meaning: The approval names a content that no revision has.
	//
	// Do: Approve the content of a revision.
	ReasonContentUnknown = "ContentUnknown"

	// ReasonPolicyChanged is a reason of Approved=False.
	//
	// Meaning: The policy is not the one that was approved.
	//
	// Do: Look at the policy and approve it, or take the change back.
	ReasonPolicyChanged = "PolicyChanged"

	// ReasonApprovalExpired is a reason of Approved=False.
	//
	// Meaning: The approval has ended by its expirationTime.
	//
	// Do: Look at the skill and approve it again.
	ReasonApprovalExpired = "ApprovalExpired"

	// ReasonSkillRejected is a reason of Approved=False.
	//
	// Meaning: A person rejected the newest revision: see spec.rejections.
	//
	// Do: Change the files, or approve an older revision.
	ReasonSkillRejected = "Rejected"

	// ReasonSkillRevoked is a reason of Approved=False.
	//
	// Meaning: A person took the approval back: see spec.approval.
	//
	// Do: Approve the skill again if runs should use it.
	ReasonSkillRevoked = "Revoked"
)

// Reasons of PackagesReady, and of Ready beside those of Approved.
const (
	// ReasonPackagesInstalled is a reason of PackagesReady=True.
	//
	// Meaning: The packages are installed.
	//
	// Do: Nothing.
	ReasonPackagesInstalled = "PackagesInstalled"

	// ReasonPackagesInstalling is a reason of PackagesReady=False and Ready=False.
	//
	// Meaning: A run of mode Install is under way.
	//
	// Do: Wait.
	ReasonPackagesInstalling = "PackagesInstalling"

	// ReasonPackagesFailed is a reason of PackagesReady=False and Ready=False.
	//
	// Meaning: The packages could not be installed. It is tried again after an hour.
	//
	// Do: Read the step of the run in status.packages.runName. Change the dependencies, or delete that run to have it tried again.
	ReasonPackagesFailed = "PackagesFailed"

	// ReasonNoPackageSource is a reason of PackagesReady=False and Ready=False.
	//
	// Meaning: The namespace's MotorCortex has no address for a kind of package.
	//
	// Do: Set spec.packages of the MotorCortex.
	ReasonNoPackageSource = "NoPackageSource"

	// ReasonSkillReady is a reason of Ready=True.
	//
	// Meaning: Runs can use the skill.
	//
	// Do: Nothing.
	ReasonSkillReady = "SkillReady"
)
