// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// MaxProbeTargets is the most targets of a probe. Tool servers of the first release accept as many.
const MaxProbeTargets = 64

// ProbeRequest asks the tool server to try connections that must not succeed.
type ProbeRequest struct {
	// Targets are 1 to MaxProbeTargets.
	Targets []ProbeTarget `json:"targets"`
	// TimeoutMs bounds each try, 1 to 5000.
	TimeoutMs int32 `json:"timeoutMs"`
}

// ProbeManager is the name of the target that is a replica of the manager: its own address, where it certainly listens.
const ProbeManager = "the manager"

// Digest returns the SHA-256 of the networks and addresses of the targets, in hex. Two requests with the same digest try the same. One replica of the
// manager is as good as another one, so its address does not count.
func (r ProbeRequest) Digest() string {
	h := sha256.New()
	for _, t := range r.Targets {
		address := t.Address
		if t.Name == ProbeManager {
			address = t.Name
		}
		_, _ = fmt.Fprintf(h, "%s %s\n", t.Network, address)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ProbeTarget is one address to try.
type ProbeTarget struct {
	// Name is for people, "API server".
	Name string `json:"name"`
	// Network is "tcp" or "udp". Use an address with a known listener: an established
	// tcp connection counts, or a datagram that comes back to the DNS query that is sent to a udp target. A refusal
	// counts as blocked, because many firewalls refuse in the host's name.
	Network string `json:"network"`
	// Address is host:port with an IP address.
	Address string `json:"address"`
}

// ProbeResponse has one result per target, in the order of the request.
type ProbeResponse struct {
	Results []ProbeResult `json:"results"`
	// Nearby are the server's additional tries: addresses that it found on the sandbox's own network, by the addresses of the link,
	// broadcast and multicast.
	Nearby []NearbyResult `json:"nearby,omitempty"`
	// Confinement describes how programs are confined. A server that does not send it has no filter of system calls.
	Confinement *Confinement `json:"confinement,omitempty"`
}

// Probed describes the last probes in a row that had the same targets and reached nothing.
type Probed struct {
	// Targets is the Digest of their request, "" from a tool server that does not report it.
	Targets string `json:"targets,omitempty"`
	// Tries is how many they are.
	Tries int32 `json:"tries"`
	// OverMs is the time from the end of the first of them to the beginning of the last, in milliseconds.
	OverMs int64 `json:"overMs"`
	// Confinement describes how programs are confined.
	Confinement *Confinement `json:"confinement"`
}

// Open returns the names of the addresses that were reached and must not be. Nearby addresses count if programs have sockets of their family.
// Otherwise the kernel blocks them and there may be no policy, as for the link-local IPv6 addresses of Pods in an IPv4 cluster.
func (r *ProbeResponse) Open() []string {
	var open []string
	for _, t := range r.Results {
		if t.Reached {
			open = append(open, t.Name)
		}
	}
	for _, n := range r.Nearby {
		if n.Reached && (r.Confinement == nil || !slices.Contains(r.Confinement.Denied, n.Family)) {
			open = append(open, n.Name)
		}
	}
	if r.Confinement != nil {
		for _, address := range r.Confinement.Listening {
			open = append(open, "from outside its own tool server at "+address)
		}
	}
	return open
}

// Families of addresses.
const (
	FamilyIPv4 = "IPv4"
	FamilyIPv6 = "IPv6"
)

// NearbyResult is one try of an address that the server found by itself.
type NearbyResult struct {
	// Family is FamilyIPv4 or FamilyIPv6.
	Family string `json:"family"`
	ProbeResult
}

// Confinement describes how the kernel confines programs of the sandbox.
type Confinement struct {
	// Families are those in which programs can open sockets. The kernel refuses all others.
	Families []string `json:"families"`
	// Denied are the families of the sandbox's addresses in which programs can open no sockets.
	Denied []string `json:"denied,omitempty"`
	// Listening are addresses of denied families at which the sandbox can still be reached.
	Listening []string `json:"listening,omitempty"`
	// Refused is why no program can be started, "" if one can.
	Refused string `json:"refused,omitempty"`
	// Landlock reports whether Landlock bars programs from the server's files and from sending it signals.
	Landlock bool `json:"landlock"`
	// ProcessLimit reports whether a limit of the number of processes can be seen.
	ProcessLimit bool `json:"processLimit"`
}

// ProbeResult reports whether a target could be reached.
type ProbeResult struct {
	Name    string `json:"name"`
	Reached bool   `json:"reached"`
	// Detail is the error of the try, for people.
	Detail string `json:"detail,omitempty"`
}
