// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SkillRevisionSpec is what a skill's files were at one time.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a SkillRevision never changes"
type SkillRevisionSpec struct {
	// skillName that it is a revision of.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	SkillName string `json:"skillName"`
	// contentHash is "sha256:…" of the list of the files: a line "MODE SHA256 PATH" for each, sorted by path, where MODE is 644 or 755.
	// +kubebuilder:validation:MaxLength=71
	// +required
	ContentHash string `json:"contentHash"`
	// description of SKILL.md.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// files in the order of their paths.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=path
	// +required
	Files []RevisionFile `json:"files"`
	// configMapNames hold the bytes of the files, one after the other in their order, cut into parts.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	ConfigMapNames []string `json:"configMapNames,omitempty"`
	// origin is what the files were read from: the digest behind a tag, a Git commit.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Origin string `json:"origin,omitempty"`
	// extractedFrom is the run that wrote the files, unset if they came from the skill's source.
	// +optional
	ExtractedFrom *ExtractedFrom `json:"extractedFrom,omitempty"`
}

// RevisionFile is one file of a revision.
type RevisionFile struct {
	// path in the skill's folder.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// size in bytes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	// +optional
	Size int64 `json:"size,omitempty"`
	// sha256 of the content in hexadecimal digits.
	// +kubebuilder:validation:MaxLength=64
	// +required
	SHA256 string `json:"sha256"`
	// executable says that the file is a program.
	// +optional
	Executable bool `json:"executable,omitempty"`
}

// ExtractedFrom says which run wrote the files of a revision.
type ExtractedFrom struct {
	// runName by name.
	// +kubebuilder:validation:MaxLength=63
	// +required
	RunName string `json:"runName"`
	// runUID tells it from a later one of its name.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	RunUID string `json:"runUID,omitempty"`
	// revisionName that the run began with, "" if there was none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
	// changedFiles are those that the run changed or added, deletedFiles those that it deleted.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	ChangedFiles []string `json:"changedFiles,omitempty"`
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	DeletedFiles []string `json:"deletedFiles,omitempty"`
	// sources are what the run fetched from the web before it wrote the files, the first 16.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Sources []WebSource `json:"sources,omitempty"`
	// credentials that the run saved, by name.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Credentials []string `json:"credentials,omitempty"`
}

// WebSource is something that a run fetched from the web.
type WebSource struct {
	// url without what gives access: no query, and no user.
	// +kubebuilder:validation:MaxLength=512
	// +required
	URL string `json:"url"`
	// fetchTime is when the step was recorded that fetched it.
	// +optional
	FetchTime metav1.Time `json:"fetchTime,omitempty,omitzero"`
}

// FindingKind is what a person should look at.
// +kubebuilder:validation:Enum=Secret;HiddenUnicode;Base64;Binary;Script;UnknownKey;OddValue;OddFile
type FindingKind string

const (
	// FindingSecret: something that looks like a secret.
	FindingSecret FindingKind = "Secret"
	// FindingHiddenUnicode: characters that are not visible, or that turn the direction of text.
	FindingHiddenUnicode FindingKind = "HiddenUnicode"
	// FindingBase64: a long piece that looks like base64.
	FindingBase64 FindingKind = "Base64"
	// FindingBinary: a file that is no text.
	FindingBinary FindingKind = "Binary"
	// FindingScript: a program, and what it runs.
	FindingScript FindingKind = "Script"
	// FindingUnknownKey: a key in the front matter that the standard does not have.
	FindingUnknownKey FindingKind = "UnknownKey"
	// FindingOddValue: a value in the front matter that is of another kind, or longer, than the standard has it.
	FindingOddValue FindingKind = "OddValue"
	// FindingOddFile: a file that has another meaning where it is, or that a listing does not show: a hidden one, a second SKILL.md, one
	// below artifacts or skills.
	FindingOddFile FindingKind = "OddFile"
)

// Finding is something in a file that a person should look at.
type Finding struct {
	// kind of it.
	// +required
	Kind FindingKind `json:"kind"`
	// path of the file.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Path string `json:"path"`
	// line of the file, counted from 1, 0 for all of it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Line int32 `json:"line,omitempty"`
	// message says what it is. It never has a secret.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}

// Mention is a name that a file mentions.
type Mention struct {
	// name that is mentioned: a host, or an environment variable.
	// +kubebuilder:validation:MaxLength=261
	// +required
	Name string `json:"name"`
	// paths of the files that mention it, the first of them.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Paths []string `json:"paths,omitempty"`
}

// SkillRevisionStatus is what there is to know of the files. It is gathered by the operator, by patterns.
type SkillRevisionStatus struct {
	// reviewTime is when that was gathered.
	// +optional
	ReviewTime *metav1.Time `json:"reviewTime,omitempty"`
	// reviewStarts is how often the operator began to gather that, and its process ended before it was done. After the second time
	// the files are not looked at again: see the reason ReviewSetAside of the Skill. Deleting the SkillRevision tries anew.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2
	// +optional
	ReviewStarts int32 `json:"reviewStarts,omitempty"`
	// domains that files mention.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Domains []Mention `json:"domains,omitempty"`
	// variables of the environment that files mention, but for well-known ones.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Variables []Mention `json:"variables,omitempty"`
	// packages that files say to install with pip, npm or apt, as in pip:requests.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Packages []Mention `json:"packages,omitempty"`
	// tools of the operator that SKILL.md names in allowed-tools, in its own words, and bash if shell names a file. They grant nothing:
	// they are what to put into the policy.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	Tools []string `json:"tools,omitempty"`
	// shell has the files, the first four of them, that are shell scripts or have blocks for a shell.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Shell []string `json:"shell,omitempty"`
	// findings are things that a person should look at.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Findings []Finding `json:"findings,omitempty"`
	// omitted is how many further mentions and findings there are.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
	// advice is what a model said about the files in the first run with skillReview that looked at them. It decides nothing, and stays.
	// +optional
	Advice *RevisionAdvice `json:"advice,omitempty"`
	// latestAdvice is what a model said in the newest such run, unset if there was only one.
	// +optional
	LatestAdvice *RevisionAdvice `json:"latestAdvice,omitempty"`
}

// RevisionAdvice is what a model said about the files.
type RevisionAdvice struct {
	// runName that asked it.
	// +kubebuilder:validation:MaxLength=63
	// +required
	RunName string `json:"runName"`
	// requestedBy is who made the run, "" if the cluster does not stamp that.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// text of the model. It may have been told by the files what to say.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Text string `json:"text,omitempty"`
	// adviceTime is when the run ended.
	// +optional
	AdviceTime metav1.Time `json:"adviceTime,omitempty,omitzero"`
}

// SkillRevision is a snapshot of a skill's files. The operator makes it, and it never changes.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=srev,categories=motor
// +kubebuilder:printcolumn:name="Skill",type=string,JSONPath=`.spec.skillName`
// +kubebuilder:printcolumn:name="Content",type=string,JSONPath=`.spec.contentHash`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.spec.extractedFrom.runName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SkillRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SkillRevisionSpec `json:"spec"`
	// +optional
	Status SkillRevisionStatus `json:"status,omitempty,omitzero"`
}

// SkillRevisionList is a list of SkillRevision.
// +kubebuilder:object:root=true
type SkillRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SkillRevision `json:"items"`
}
