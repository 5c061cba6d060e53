// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"path/filepath"
	"strconv"
)

// place says which namespaces a process runs in.
type place int

const (
	// onHost is the machine's own network and mounts.
	onHost place = iota
	// founding is the cluster's network, and a mount namespace that this process is the first in.
	founding
	// inCluster is the cluster's network and mounts.
	inCluster
	// shielded is inCluster with the machine-wide kernel settings out of reach.
	shielded
)

// daemon is one long-running process of the cluster.
type daemon struct {
	name  string
	args  []string
	where place
	ready func(context.Context) error
}

// The names that other code has to know.
const (
	holderName     = "namespaces"
	apiServerName  = "kube-apiserver"
	containerdName = "containerd"
	forwardName    = "forward"
	uplinkName     = "uplink"
)

// daemons lists the cluster's processes in the order of their start.
func (c *Cluster) daemons() []daemon {
	all := []daemon{
		{name: holderName, where: founding, args: []string{c.program("pause")}, ready: c.holderReady},
	}
	all = append(all, c.controlPlane()...)
	all = append(all, c.node()...)
	self := c.helper()
	all = append(all, daemon{
		name: forwardName, where: onHost,
		args:  []string{self, verbForward, "127.0.0.1:" + strconv.Itoa(c.record.HostPort), apiAddress},
		ready: c.forwardReady,
	})
	if c.record.Uplink {
		all = append(all, daemon{
			name: uplinkName, where: onHost,
			args:  []string{self, verbUplink, nodeIP + ":" + uplinkPort},
			ready: c.listens(nodeIP + ":" + uplinkPort),
		})
	}
	return all
}

func (c *Cluster) controlPlane() []daemon {
	return []daemon{
		{name: "etcd", where: inCluster, ready: c.answers("http://127.0.0.1:2379/health"), args: []string{
			c.program("etcd"), "--name=devcluster", "--data-dir=" + filepath.Join(c.state, "etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=devcluster=http://127.0.0.1:2380",
			// Data of a cluster that every "up" makes anew need not survive a power cut.
			"--unsafe-no-fsync", "--log-level=warn",
		}},
		{name: apiServerName, where: inCluster, ready: c.apiReady, args: []string{
			c.program("kube-apiserver"), "--bind-address=0.0.0.0", "--advertise-address=" + nodeIP, "--secure-port=6443",
			"--etcd-servers=http://127.0.0.1:2379", "--service-cluster-ip-range=" + serviceCIDR,
			"--tls-cert-file=" + c.cert(apiServerName), "--tls-private-key-file=" + c.key(apiServerName),
			"--client-ca-file=" + c.cert("ca"),
			"--kubelet-client-certificate=" + c.cert("apiserver-kubelet"), "--kubelet-client-key=" + c.key("apiserver-kubelet"),
			"--kubelet-certificate-authority=" + c.cert("ca"),
			// The node's name resolves nowhere; logs and exec need its address.
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc." + dnsDomain,
			"--service-account-key-file=" + c.cert("service-accounts"),
			"--service-account-signing-key-file=" + c.key("service-accounts"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		}},
		{name: containerdName, where: inCluster, ready: c.containerdReady, args: []string{
			c.program("containerd"), "--config=" + c.config("containerd.toml"), "--log-level=info",
		}},
		{name: "kube-controller-manager", where: inCluster, ready: c.answers("https://127.0.0.1:10257/healthz"), args: []string{
			c.program("kube-controller-manager"), "--kubeconfig=" + c.kubeconfigOf("kube-controller-manager"),
			"--bind-address=127.0.0.1", "--leader-elect=false", "--use-service-account-credentials",
			"--cluster-cidr=" + podCIDR, "--allocate-node-cidrs", "--service-cluster-ip-range=" + serviceCIDR,
			"--root-ca-file=" + c.cert("ca"), "--service-account-private-key-file=" + c.key("service-accounts"),
			"--cluster-signing-cert-file=" + c.cert("ca"), "--cluster-signing-key-file=" + c.key("ca"),
		}},
		{name: "kube-scheduler", where: inCluster, ready: c.answers("https://127.0.0.1:10259/healthz"), args: []string{
			c.program("kube-scheduler"), "--kubeconfig=" + c.kubeconfigOf("kube-scheduler"),
			"--bind-address=127.0.0.1", "--leader-elect=false",
		}},
	}
}

func (c *Cluster) node() []daemon {
	return []daemon{
		{name: "kubelet", where: shielded, ready: c.nodeRegistered, args: []string{
			c.program("kubelet"), "--config=" + c.config("kubelet.yaml"), "--kubeconfig=" + c.kubeconfigOf("kubelet"),
			"--hostname-override=" + nodeName, "--node-ip=" + nodeIP, "--root-dir=" + filepath.Join(c.state, "kubelet"),
			"--cert-dir=" + filepath.Join(c.state, "kubelet", "pki"),
		}},
		{name: "kube-proxy", where: inCluster, ready: c.answers("http://127.0.0.1:10249/healthz"), args: []string{
			c.program("kube-proxy"), "--kubeconfig=" + c.kubeconfigOf("kube-proxy"), "--hostname-override=" + nodeName,
			"--proxy-mode=nftables", "--cluster-cidr=" + podCIDR,
			"--metrics-bind-address=127.0.0.1:10249", "--healthz-bind-address=127.0.0.1:10256",
			// The table of connections is the machine's, and its size is not ours to set.
			"--conntrack-max-per-core=0", "--conntrack-min=0",
		}},
		{name: "kube-router", where: inCluster, ready: c.answers("http://127.0.0.1:20244/healthz"), args: []string{
			c.program("kube-router"), "--kubeconfig=" + c.kubeconfigOf("kube-router"), "--hostname-override=" + nodeName,
			"--run-router=false", "--run-service-proxy=false", "--run-firewall=true", "--enable-cni=false",
			"--service-cluster-ip-range=" + serviceCIDR, "--health-port=20244",
		}},
		{name: "coredns", where: inCluster, ready: c.answers("http://127.0.0.1:8181/ready"), args: []string{
			c.program("coredns"), "-conf", c.config("Corefile"),
		}},
	}
}
