// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/scripts"
)

func TestASandboxReachesNothing(t *testing.T) {
	t.Parallel()
	neighbour := awaitQuestion(t, startRun(t, "ask"))
	targets := findTargets(t, neighbour)
	list := targetList(targets)
	probe := startProbe(t, targets)

	run := startRun(t, "isolation", func(r *v1alpha1.MotorRun) {
		r.Spec.Files = []v1alpha1.InputFile{{Path: "targets.txt", Content: &list}}
	})
	done := wantCompleted(t, run, 2*soon)
	wantCondition(t, done, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified)
	journal := wantWholeJournal(t, done)
	for i, program := range []string{"bash", "python", "node", "names"} {
		want := fmt.Sprintf("tried %d", len(targets))
		if program == "names" {
			want = "tried 3"
		}
		r := journal[i].Status.Results[0]
		if got := strings.TrimSpace(r.Output); got != want {
			t.Errorf("%s in the sandbox (%s) said, want only %q:\n%s", program, r.ErrorCode, want, got)
		}
	}
	wantNoPrivileges(t, done, journal[4].Status.Results[0])
	wantNoWayToTheClusterInThePod(t, neighbour)
	wantProgramsThatWork(t, probe, targets)
}

// target is an address that no sandbox may reach.
type target struct {
	name, network, ip string
	port              int32
	// answers reports whether any other Pod gets an answer from it, nil if that depends on the cluster.
	answers *bool
}

// targetList is the file that the programs of the script read.
func targetList(targets []target) string {
	var b strings.Builder
	for _, x := range targets {
		fmt.Fprintf(&b, "%s %s %s %d\n", x.name, x.network, x.ip, x.port)
	}
	return b.String()
}

func findTargets(t *testing.T, neighbour *v1alpha1.MotorRun) []target {
	t.Helper()
	ctx, yes, no := t.Context(), new(true), new(false)
	api, dns, model := service(t, "default", "kubernetes"), service(t, "kube-system", "kube-dns"), service(t, suite.namespace, modelServer)
	targets := []target{
		{"api-service", "tcp", api.Spec.ClusterIP, 443, yes},
		{"dns-service-tcp", "tcp", dns.Spec.ClusterIP, 53, yes},
		{"dns-service-udp", "udp", dns.Spec.ClusterIP, 53, yes},
		{"model-service", "tcp", model.Spec.ClusterIP, 8080, yes},
		{"neighbour", "tcp", neighbour.Status.Sandbox.PodIP, toolapi.Port, no},
		{"kubelet", "tcp", neighbour.Status.Sandbox.NodeIP, 10250, nil},
		{"metadata", "tcp", "169.254.169.254", 80, nil},
		{"outside-tcp", "tcp", "192.0.2.1", 443, no},
		{"outside-udp", "udp", "192.0.2.1", 53, no},
	}
	for _, of := range []struct {
		name, namespace, service string
		answers                  *bool
	}{
		{"api-endpoint", "default", "kubernetes", nil},
		{"dns-endpoint", "kube-system", "kube-dns", nil},
		{"model-pod", suite.namespace, modelServer, yes},
	} {
		var slices discoveryv1.EndpointSliceList
		must(t, suite.client.List(ctx, &slices, client.InNamespace(of.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: of.service}))
		for _, s := range slices.Items {
			for _, e := range s.Endpoints {
				for _, p := range s.Ports {
					network := strings.ToLower(string(*p.Protocol))
					targets = append(targets, target{of.name + "-" + network, network, e.Addresses[0], *p.Port, of.answers})
				}
			}
		}
	}
	managers, err := managerPods(ctx)
	must(t, err)
	for i, m := range managers {
		n := strconv.Itoa(i)
		targets = append(targets, target{"manager-health-" + n, "tcp", m.Status.PodIP, 8081, yes}, target{"manager-metrics-" + n, "tcp", m.Status.PodIP, 8443, yes})
	}
	if len(targets) < 15 {
		t.Fatalf("only %d targets were found: %+v", len(targets), targets)
	}
	return targets
}

func service(t *testing.T, namespace, name string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	must(t, suite.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s))
	return s
}

// startProbe runs the programs of the script in a Pod that is no sandbox. It has the labels of a manager, which must not
// help it in this namespace.
func startProbe(t *testing.T, targets []target) *corev1.Pod {
	t.Helper()
	programs := probePrograms(t)
	var answering []string
	for _, x := range targets {
		if x.answers != nil && *x.answers {
			answering = append(answering, x.name)
		}
	}
	no := new(false)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, GenerateName: "probe-", Labels: managerLabels},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: no, TerminationGracePeriodSeconds: ptr.To[int64](1),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: ptr.To[int64](65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: suite.sandboxImage, ImagePullPolicy: corev1.PullIfNotPresent, WorkingDir: "/tmp",
				// A program gives a connection a second, which a busy node does not always keep: it tries again what must answer.
				Command: []string{"bash", "-c", `printf %s "$TARGETS" > targets.txt
run() {
  echo "== $1"; shift
  for round in $(seq 20); do
    "$@" | tee -a said
    missing=; for name in $ANSWERING; do grep -qx "reached $name" said || missing=yes; done
    [ -n "$missing" ] || break
  done
  rm said
}
run bash bash -c "$BASH_PROGRAM"; run python python3 -c "$PYTHON_PROGRAM"; run node node -e "$NODE_PROGRAM"`},
				Env: []corev1.EnvVar{
					{Name: "TARGETS", Value: targetList(targets)}, {Name: "ANSWERING", Value: strings.Join(answering, " ")},
					{Name: "BASH_PROGRAM", Value: programs[0]}, {Name: "PYTHON_PROGRAM", Value: programs[1]}, {Name: "NODE_PROGRAM", Value: programs[2]},
				},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	must(t, suite.client.Create(t.Context(), pod))
	return pod
}

// probePrograms are the first three programs of the script.
func probePrograms(t *testing.T) []string {
	t.Helper()
	text, err := scripts.FS.ReadFile("isolation.yaml")
	must(t, err)
	var script struct {
		Turns []struct {
			ToolCalls []struct {
				Arguments struct{ Command, Source string }
			} `json:"toolCalls"`
		}
	}
	must(t, yaml.Unmarshal(text, &script))
	var programs []string
	for _, turn := range script.Turns[:3] {
		a := turn.ToolCalls[0].Arguments
		programs = append(programs, a.Command+a.Source)
	}
	return programs
}

// wantProgramsThatWork is what makes the silence of the sandbox mean something: elsewhere the same programs get through,
// but for what the NetworkPolicy closes to everybody.
func wantProgramsThatWork(t *testing.T, probe *corev1.Pod, targets []target) {
	t.Helper()
	key := client.ObjectKeyFromObject(probe)
	var pod corev1.Pod
	err := await(t.Context(), soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		err := suite.client.Get(ctx, key, &pod)
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed, err
	})
	log := kubectl(t, "-n", probe.Namespace, "logs", probe.Name)
	if err != nil {
		t.Fatalf("the probe does not end (%v): %+v\n%s", err, pod.Status, log)
	}
	parts := strings.Split(log, "== ")
	if len(parts) != 4 {
		t.Fatalf("the probe said:\n%s", log)
	}
	for _, part := range parts[1:] {
		program, said, _ := strings.Cut(part, "\n")
		for _, x := range targets {
			reached := slices.Contains(strings.Split(said, "\n"), "reached "+x.name)
			if x.answers != nil && *x.answers != reached {
				t.Errorf("%s in an ordinary Pod: reached %s is %t, want %t", program, x.name, reached, *x.answers)
			}
		}
	}
	if t.Failed() {
		t.Logf("from an ordinary Pod:\n%s", log)
	}
}

var (
	uidMap      = regexp.MustCompile(`(?m)^uidmap +0 (\d+) (\d+)$`)
	fromCluster = regexp.MustCompile(`(?m)^(KUBERNETES_|MODELSERVER_|MOTOR_|OPENAI_).*$`)
)

// wantNoPrivileges reads what a program in the sandbox saw when it looked around.
func wantNoPrivileges(t *testing.T, run *v1alpha1.MotorRun, r v1alpha1.ToolResult) {
	t.Helper()
	if !r.OK {
		t.Fatalf("looking around failed: %+v", r)
	}
	var got []string
	for line := range strings.Lines(r.Output) {
		if regexp.MustCompile(`^(uid |Cap|NoNewPrivs|Seccomp|wrote|signalled|state|/)`).MatchString(line) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
	}
	none := "0000000000000000"
	want := []string{
		"uid 65532", "CapInh: " + none, "CapPrm: " + none, "CapEff: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1", "Seccomp: 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what a program in the sandbox is and can do (-want +got):\n%s\nall of it:\n%s", diff, r.Output)
	}
	if found := fromCluster.FindAllString(r.Output, -1); len(found) > 0 {
		t.Errorf("programs in the sandbox are told of the cluster: %v", found)
	}
	m := uidMap.FindStringSubmatch(r.Output)
	if m == nil {
		t.Fatalf("no user id map in:\n%s", r.Output)
	}
	if mapped := m[1] != "0"; mapped != isTrue(run, v1alpha1.ConditionUserNamespace) {
		t.Errorf("user 0 of the sandbox is user %s of the node, and the condition UserNamespace is %s", m[1], condition(run, v1alpha1.ConditionUserNamespace).Status)
	}
}

// wantNoWayToTheClusterInThePod looks at the Pod itself, past the tool server.
func wantNoWayToTheClusterInThePod(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	if found := inSandbox(t, run, "env | grep -E '^(MODELSERVER|OPENAI)_'; ls -d /var/run/secrets /run/secrets 2>/dev/null; true"); found != "" {
		t.Errorf("the sandbox's Pod has %s", found)
	}
	if resolv := inSandbox(t, run, "cat /etc/resolv.conf"); strings.TrimSpace(resolv) != "nameserver 127.0.0.1" {
		t.Errorf("the sandbox has a name server:\n%s", resolv)
	}
	var pod corev1.Pod
	must(t, suite.client.Get(t.Context(), sandboxOf(run), &pod))
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir == nil {
			t.Errorf("the sandbox has the volume %s from outside", v.Name)
		}
	}
}
