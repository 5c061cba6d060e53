// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testLayout is a cluster that exists on paper only.
func testLayout(t *testing.T) layout {
	t.Helper()
	dir := t.TempDir()
	return layout{
		name: "test", bin: "/opt/bin", state: filepath.Join(dir, "state"), run: filepath.Join(dir, "run"),
	}
}

func TestConfigFiles(t *testing.T) {
	l := testLayout(t)
	files, err := l.configFiles("example.com/pause:1")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string][]string{
		l.config("containerd.toml"): {
			"root = \"" + l.images() + "\"", "sandbox = \"example.com/pause:1\"", "restrict_oom_score_adj = true",
			"SystemdCgroup = false", "bin_dirs = [\"/opt/bin\"]",
		},
		l.config("kubelet.yaml"): {
			"failCgroupV1: false", "cgroupDriver: cgroupfs", "cgroupRoot: \"/test\"", "enforceNodeAllocatable: [pods]",
			"clusterDNS: [\"10.96.0.10\"]", "containerRuntimeEndpoint: \"unix://" + l.containerdSocket() + "\"",
		},
		l.config("Corefile"): {"bind 172.30.0.1", "kubeconfig " + l.kubeconfigOf("coredns")},
		filepath.Join(l.state, "config", "cni", "10-devcluster.conflist"): {`"subnet": "10.244.0.0/24"`},
	}
	for path, parts := range wanted {
		for _, part := range parts {
			if !strings.Contains(string(files[path]), part) {
				t.Errorf("%s lacks %q:\n%s", path, part, files[path])
			}
		}
	}
	if len(files) != len(wanted) {
		t.Errorf("%d files, want %d", len(files), len(wanted))
	}
	var network any
	if err := json.Unmarshal(files[filepath.Join(l.state, "config", "cni", "10-devcluster.conflist")], &network); err != nil {
		t.Errorf("the CNI configuration is not JSON: %v", err)
	}
}

func TestServerCertificates(t *testing.T) {
	l := testLayout(t)
	now := time.Now()
	files, err := l.credentialFiles(16443, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files[l.cert("ca")]) {
		t.Fatal("no authority")
	}
	cases := map[string][]string{
		"kube-apiserver": {"127.0.0.1", "172.30.0.1", "10.96.0.1", "localhost", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		"kubelet":        {"172.30.0.1", "127.0.0.1", "devcluster"},
	}
	for who, names := range cases {
		cert := parse(t, files[l.cert(who)])
		for _, name := range names {
			_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
			if err != nil {
				t.Errorf("%s is not good for %s: %v", who, name, err)
			}
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "192.0.2.1"}); err == nil {
			t.Errorf("%s is good for an address that is not its own", who)
		}
	}
}

func TestClientCertificates(t *testing.T) {
	l := testLayout(t)
	files, err := l.credentialFiles(16443, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		name   string
		groups []string
	}{
		"admin":          {name: "devcluster-admin", groups: []string{"system:masters"}},
		"kubelet":        {name: "system:node:devcluster", groups: []string{"system:nodes"}},
		"kube-scheduler": {name: "system:kube-scheduler"},
		"kube-router":    {name: "devcluster:kube-router"},
	}
	for who, want := range cases {
		cert := parse(t, files[l.cert(who)])
		if cert.Subject.CommonName != want.name || !slices.Equal(cert.Subject.Organization, want.groups) {
			t.Errorf("%s is %s of %v, want %s of %v", who, cert.Subject.CommonName, cert.Subject.Organization, want.name, want.groups)
		}
		if !slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
			t.Errorf("%s is no client certificate", who)
		}
		if _, err := tls.X509KeyPair(files[l.cert(who)], files[l.key(who)]); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
}

func TestKubeconfigs(t *testing.T) {
	l := testLayout(t)
	files, err := l.credentialFiles(16443, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		l.hostKubeconfig():           "https://127.0.0.1:16443",
		l.insideKubeconfig():         "https://172.30.0.1:6443",
		l.kubeconfigOf("kubelet"):    "https://172.30.0.1:6443",
		l.kubeconfigOf("coredns"):    "https://172.30.0.1:6443",
		l.kubeconfigOf("kube-proxy"): "https://172.30.0.1:6443",
	}
	for path, want := range cases {
		var config struct {
			Clusters []struct {
				Cluster struct{ Server string }
			}
		}
		if err := json.Unmarshal(files[path], &config); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if diff := cmp.Diff(want, config.Clusters[0].Cluster.Server); diff != "" {
			t.Errorf("%s: server (-want +got):\n%s", path, diff)
		}
	}
}

func TestNames(t *testing.T) {
	cases := map[string]bool{
		"": true, "motorcortex-test": true, "a": true,
		"../etc": false, "a/b": false, "-a": false, "a-": false, "Upper": false,
		strings.Repeat("a", 31): false, strings.Repeat("a", 30): true,
	}
	for name, valid := range cases {
		t.Setenv(nameVariable, name)
		l, err := newLayout("")
		if (err == nil) != valid {
			t.Errorf("newLayout() for %q: %v", name, err)
		}
		if name == "" && l.name != defaultName {
			t.Errorf("the default name is %q", l.name)
		}
		// The kernel takes socket paths of at most 107 bytes.
		if err == nil && len(l.containerdSocket()+".ttrpc") > 107 {
			t.Errorf("the socket's path is too long: %s", l.containerdSocket())
		}
	}
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
