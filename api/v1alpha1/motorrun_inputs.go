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

// ResponseFile is a file that goes with an answer.
// +kubebuilder:validation:XValidation:rule="[has(self.content), has(self.binaryContent), has(self.configMapKeyRef), has(self.artifactRef)].filter(x, x).size() == 1",message="a file has one of content, binaryContent, configMapKeyRef and artifactRef"
type ResponseFile struct {
	// path below the folder answers of the workspace, with / between folders. No part of it begins with a dot. It has 255 bytes at most.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="bytes(self).size() <= 255",message="a path has at most 255 bytes"
	// +kubebuilder:validation:Pattern=`^[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*(/[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*)*$`
	// +required
	Path string `json:"path"`
	// content of a file that is text.
	// +kubebuilder:validation:MaxLength=131072
	// +optional
	Content *string `json:"content,omitempty"`
	// binaryContent of any other file, in base64.
	// +kubebuilder:validation:MaxLength=174764
	// +optional
	BinaryContent []byte `json:"binaryContent,omitempty"`
	// configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
	// artifactRef names an artifact of another run in this namespace.
	// +optional
	ArtifactRef *ArtifactRef `json:"artifactRef,omitempty"`
}

// ConfigMapKeyRef names one key of a ConfigMap in the same namespace.
type ConfigMapKeyRef struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	Name string `json:"name"`
	// key in data or binaryData.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Key string `json:"key"`
	// digest is "sha256:…" of the content that is meant. Any other content is not put into the workspace: the ConfigMap was changed.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
}

// ArtifactRef names a file that an earlier run of the same namespace left behind.
type ArtifactRef struct {
	// runName that has it in status.result.artifacts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +required
	RunName string `json:"runName"`
	// path of the artifact, as status.result.artifacts has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Path string `json:"path"`
	// digest is "sha256:…" of the content that is meant: "sha256:" and sha256 of status.result.artifacts. Any other content is not put into the
	// workspace: the run has left another file since.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
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

// RunAcceptance is what must hold before a run counts as done. It is looked at when the model calls finish with Succeeded. The model is
// told what does not hold, and can mend it; the third time ends the attempt with AcceptanceFailed.
type RunAcceptance struct {
	// files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Files []string `json:"files,omitempty"`
	// commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
	// not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Commands []AcceptCommand `json:"commands,omitempty"`
	// valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References
	// lead to $defs of the schema itself.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	ValueSchema string `json:"valueSchema,omitempty"`
}

// AcceptCommand is a command that must end with status 0.
type AcceptCommand struct {
	// command line, run by bash -c in the workspace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`\S`
	// +required
	Command string `json:"command"`
	// timeoutSeconds until the command and everything that it started is killed, which counts as failed.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	// +default=60
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Credential is a Secret that the run may use without seeing it.
// +kubebuilder:validation:XValidation:rule="has(self.exposeToSandbox) && self.exposeToSandbox ? !has(self.hosts) || self.hosts.size() == 0 : has(self.hosts) && self.hosts.size() > 0",fieldPath=".hosts",message="a credential is bound to at least one host; only one with exposeToSandbox has none"
type Credential struct {
	// name by which the model knows it, as <credential:name>. Programs in the sandbox find a stand-in for the value in the
	// environment variable of that name in upper case.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*[a-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['path', 'home', 'user', 'logname', 'shell', 'pwd', 'oldpwd', 'lang', 'language', 'term', 'tmpdir', 'temp', 'tmp', 'ifs', 'env', 'bash_env', 'hostname', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'ftp_proxy', 'ssl_cert_file', 'ssl_cert_dir', 'curl_ca_bundle', 'requests_ca_bundle', 'aws_ca_bundle', 'pip_cert']) && !['ld_', 'motor_', 'node_', 'python', 'git_', 'lc_', 'bash_', 'npm_config_', 'dyld_', 'openssl_'].exists(p, self.startsWith(p))",message="programs give the environment variable of that name a meaning of its own: choose another name, such as service_api_key"
	// +required
	Name string `json:"name"`
	// secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on
	// that Secret.
	// +required
	SecretRef SecretKeyRef `json:"secretRef"`
	// hosts are the only ones that the value is sent to. Each must be within domains.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Hosts []Domain `json:"hosts,omitempty"`
	// slot is where in a request the value belongs.
	// +default={"type": "Bearer"}
	// +optional
	Slot CredentialSlot `json:"slot,omitzero"`
	// exposeToSandbox puts the value itself into the environment variable, for what is not HTTP. The sandbox, and with it
	// the model, can read it then. The creator of the run needs the verb approve on MotorRuns.
	// +optional
	ExposeToSandbox bool `json:"exposeToSandbox,omitempty"`
}

// SlotType is the kind of a place in a request.
// +kubebuilder:validation:Enum=Bearer;Basic;Header;Query
type SlotType string

const (
	// SlotBearer is the header Authorization with a bearer token.
	SlotBearer SlotType = "Bearer"
	// SlotBasic is the header Authorization with user:password, which is what the value has.
	SlotBasic SlotType = "Basic"
	// SlotHeader is the header of the name.
	SlotHeader SlotType = "Header"
	// SlotQuery is the parameter of the name in the query of the address.
	SlotQuery SlotType = "Query"
)

// CredentialSlot is where in a request the value of a credential belongs.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="has(self.name) == (self.type in ['Header', 'Query'])",message="name is required for the types Header and Query, and for them alone"
// +kubebuilder:validation:XValidation:rule="self.type != 'Header' || !has(self.name) || self.name.matches('^[A-Za-z0-9][A-Za-z0-9-]*$')",message="the name of a header has letters, digits and hyphens"
// +kubebuilder:validation:XValidation:rule="self.type != 'Header' || !has(self.name) || !(self.name.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'accept-encoding', 'proxy-authorization', 'proxy-connection', 'keep-alive', 'cookie', 'range', 'via', 'forwarded'])",message="that header belongs to the connection, not to a credential"
type CredentialSlot struct {
	// type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
	// +default="Bearer"
	// +optional
	Type SlotType `json:"type,omitempty"`
	// name of the header or of the parameter in the query.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	// +optional
	Name string `json:"name,omitempty"`
}

// String returns the type and, if there is one, the name, as in "Bearer" and "Header X-Api-Key". The zero value is Bearer.
func (s CredentialSlot) String() string {
	switch {
	case s.Type == "":
		return string(SlotBearer)
	case s.Name == "":
		return string(s.Type)
	}
	return string(s.Type) + " " + s.Name
}

// Requester is the user who created a run, as the API server knew them.
type Requester struct {
	// username of the user.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Username string `json:"username"`
	// groups of the user.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`
}
