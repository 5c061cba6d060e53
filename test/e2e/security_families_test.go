// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// hears is a Pod that listens on every address of every family, and says what it hears.
const hears = `
import socket, threading
t = socket.create_server(("::", 9000), family=socket.AF_INET6, dualstack_ipv6=True)
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0); u.bind(("::", 9000))
def datagrams():
    while True: print("heard", u.recvfrom(100)[0].decode(), flush=True)
threading.Thread(target=datagrams, daemon=True).start()
print("listens", flush=True)
while True:
    c, _ = t.accept(); c.settimeout(5)
    try: print("heard", c.recv(100).decode(), flush=True)
    except OSError: pass
    c.close()
`

// reaches tries a Pod, and everything else that it finds on its network, by the addresses that no plugin gave. It needs no knowledge
// but an address to make the kernel learn of its neighbours.
const reaches = `
import socket, sys, os, resource
name, victim = sys.argv[1], sys.argv[2]
def attempt(what, f):
    try: f(); print("reached", what)
    except OSError: pass
def tcp(family, to, text):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(1); s.connect(to); s.sendall(text.encode())
def udp(family, to, text):
    s = socket.socket(family, socket.SOCK_DGRAM)
    try: s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    except OSError: pass
    s.sendto(text.encode(), to)
base = victim.rsplit(".", 1)[0]
socks = []
for i in range(1, 40):
    s = socket.socket(); s.setblocking(False); s.connect_ex((base + "." + str(i), 9)); socks.append(s)
attempt("the Pod by its address", lambda: tcp(socket.AF_INET, (victim, 9000), name + "-four"))
for line in open("/proc/net/arp").readlines()[1:]:
    f = line.split(); m = [int(x, 16) for x in f[3].split(":")]
    if not any(m): continue
    ip = "fe80::%02x%02x:%02xff:fe%02x:%02x%02x" % (m[0] ^ 2, m[1], m[2], m[3], m[4], m[5])
    try: index = int(open("/sys/class/net/%s/ifindex" % f[5]).read())
    except OSError: index = 2
    for port in (9000, 6443, 10250, 8080, 8081, 3128, 8443):
        attempt("%s (%s) port %d" % (ip, f[0], port), lambda: tcp(socket.AF_INET6, (ip, port, 0, index), name + "-six"))
for index in (2, 3, 4):
    try: udp(socket.AF_INET6, ("ff02::1", 9000, 0, index), name + "-all")
    except OSError: pass
for to in (base + ".255", "255.255.255.255", "224.0.0.1"):
    try: udp(socket.AF_INET, (to, 9000), name + "-broadcast")
    except OSError: pass
for family in (socket.AF_PACKET, socket.AF_NETLINK, socket.AF_VSOCK):
    attempt("a socket of family %d" % family, lambda: socket.socket(family, socket.SOCK_RAW))
def metadata():
    s = socket.create_connection(("169.254.169.254", 80), 5); s.sendall(("GET /%s HTTP/1.0\r\n\r\n" % name).encode()); s.recv(100)
attempt("the metadata of the node", metadata)
if name == "sandbox":
    for port in (6443, 10250): attempt("169.254.169.254 port %d" % port, lambda: tcp(socket.AF_INET, ("169.254.169.254", port), name))
    attempt("the limits of process 1", lambda: resource.prlimit(1, resource.RLIMIT_FSIZE, (16, 16)))
    attempt("the priority of process 1", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
    attempt("the scheduler of process 1", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
print("tried")
`

// enters connects to the ports of a sandbox by the address of its link.
const enters = `
import socket, sys
s = socket.socket(); s.settimeout(1); s.connect_ex((sys.argv[1], 8443))
for line in open("/proc/net/arp").readlines()[1:]:
    f = line.split(); m = [int(x, 16) for x in f[3].split(":")]
    if f[0] != sys.argv[1] or not any(m): continue
    ip = "fe80::%02x%02x:%02xff:fe%02x:%02x%02x" % (m[0] ^ 2, m[1], m[2], m[3], m[4], m[5])
    for port in (8443, 9001):
        s = socket.socket(socket.AF_INET6); s.settimeout(1)
        try: s.connect((ip, port, 0, int(open("/sys/class/net/%s/ifindex" % f[5]).read()))); print("entered", port)
        except OSError: pass
    print("tried")
`

// A cluster of IPv4 gives each Pod an IPv6 address of its link as well, before which a plugin of IPv4 has no wall.
func TestSecurityOtherFamilies(t *testing.T) {
	t.Parallel()
	victim, ordinary := startListener(t, "victim"), startListener(t, "ordinary")
	reached, stderr, err := tryKubectl(t.Context(), "", "-n", ordinary.Namespace, "exec", ordinary.Name, "--", "python3", "-c", reaches, "ordinary", victim.Status.PodIP)
	script := "cat > reaches.py <<'END'\n" + reaches + "END\npython3 -c 'import socket; socket.socket(socket.AF_INET6)' 2>&1 | tail -1\n" +
		"python3 reaches.py sandbox " + victim.Status.PodIP + "\n"
	done := wantCompleted(t, startRun(t, "case", withScript("case.sh", script)), 2*soon)
	wantSaid(t, done, 0, "OSError: [Errno 97] Address family not supported by protocol", "tried")
	wantCondition(t, done, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified)
	if m := condition(done, v1alpha1.ConditionIsolationVerified).Message; !strings.Contains(m, "tried over IPv4") {
		t.Errorf("the families are not named: %s", m)
	}
	wantCondition(t, done, v1alpha1.ConditionConfined, metav1.ConditionTrue, v1alpha1.ReasonConfined)
	heard := kubectl(t, "-n", victim.Namespace, "logs", victim.Name)
	if strings.Contains(heard, "sandbox") {
		t.Errorf("the foreign Pod heard the sandbox:\n%s", heard)
	}
	asked := requestsTo("metadata")
	if slices.ContainsFunc(asked, func(r received) bool { return r.path == "/sandbox" }) {
		t.Error("the sandbox got through to the address at which clouds have the credentials of a node")
	}
	if !strings.Contains(reached, "reached the metadata of the node") || !slices.ContainsFunc(asked, func(r received) bool { return r.path == "/ordinary" }) {
		t.Errorf("an ordinary Pod does not get to that address either: %v\n%s\n%s\n%+v", err, reached, stderr, asked)
	}
	// Without this the silence of the sandbox would mean nothing.
	if !strings.Contains(heard, "ordinary-six") {
		t.Errorf("an ordinary Pod does not get through by the address of the link either:\n%s", heard)
	}

	waiting := awaitQuestion(t, startRun(t, "case-ask", withScript("case.sh", "python3 -m http.server --bind :: 9001 >/dev/null 2>&1 & echo began"), withScript("after.sh", "true")))
	entered := kubectl(t, "-n", victim.Namespace, "exec", victim.Name, "--", "python3", "-c", enters, waiting.Status.Sandbox.PodIP)
	if strings.TrimSpace(entered) != "tried" {
		t.Errorf("a foreign Pod tried the sandbox by the address of its link: %q", entered)
	}
}

// startListener starts a Pod of somebody else's, to which a NetworkPolicy lets nothing in.
func startListener(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	ns := newNamespace(t, name)
	must(t, suite.client.Create(t.Context(), &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "closed"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}},
	}))
	return startPod(t, ns, name, hears)
}

// startPod starts a Pod of somebody else's that runs a program of Python.
func startPod(t *testing.T, namespace, name, program string) *corev1.Pod {
	t.Helper()
	no := new(false)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: no, TerminationGracePeriodSeconds: ptr.To[int64](1),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: ptr.To[int64](65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: name, Image: suite.sandboxImage, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"python3", "-u", "-c", program},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	must(t, suite.client.Create(t.Context(), pod))
	key := client.ObjectKeyFromObject(pod)
	must(t, await(t.Context(), soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		err := suite.client.Get(ctx, key, pod)
		return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "", err
	}))
	return pod
}
