// SPDX-License-Identifier: Apache-2.0

// Package component builds the programs that a cluster is made of, from the Go modules that the
// folders below components/ pin, once for each set of versions.
package component

import (
	"fmt"
	"strings"
)

// KubernetesVersion is what components/kubernetes/go.mod requires; a test keeps the two together.
const (
	KubernetesVersion = "v1.36.3"
	containerdVersion = "v2.4.2"
)

// Program is one executable to build.
type Program struct {
	// Name is the file name of the executable.
	Name string
	// Dir is the folder of the module it is built in, relative to this module's root.
	Dir string
	// Package is what to build there.
	Package string
	// Tags and LinkFlags are passed on; CGO says that it needs a C compiler.
	Tags      string
	LinkFlags string
	CGO       bool
}

// Programs lists everything that a cluster needs.
func Programs() []Program {
	programs := []Program{{Name: "pause", Dir: ".", Package: "./pause"}}
	programs = append(programs, kubernetes(
		"kube-apiserver", "kubelet", "kubectl", "kube-controller-manager", "kube-scheduler", "kube-proxy")...)
	programs = append(programs, Program{Name: "etcd", Dir: "components/etcd", Package: "go.etcd.io/etcd/server/v3"})
	programs = append(programs, containerd("containerd", "containerd-shim-runc-v2", "ctr")...)
	programs = append(programs, cni("ipam/host-local", "main/bridge", "main/loopback", "meta/portmap")...)
	return append(programs,
		Program{
			Name: "runc", Dir: "components/runc", Package: "github.com/opencontainers/runc",
			Tags: "seccomp", CGO: true,
		},
		Program{
			Name: "kube-router", Dir: "components/kube-router",
			Package: "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
		},
		Program{Name: "coredns", Dir: "components/coredns", Package: "."},
	)
}

// TestServer names the programs that tests against a plain API server need, without any node.
func TestServer() []string { return []string{"etcd", "kube-apiserver", "kubectl"} }

func kubernetes(names ...string) []Program {
	major, minor := kubernetesMinor(KubernetesVersion)
	var flags []string
	// Without these the API server calls itself v0.0.0 and clients that look at its version get lost.
	for _, pkg := range []string{"k8s.io/client-go/pkg/version", "k8s.io/component-base/version"} {
		for _, setting := range [][2]string{
			{"gitVersion", KubernetesVersion}, {"gitMajor", major}, {"gitMinor", minor}, {"gitTreeState", "archive"},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, setting[0], setting[1]))
		}
	}
	var programs []Program
	for _, name := range names {
		programs = append(programs, Program{
			Name: name, Dir: "components/kubernetes", Package: "k8s.io/kubernetes/cmd/" + name,
			LinkFlags: strings.Join(flags, " "),
		})
	}
	return programs
}

// containerdTags leave out storage drivers that need C libraries or are never used here.
const containerdTags = "no_btrfs,no_devmapper,no_zfs"

func containerd(names ...string) []Program {
	var programs []Program
	for _, name := range names {
		programs = append(programs, Program{
			Name: name, Dir: "components/containerd", Package: "github.com/containerd/containerd/v2/cmd/" + name,
			Tags: containerdTags, LinkFlags: "-X github.com/containerd/containerd/v2/version.Version=" + containerdVersion,
		})
	}
	return programs
}

func cni(paths ...string) []Program {
	var programs []Program
	for _, path := range paths {
		programs = append(programs, Program{
			Name: path[strings.LastIndexByte(path, '/')+1:], Dir: "components/containerd",
			Package: "github.com/containernetworking/plugins/plugins/" + path, Tags: containerdTags,
		})
	}
	return programs
}

// kubernetesMinor splits v1.36.3 into 1 and 36.
func kubernetesMinor(version string) (major, minor string) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return parts[0], parts[1]
}
