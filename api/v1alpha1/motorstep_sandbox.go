// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StepSandbox names the sandbox of a step so exactly that no other can take its place.
type StepSandbox struct {
	// podUID of the sandbox Pod.
	// +kubebuilder:validation:MaxLength=64
	// +required
	PodUID string `json:"podUID"`
	// serverKey is "sha256:…" of the tool server's public key, pinned at the first handshake.
	// +kubebuilder:validation:MaxLength=80
	// +optional
	ServerKey string `json:"serverKey,omitempty"`
	// isolationTries is how many times in a row every forbidden address was seen to be blocked.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IsolationTries int32 `json:"isolationTries,omitempty"`
	// isolationMilliseconds is how long it took, from the first try, until they were all blocked.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IsolationMilliseconds int64 `json:"isolationMilliseconds,omitempty"`
	// proofTime is when its isolation was proved last.
	// +optional
	ProofTime *metav1.Time `json:"proofTime,omitempty"`
	// open names the forbidden addresses that it could reach, where the manager was told to go on all the same.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=atomic
	// +optional
	Open []string `json:"open,omitempty"`
	// families are the families of addresses that were tried, and of which programs get sockets.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	// +optional
	Families []AddressFamily `json:"families,omitempty"`
	// deniedFamilies are those that the sandbox has addresses of, and programs no sockets: the kernel refuses them.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	// +optional
	DeniedFamilies []AddressFamily `json:"deniedFamilies,omitempty"`
	// unconfined are the walls within the sandbox that its node does not have.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Unconfined []MissingWall `json:"unconfined,omitempty"`
	// mcp are the MCP servers whose tools the model was told of.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=server
	// +optional
	MCP []MCPPin `json:"mcp,omitempty"`
}

// AddressFamily is a family of addresses.
// +kubebuilder:validation:Enum=IPv4;IPv6
type AddressFamily string

// Families of addresses.
const (
	FamilyIPv4 AddressFamily = "IPv4"
	FamilyIPv6 AddressFamily = "IPv6"
)

// MissingWall is a wall within the sandbox that its node does not have.
// +kubebuilder:validation:Enum=Landlock;ProcessLimit
type MissingWall string

// Walls within a sandbox.
const (
	// WithoutLandlock: the kernel has no Landlock, and programs reach the files of the tool server.
	WithoutLandlock MissingWall = "Landlock"
	// WithoutProcessLimit: no limit of the number of processes can be seen in the sandbox.
	WithoutProcessLimit MissingWall = "ProcessLimit"
)

// MCPPin says which tools of an MCP server the model is told of.
type MCPPin struct {
	// server is the name in spec.mcpServers.
	// +kubebuilder:validation:MaxLength=24
	// +required
	Server string `json:"server"`
	// digest is "sha256:…" of names, descriptions and schemas of its tools. A server that describes them otherwise later is
	// not used any more.
	// +kubebuilder:validation:MaxLength=71
	// +required
	Digest string `json:"digest"`
}
