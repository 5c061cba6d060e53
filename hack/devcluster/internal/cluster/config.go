// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/pki"
)

//go:embed config
var templates embed.FS

// settings is what the templates below config/ are filled with.
type settings struct {
	Bin, Images, Socket, PauseImage, CNIDir      string
	NodeIP, NodePodCIDR, DNSService, DNSDomain   string
	CA, KubeletCert, KubeletKey, VolumePlugins   string
	CgroupRoot, CoreDNSKubeconfig, InsideAddress string
}

func (l layout) settings(pauseImage string) settings {
	return settings{
		Bin: l.bin, Images: l.images(), Socket: l.containerdSocket(), PauseImage: pauseImage,
		CNIDir: filepath.Join(l.state, "config", "cni"),
		NodeIP: nodeIP, NodePodCIDR: nodePodCIDR, DNSService: dnsService, DNSDomain: dnsDomain,
		CA: l.cert("ca"), KubeletCert: l.cert("kubelet"), KubeletKey: l.key("kubelet"),
		VolumePlugins: filepath.Join(l.state, "kubelet", "volumeplugins"),
		CgroupRoot:    "/" + l.name, CoreDNSKubeconfig: l.kubeconfigOf("coredns"),
		InsideAddress: "https://" + apiAddress,
	}
}

// configFiles renders the components' configuration, by path.
func (l layout) configFiles(pauseImage string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for from, to := range map[string]string{
		"containerd.toml": l.config("containerd.toml"),
		"kubelet.yaml":    l.config("kubelet.yaml"),
		"cni.conflist":    filepath.Join(l.state, "config", "cni", "10-devcluster.conflist"),
		"Corefile":        l.config("Corefile"),
	} {
		rendered, err := render(from, l.settings(pauseImage))
		if err != nil {
			return nil, err
		}
		files[to] = rendered
	}
	return files, nil
}

func render(file string, data settings) ([]byte, error) {
	parsed, err := template.New(file).Option("missingkey=error").
		Funcs(template.FuncMap{"quote": strconv.Quote}).ParseFS(templates, "config/"+file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// identities lists the certificates of a cluster: who proves to be whom to the API server, and which
// of them are servers.
func identities() map[string]pki.Request {
	return map[string]pki.Request{
		"admin":                   {Name: "devcluster-admin", Groups: []string{"system:masters"}},
		"kube-controller-manager": {Name: "system:kube-controller-manager"},
		"kube-scheduler":          {Name: "system:kube-scheduler"},
		"kube-proxy":              {Name: "system:kube-proxy"},
		"kube-router":             {Name: "devcluster:kube-router"},
		"coredns":                 {Name: "devcluster:coredns"},
		"apiserver-kubelet":       {Name: "devcluster:apiserver"},
		"kubelet": {
			Name: "system:node:" + nodeName, Groups: []string{"system:nodes"},
			Names: []string{nodeName, "localhost"}, IPs: []string{nodeIP, "127.0.0.1"},
		},
		"kube-apiserver": {
			Name: "kube-apiserver",
			Names: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + dnsDomain,
			},
			// 127.0.0.1 is how programs on the machine reach it, through the forwarder.
			IPs: []string{"127.0.0.1", nodeIP, apiService},
		},
	}
}

// credentialFiles makes a new authority and returns all certificates, keys and kubeconfigs, by path.
func (l layout) credentialFiles(hostPort int, now time.Time) (map[string][]byte, error) {
	authority, err := pki.NewAuthority("devcluster", now)
	if err != nil {
		return nil, err
	}
	signing, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		l.cert("ca"): authority.Cert, l.key("ca"): authority.Key,
		l.cert("service-accounts"): signing.Cert, l.key("service-accounts"): signing.Key,
	}
	for who, request := range identities() {
		pair, err := authority.Issue(request)
		if err != nil {
			return nil, err
		}
		files[l.cert(who)], files[l.key(who)] = pair.Cert, pair.Key
		files[l.kubeconfigOf(who)], err = kubeconfig("https://"+apiAddress, authority.Cert, pair)
		if err != nil {
			return nil, err
		}
		if who == "admin" {
			files[l.hostKubeconfig()], err = kubeconfig(fmt.Sprintf("https://127.0.0.1:%d", hostPort), authority.Cert, pair)
			if err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// kubeconfig is written as JSON, which every YAML reader accepts and which needs no quoting rules.
func kubeconfig(server string, ca []byte, user pki.Pair) ([]byte, error) {
	type object = map[string]any
	return json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "devcluster",
		"clusters": []object{{"name": "devcluster", "cluster": object{"server": server, "certificate-authority-data": ca}}},
		"users": []object{{"name": "devcluster", "user": object{
			"client-certificate-data": user.Cert, "client-key-data": user.Key,
		}}},
		"contexts": []object{{"name": "devcluster", "context": object{"cluster": "devcluster", "user": "devcluster"}}},
	}, "", "  ")
}

// writeFiles puts files in place; everything here is for root alone, since most of it is a secret.
func writeFiles(files ...map[string][]byte) error {
	for _, set := range files {
		for path := range maps.Keys(set) {
			if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
				return err
			}
			if err := os.WriteFile(path, set[path], 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
