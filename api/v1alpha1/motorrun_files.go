// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Code is a program.
type Code struct {
	// language of the source.
	// +kubebuilder:validation:Enum=javascript;python
	// +required
	Language string `json:"language"`
	// source is the program.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +required
	Source string `json:"source"`
	// timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=30000
	// +optional
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`
	// purpose says for people why the code is run. kubectl get -o wide shows it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Purpose string `json:"purpose,omitempty"`
	// expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two: status.result.summary
	// repeats the description.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ExpectedOutput string `json:"expectedOutput,omitempty"`
}

// InputFile is a file for the workspace.
// +kubebuilder:validation:XValidation:rule="[has(self.content), has(self.configMapKeyRef), has(self.artifactRef)].filter(x, x).size() == 1",message="a file has one of content, configMapKeyRef and artifactRef"
type InputFile struct {
	// path in the workspace, with / between folders.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^/\x00-\x1f\x7f]+(/[^/\x00-\x1f\x7f]+)*$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(p, p == '..' || p == '.')",message="a path stays in the workspace: no . or .. in it"
	// +kubebuilder:validation:XValidation:rule="self != '.motor' && !self.startsWith('.motor/')",message="the folder .motor is the operator's"
	// +required
	Path string `json:"path"`
	// content of the file.
	// +kubebuilder:validation:MaxLength=262144
	// +optional
	Content *string `json:"content,omitempty"`
	// configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
	// artifactRef names an artifact of an earlier run in this namespace.
	// +optional
	ArtifactRef *ArtifactRef `json:"artifactRef,omitempty"`
}

// ConfigMapKeyRef names one key of a ConfigMap in the same namespace.
type ConfigMapKeyRef struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// key in data or binaryData.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`
}

// ArtifactRef names a file that an earlier run of the same namespace left behind.
type ArtifactRef struct {
	// runName that has it in status.result.artifacts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +required
	RunName string `json:"runName"`
	// path of the artifact, as status.result.artifacts has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Path string `json:"path"`
}

// RunKeep is what of a run's workspace is kept. Skills that the run wrote are proposed as extractSkills says, whatever is kept.
// +kubebuilder:validation:Enum=Changes;Artifacts;Nothing
type RunKeep string

const (
	// KeepChanges: the artifacts, and as the artifact workspace.diff what changed in the workspace against what was given. A review
	// of a skill changes nothing, and has no diff.
	KeepChanges RunKeep = "Changes"
	// KeepArtifacts: the files below artifacts/ and those that the model saved by name.
	KeepArtifacts RunKeep = "Artifacts"
	// KeepNothing: no file.
	KeepNothing RunKeep = "Nothing"
)

// ArtifactSkipped says why a file is listed and not kept.
// +kubebuilder:validation:Enum=TooLarge;LimitReached;SecretFound;NotRegular;Unreadable;NotStored
type ArtifactSkipped string

const (
	// SkippedTooLarge: larger than a file may be, or than an object holds where the manager has no bucket.
	SkippedTooLarge ArtifactSkipped = "TooLarge"
	// SkippedLimitReached: with it the run's artifacts would be more than are kept.
	SkippedLimitReached ArtifactSkipped = "LimitReached"
	// SkippedSecretFound: it holds what looks like a secret.
	SkippedSecretFound ArtifactSkipped = "SecretFound"
	// SkippedNotRegular: a symbolic link, device, pipe or socket.
	SkippedNotRegular ArtifactSkipped = "NotRegular"
	// SkippedUnreadable: it could not be read, or kept changing.
	SkippedUnreadable ArtifactSkipped = "Unreadable"
	// SkippedNotStored: the cluster, or the manager's bucket, did not take it.
	SkippedNotStored ArtifactSkipped = "NotStored"
)

// Artifact is a file that a run leaves behind.
type Artifact struct {
	// path in the workspace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Path string `json:"path"`
	// size in bytes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size,omitempty"`
	// mediaType by its name and its first bytes.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	MediaType string `json:"mediaType,omitempty"`
	// sha256 of the content in hexadecimal digits.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// provenance is Web if the content may come from the web.
	// +kubebuilder:validation:Enum=Web;Internal
	// +optional
	Provenance string `json:"provenance,omitempty"`
	// configMapName in this namespace whose key "content" has it: text in data, other content in binaryData.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ConfigMapName string `json:"configMapName,omitempty"`
	// objectKey is the key of it in the manager's bucket.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ObjectKey string `json:"objectKey,omitempty"`
	// skipped says why it is not kept.
	// +optional
	Skipped ArtifactSkipped `json:"skipped,omitempty"`
	// message says more about that.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}

// ArtifactList is what the workspace held for the result at one time.
type ArtifactList struct {
	// files in the order of their paths: 32 of the workspace, and workspace.diff.
	// +kubebuilder:validation:MaxItems=33
	// +listType=map
	// +listMapKey=path
	// +optional
	Files []Artifact `json:"files,omitempty"`
	// omitted is how many further files there were.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}
