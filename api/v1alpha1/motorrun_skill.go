// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SkillRef names the skill that a run uses.
type SkillRef struct {
	// name of the Skill in this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
}

// RunInput is a value for an input of the skill.
type RunInput struct {
	// name of the input.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// value, in the form that its type has in JSON, without quotes: 3, true, some text.
	// +kubebuilder:validation:MaxLength=8192
	// +required
	Value string `json:"value"`
}

// SkillExtraction says after which runs the skills in the workspace are kept as proposals.
// +kubebuilder:validation:Enum=OnSuccess;Always;Never
type SkillExtraction string

const (
	// ExtractOnSuccess: after a run that succeeded.
	ExtractOnSuccess SkillExtraction = "OnSuccess"
	// ExtractAlways: also after one that failed, ran out of its time or was cancelled, if its sandbox still answers.
	ExtractAlways SkillExtraction = "Always"
	// ExtractNever: after none.
	ExtractNever SkillExtraction = "Never"
)

// RunSkill is the skill of a run as it was when the run was accepted. It never changes after that.
type RunSkill struct {
	// name of the Skill.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName whose files the run has.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// contentHash of the revision.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// policyHash of the policy that applies, "" if none does.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	PolicyHash string `json:"policyHash,omitempty"`
	// approved says that the skill was approved, so that its policy applies. Otherwise the run has what its own spec says and
	// nothing of the policy but inputs.
	// +optional
	Approved bool `json:"approved,omitempty"`
	// policy that applies.
	// +optional
	Policy *SkillPolicy `json:"policy,omitempty"`
	// packages that the sandbox has.
	// +optional
	Packages *PackageArchive `json:"packages,omitempty"`
}

// SkillsResult says what became of the skills that the workspace held when the run ended.
type SkillsResult struct {
	// created are new Skills.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Created []ProposedSkill `json:"created,omitempty"`
	// updated are Skills that have a new revision to be reviewed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Updated []ProposedSkill `json:"updated,omitempty"`
	// rejected are folders that were not taken.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=path
	// +optional
	Rejected []RejectedSkill `json:"rejected,omitempty"`
}

// ProposedSkill is a skill that a run wrote or changed.
type ProposedSkill struct {
	// name of the Skill.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Name string `json:"name"`
	// revisionName that holds what the run wrote.
	// +kubebuilder:validation:MaxLength=253
	// +required
	RevisionName string `json:"revisionName"`
	// changedFiles is how many files were changed or added, deletedFiles how many were deleted.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ChangedFiles int32 `json:"changedFiles,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	DeletedFiles int32 `json:"deletedFiles,omitempty"`
}

// RejectedSkill is a folder that was not taken for a skill.
type RejectedSkill struct {
	// path of the folder in the workspace, "." for the workspace itself.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// message says why.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}
