// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SkillState is a word for people; programs read the conditions.
// +kubebuilder:validation:Enum=PendingReview;AwaitingApproval;Approved;NeedsReapproval;Rejected;Revoked
type SkillState string

const (
	// SkillPendingReview: there is something new, and what there is to know of it is not gathered.
	SkillPendingReview SkillState = "PendingReview"
	// SkillAwaitingApproval: what there is to know is in the status, and a person can decide.
	SkillAwaitingApproval SkillState = "AwaitingApproval"
	// SkillApproved: runs may use the approved revision.
	SkillApproved SkillState = "Approved"
	// SkillNeedsReapproval: it was approved, and its content or policy is not what was approved any more, or the approval ended.
	SkillNeedsReapproval SkillState = "NeedsReapproval"
	// SkillRejected: a person does not want what is there.
	SkillRejected SkillState = "Rejected"
	// SkillRevoked: a person took the approval back.
	SkillRevoked SkillState = "Revoked"
)

// SkillStatus is what the operator knows of a skill.
type SkillStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state is a word for people.
	// +optional
	State SkillState `json:"state,omitempty"`
	// stateTime is when the skill began to have this state with this revisionName.
	// +optional
	StateTime *metav1.Time `json:"stateTime,omitempty"`
	// message says in one sentence how the skill stands.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are what programs read.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// description as the SKILL.md of revision has it.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// revisionName is the newest SkillRevision: what an approval is asked for, unless it has it.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
	// contentHash of revision.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ContentHash string `json:"contentHash,omitempty"`
	// policyHash of spec.policy.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	PolicyHash string `json:"policyHash,omitempty"`
	// source says what spec.source gave when it was last read.
	// +optional
	Source *SkillSourceStatus `json:"source,omitempty"`
	// approved is the approval as it was found in force. It is unset when the approval is revoked, has expired, or is gone.
	// +optional
	Approved *ApprovedRevision `json:"approved,omitempty"`
	// revisions are those that can be approved, the newest first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Revisions []RevisionSummary `json:"revisions,omitempty"`
	// newestDecided is the newest revision that spec.approval ever named. What runs proposed before it was passed over, and stays so
	// when an older revision is approved again or the approval goes away.
	// +optional
	NewestDecided *RevisionSummary `json:"newestDecided,omitempty"`
	// review is what the files of revision mention, against what the policy grants.
	// +optional
	Review *PolicyReview `json:"review,omitempty"`
	// packages are those of spec.policy.dependencies.
	// +optional
	Packages *SkillPackages `json:"packages,omitempty"`
	// usage counts the runs of the skill. It is written rarely.
	// +optional
	Usage SkillUsage `json:"usage,omitempty,omitzero"`
}

// SkillSourceStatus says what a source gave.
type SkillSourceStatus struct {
	// contentHash of the files.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ContentHash string `json:"contentHash,omitempty"`
	// origin is what the files were read from: the digest behind a tag, or a Git commit.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Origin string `json:"origin,omitempty"`
	// readTime is when a tag or a source object of Flux was last looked up.
	// +optional
	ReadTime *metav1.Time `json:"readTime,omitempty"`
}

// ApprovedRevision is an approval that was found to be in force.
type ApprovedRevision struct {
	// revisionName that was approved.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// contentHash of it.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// policyHash that was approved with it.
	// +kubebuilder:validation:MaxLength=71
	// +required
	PolicyHash string `json:"policyHash"`
	// sourceHash is the content of spec.source at that time, "" if there was none. When that changes to something else than
	// what is approved, the skill needs a new approval.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	SourceHash string `json:"sourceHash,omitempty"`
	// approvedBy and account as the approval has them.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Account string `json:"account,omitempty"`
	// note as the approval has it, "" if it has none. An approval with another note is another one, given in view of what the source
	// gives by then. Unset, the note is not known, and tells nothing.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Note *string `json:"note,omitempty"`
	// observedTime is when the operator found the approval in force.
	// +optional
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`
}

// RevisionSummary is a revision in the list of them.
type RevisionSummary struct {
	// name of the SkillRevision.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// contentHash of its files.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// runName that proposed it, "" if it came from spec.source.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	RunName string `json:"runName,omitempty"`
	// creationTime is when it was made.
	// +optional
	CreationTime metav1.Time `json:"creationTime,omitempty,omitzero"`
}

// PolicyReview compares what files mention with what a policy grants. It is gathered by patterns, so it can miss what is hidden well.
type PolicyReview struct {
	// revisionName whose files were looked at.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// missingDomains are mentioned by files and not granted.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=261
	// +listType=atomic
	// +optional
	MissingDomains []string `json:"missingDomains,omitempty"`
	// unusedDomains are granted and mentioned by no file.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=261
	// +listType=atomic
	// +optional
	UnusedDomains []string `json:"unusedDomains,omitempty"`
	// missingCredentials are environment variables that files mention and that no credential of the policy fills.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=atomic
	// +optional
	MissingCredentials []string `json:"missingCredentials,omitempty"`
	// unusedCredentials are granted and mentioned by no file.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	UnusedCredentials []string `json:"unusedCredentials,omitempty"`
	// missingTools are those that the files name, or use as bash, and that the policy does not grant.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	MissingTools []string `json:"missingTools,omitempty"`
	// missingPackages are those that files say to install, as in pip:requests, and that the policy does not have.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=261
	// +listType=atomic
	// +optional
	MissingPackages []string `json:"missingPackages,omitempty"`
	// findings is how many things of revision a person should look at: see the status of the SkillRevision.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Findings int32 `json:"findings,omitempty"`
}

// SkillPackages says how the packages of a skill stand.
type SkillPackages struct {
	// hash of spec.policy.dependencies and of where they are installed from.
	// +kubebuilder:validation:MaxLength=71
	// +required
	Hash string `json:"hash"`
	// runName of mode Install that installs them, or did.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	RunName string `json:"runName,omitempty"`
	// archive is what it installed, unset as long as that is not done.
	// +optional
	Archive *PackageArchive `json:"archive,omitempty"`
}

// PackageArchive is an archive of installed packages, in parts.
type PackageArchive struct {
	// configMapNames of this namespace that hold the parts, in their order.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +required
	ConfigMapNames []string `json:"configMapNames"`
	// sha256 of the whole in hexadecimal digits.
	// +kubebuilder:validation:MaxLength=64
	// +required
	SHA256 string `json:"sha256"`
	// size of the whole in bytes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size,omitempty"`
}

// SkillUsage counts the runs of a skill.
type SkillUsage struct {
	// runs that ended and used the skill as it was approved.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Runs int64 `json:"runs,omitempty"`
	// succeeded is how many of them succeeded.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Succeeded int64 `json:"succeeded,omitempty"`
	// successRate is succeeded of runs, as in 87%, for printing.
	// +kubebuilder:validation:MaxLength=8
	// +optional
	SuccessRate string `json:"successRate,omitempty"`
	// lastUsedTime is when the last of them ended.
	// +optional
	LastUsedTime *metav1.Time `json:"lastUsedTime,omitempty"`
}
