// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// plan is what a script has its runs do when nothing goes wrong.
type plan struct {
	// turns is how often the model is asked.
	turns int
	// effects are what the tools do, each once: "aATTEMPT.tTURN", and more after that where a turn has several.
	effects []string
}

var plans = map[string]plan{
	"effects": {12, []string{"a1.t0", "a1.t1", "a1.t2", "a1.t3", "a1.t4", "a1.t5", "a1.t6", "a1.t7", "a1.t8", "a1.t9"}},
	"long":    {3, []string{"a1.t0.begin", "a1.t0.end"}},
	"late":    {3, []string{"a1.t0"}},
	"modelfaults": {10, []string{
		"a1.t0", "a1.t1", "a1.t2", "a1.t3", "a1.t4", "a1.t5", "a1.t6", "a1.t7.one", "a1.t7.two",
	}},
}

// check looks from outside at runs that play the same script: at what their tools really did and the model was really
// asked, whatever the operator says of it.
type check struct {
	t      *testing.T
	script string
	plan   plan
	// mark is the last model call before them.
	mark int64
	runs []*v1alpha1.MotorRun
	// interruptions says how often a run was interrupted. Each may cost one model call.
	interruptions func(*v1alpha1.MotorRun) int64
	// extra is how many model calls more there may be for all runs together.
	extra int
}

// newCheck prepares for runs of a script that no other test plays at the same time.
func newCheck(t *testing.T, script string) *check {
	t.Helper()
	return &check{
		t: t, script: script, plan: plans[script], mark: lastModelCall(t),
		// Each time that a run is given to another worker, it was taken from one.
		interruptions: func(r *v1alpha1.MotorRun) int64 { return r.Status.Execution.Epoch - 1 },
	}
}

// start starts a run whose calls go on for that time after their effect.
func (c *check) start(sleep string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	c.t.Helper()
	run := startRun(c.t, c.script, append([]func(*v1alpha1.MotorRun){counted(c.t, "sleep="+sleep)}, change...)...)
	c.runs = append(c.runs, run)
	return run
}

// wantInvariants fails unless everything holds that has to hold after any fault.
func (c *check) wantInvariants(t *testing.T) {
	t.Helper()
	var interruptions int64
	for _, run := range c.runs {
		ended := awaitEnd(t, run, soon)
		journal := wantWholeJournal(t, ended)
		if got := answersIn(journal); got != c.plan.turns {
			t.Errorf("run %s has %d answers, want %d", run.Name, got, c.plan.turns)
		}
		wantEffects(t, run, c.plan.effects...)
		podIsGone(t, run, soon)
		interruptions += c.interruptions(ended)
	}
	c.wantModelCalls(t, int(interruptions)+c.extra)
}

// wantModelCalls fails unless the model was asked for every turn of every run, and at most so many times more.
func (c *check) wantModelCalls(t *testing.T, extra int) {
	t.Helper()
	calls, err := modelCalls(t.Context(), c.script, c.mark)
	must(t, err)
	asides := len(calls)
	calls = slices.DeleteFunc(calls, func(call modelCall) bool { return call.Kind != kindTurn })
	asides -= len(calls)
	turns := map[string]map[int]bool{}
	for _, call := range calls {
		if turns[call.Conversation] == nil {
			turns[call.Conversation] = map[int]bool{}
		}
		turns[call.Conversation][call.Turn] = true
	}
	asked := 0
	for _, of := range turns {
		asked += len(of)
	}
	needed := len(c.runs) * c.plan.turns
	t.Logf("%d model calls for %d turns; %d more were allowed", len(calls), needed, extra)
	if asides > 0 || asked != needed || len(turns) != len(c.runs) || len(calls) > needed+extra {
		t.Errorf("the model was asked %d times for %d turns of %d conversations, and %d times aside; want %d turns of %d, and at most %d times more",
			len(calls), asked, len(turns), asides, needed, len(c.runs), extra)
	}
}

// counted has a run report what its tools do to the model server. The values are for the script.
func counted(t *testing.T, values ...string) func(*v1alpha1.MotorRun) {
	t.Helper()
	ns, err := effectsNamespace()
	must(t, err)
	address := net.JoinHostPort(modelServerIP(t), strconv.Itoa(modelServerPort))
	return func(r *v1alpha1.MotorRun) {
		r.Namespace = ns
		r.Spec.Task += " " + strings.Join(append([]string{"counter=" + address}, values...), " ")
	}
}

// wantEffects fails unless the tools of the run had these effects, and each as often as it stands there.
func wantEffects(t *testing.T, run *v1alpha1.MotorRun, effects ...string) {
	t.Helper()
	want := map[string]int{}
	for _, e := range effects {
		want[run.Name+"."+e]++
	}
	raw, err := readModelServer(t.Context(), "effects", map[string]string{"prefix": run.Name + "."})
	must(t, err)
	var got struct{ Counts map[string]int }
	must(t, json.Unmarshal(raw, &got))
	if diff := cmp.Diff(want, got.Counts); diff != "" {
		t.Errorf("how often the tools of %s had which effect (-want +got):\n%s", run.Name, diff)
	}
}

// effectsNamespace is a namespace whose sandboxes reach one thing: the model server's Pod, which counts what they report.
var effectsNamespace = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	ns, err := createNamespace(ctx, "effects", restricted)
	if err != nil {
		return "", err
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "report-effects"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{
				To: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: suite.namespace}},
					PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": modelServer}},
				}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(modelServerPort))}},
			}},
		},
	}
	if err := suite.client.Create(ctx, policy); err != nil {
		return "", err
	}
	return ns, createCortex(ctx, ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)})
})

// modelServerIP is the address of the Pod that counts effects. Sandboxes resolve no names.
func modelServerIP(t *testing.T) string {
	t.Helper()
	var pods corev1.PodList
	must(t, suite.client.List(t.Context(), &pods, client.InNamespace(suite.namespace), client.MatchingLabels{"app.kubernetes.io/name": modelServer}))
	if len(pods.Items) != 1 || pods.Items[0].Status.PodIP == "" {
		t.Fatalf("the model server has the Pods %v", pods.Items)
	}
	return pods.Items[0].Status.PodIP
}
