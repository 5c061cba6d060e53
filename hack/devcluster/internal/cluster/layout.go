// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a single-node Kubernetes as plain processes in a network and a mount
// namespace of its own, and removes it without a trace.
package cluster

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/netns"
)

// The cluster's name is that of its network namespace, its control group and its folders. Another
// name makes another cluster next to the usual one, for example to test this program without ending
// what runs in the other.
const (
	defaultName  = "motorcortex-devcluster"
	nameVariable = "MOTORCORTEX_DEVCLUSTER"
)

// The cluster's addresses. They exist in its own network namespace only and cannot clash with any
// of the machine's.
const (
	nodeName    = "devcluster"
	nodeIP      = "172.30.0.1"
	nodeAddress = nodeIP + "/24"
	apiAddress  = nodeIP + ":6443"
	podCIDR     = "10.244.0.0/16"
	nodePodCIDR = "10.244.0.0/24"
	serviceCIDR = "10.96.0.0/16"
	apiService  = "10.96.0.1"
	dnsService  = "10.96.0.10"
	dnsDomain   = "cluster.local"
	uplinkPort  = "3129"
	// preferredPort is where the API server is offered on the machine when nobody else is there, so
	// that a kubeconfig keeps working from one cluster to the next… as far as its address goes.
	preferredPort = 16443
)

// validName keeps names out of the way of path separators, and short enough for the paths of sockets.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$`)

// layout says where things are.
type layout struct {
	name string
	// state outlives a cluster in part: the container images stay.
	state string
	// run holds sockets and process records; the machine forgets it at a reboot.
	run string
	// bin holds the programs.
	bin string
}

func newLayout(bin string) (layout, error) {
	name := cmp.Or(os.Getenv(nameVariable), defaultName)
	if !validName.MatchString(name) {
		return layout{}, fmt.Errorf("%s=%q is not a name of up to 30 small letters, digits and dashes", nameVariable, name)
	}
	return layout{name: name, state: "/var/lib/" + name, run: "/run/" + name, bin: bin}, nil
}

func (l layout) namespace() netns.Namespace { return netns.Namespace{Name: l.name} }

func (l layout) program(name string) string  { return filepath.Join(l.bin, name) }
func (l layout) log(component string) string { return filepath.Join(l.state, "logs", component+".log") }
func (l layout) record(component string) string {
	return filepath.Join(l.run, "pids", component+".json")
}
func (l layout) config(file string) string { return filepath.Join(l.state, "config", file) }
func (l layout) cert(who string) string    { return filepath.Join(l.state, "pki", who+".crt") }
func (l layout) key(who string) string     { return filepath.Join(l.state, "pki", who+".key") }
func (l layout) kubeconfigOf(who string) string {
	return filepath.Join(l.state, "config", who+".kubeconfig")
}

// images is containerd's root: the one thing that "down" keeps.
func (l layout) images() string { return filepath.Join(l.state, "containerd") }

// helper is this very program, in a place that it stays in: "go run" deletes what it built.
func (l layout) helper() string { return filepath.Join(l.state, "bin", "devcluster") }

// private holds what the cluster sees instead of the machine's /run, /var/lib and /var/log.
func (l layout) private(dir string) string { return filepath.Join(l.state, "private", dir) }

func (l layout) containerdSocket() string { return filepath.Join(l.run, "containerd.sock") }
func (l layout) stateFile() string        { return filepath.Join(l.state, "cluster.json") }

// lockFile lies outside of the folders that "down" removes: a lock on a deleted file locks nobody out.
func (l layout) lockFile() string { return l.run + ".lock" }

// hostKubeconfig is for programs on the machine, insideKubeconfig for those in the cluster's network.
func (l layout) hostKubeconfig() string   { return filepath.Join(l.state, "kubeconfig") }
func (l layout) insideKubeconfig() string { return l.kubeconfigOf("admin") }
