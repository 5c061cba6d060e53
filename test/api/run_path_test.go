// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func TestRunHappyPath(t *testing.T) {
	r := newRig(t)
	res := r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SandboxStarting", "Succeeded Unknown Running", "Finished False Running",
		"Reconciling True Running", "IsolationVerified Unknown NotTriedYet", "AwaitingInput False NothingAsked", "ResponsesValid True AllAsked",
		"UserNamespace False NodesWithoutSupport", "Stalled ")
	// The Pod's creation is the API server's time, and later than the rig's.
	if due := r.pod().CreationTimestamp.Add(startTimeout).Sub(r.now); res.RequeueAfter <= 0 || res.RequeueAfter > due+100*time.Millisecond {
		t.Errorf("comes back after %s, which is no deadline of a starting sandbox", res.RequeueAfter)
	}
	run := r.run()
	if run.Status.Execution.Worker != "" || run.Status.Execution.Epoch != 0 {
		t.Errorf("placed on %q before there is a sandbox", run.Status.Execution.Worker)
	}

	r.play(running)
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
	run, pod := r.run(), r.pod()
	if run.Status.Execution.Worker != "replica-1" || run.Status.Execution.Epoch != 1 || run.Status.Model != "model-0" || run.Status.ObservedGeneration != 1 {
		t.Errorf("worker %q, epoch %d, model %q, generation %d", run.Status.Execution.Worker, run.Status.Execution.Epoch, run.Status.Model, run.Status.ObservedGeneration)
	}
	wantSandbox := &v1alpha1.SandboxStatus{PodName: "run-motor-sandbox", PodUID: string(pod.UID), PodIP: "10.1.2.3", NodeIP: "192.0.2.7", CreationTime: &pod.CreationTimestamp}
	if diff := cmp.Diff(wantSandbox, run.Status.Sandbox); diff != "" {
		t.Errorf("status.sandbox (-want +got):\n%s", diff)
	}

	first := turnAt(1, "let me look", `bash:{"command":"ls"}`, `read:{"path":"x"}`)
	first.Results[0] = okResult("a b c", 120)
	r.said(first)
	r.step()
	r.want(v1alpha1.PhaseRunning, "IsolationVerified True AllBlocked")
	run = r.run()
	if run.Status.Steps != 1 || run.Status.Usage.TotalTokens != 120 || run.Status.Model != "model-1" || !strings.HasPrefix(run.Status.Message, "Working on step 1: read (a1-s1-c1), since 20") {
		t.Errorf("steps %d, tokens %d, model %s, message %q", run.Status.Steps, run.Status.Usage.TotalTokens, run.Status.Model, run.Status.Message)
	}
	l := r.log()
	second := l.Turns()[0]
	second.Results[1] = okResult("content", 30)
	second.Results[1].OK, second.Results[1].ErrorCode = false, "not_found"
	must(t, l.Settle(r.ctx, second))
	r.step()

	r.now = r.now.Add(9 * time.Second)
	r.said(turnAt(2, "There are three words."))
	r.step()
	run = r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	want := v1alpha1.RunResult{OK: true, Summary: "There are three words.", Stats: v1alpha1.RunStats{
		Iterations: 2, ToolCalls: 2, Errors: 1, DurationMilliseconds: 10_000, ModelMilliseconds: 3000, ToolMilliseconds: 150, OverheadMilliseconds: 6850, Tokens: 240,
	}}
	if diff := cmp.Diff(want, *run.Status.Result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	wantCalls := []v1alpha1.CallHead{
		{ID: "a1-s1-c0", Tool: "bash", OK: true, DurationMilliseconds: 120, Head: "a b c"},
		{ID: "a1-s1-c1", Tool: "read", ErrorCode: "not_found", DurationMilliseconds: 30, Head: "content"},
	}
	if diff := cmp.Diff(wantCalls, attemptAt(t, run, 1).LastCalls, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("last calls (-want +got):\n%s", diff)
	}
	if r.pod() != nil {
		t.Error("the sandbox is still there")
	}
	wantEvents := []string{"Warning NodesWithoutSupport", "Normal SandboxReady", "Normal Completed"}
	if diff := cmp.Diff(wantEvents, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestBaselineComesFirstAndIsRestored(t *testing.T) {
	r := newRig(t)
	r.step()
	key := client.ObjectKey{Namespace: r.ns, Name: sandbox.BaselineName}
	var policy networkingv1.NetworkPolicy
	must(t, admin.Get(r.ctx, key, &policy))
	// Creation times have a resolution of a second; resource versions count every write.
	if made(t, &policy) >= made(t, r.pod()) {
		t.Errorf("the policy (%s) came after the Pod (%s)", policy.ResourceVersion, r.pod().ResourceVersion)
	}
	want := policy.DeepCopy()
	changes := map[string]func(){
		"opened": func() {
			policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
			must(t, manager.Update(r.ctx, &policy))
		},
		"half":       func() { policy.Spec.PolicyTypes = policy.Spec.PolicyTypes[:1]; must(t, manager.Update(r.ctx, &policy)) },
		"unlabelled": func() { policy.Labels = nil; must(t, manager.Update(r.ctx, &policy)) },
		"deleted":    func() { must(t, admin.Delete(r.ctx, &policy)) },
	}
	for name, change := range changes {
		change()
		r.settle()
		policy = networkingv1.NetworkPolicy{}
		must(t, admin.Get(r.ctx, key, &policy))
		if diff := cmp.Diff(want.Spec, policy.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Labels, policy.Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func made(t *testing.T, o client.Object) int {
	t.Helper()
	n, err := strconv.Atoi(o.GetResourceVersion())
	must(t, err)
	return n
}

func TestNewWorkerTakesOver(t *testing.T) {
	r := newRig(t)
	r.ready()
	for i, worker := range []string{"replica-2", "replica-3", "replica-1"} {
		r.rec.Workers = workers{worker}
		r.step()
		if st := r.run().Status; st.Execution.Worker != worker || st.Execution.Epoch != int64(i)+2 {
			t.Errorf("worker %s, epoch %d; want %s, %d", st.Execution.Worker, st.Execution.Epoch, worker, i+2)
		}
	}
}

// A status that was restored from before the last steps would be refused by the journal for ever.
func TestEpochNeverStaysBelowTheJournals(t *testing.T) {
	r := newRig(t)
	r.ready()
	l, err := journal.Load(r.ctx, manager, manager, r.run(), 1, journal.Claim{Epoch: 7, Worker: "replica-9"}, func() time.Time { return r.now })
	must(t, err)
	must(t, l.Append(r.ctx, turnAt(1, "", "bash:{}")))
	r.step()
	if st := r.run().Status; st.Execution.Epoch <= 7 || st.Execution.Worker != "replica-1" {
		t.Errorf("worker %s, epoch %d: want one above the journal's 7", st.Execution.Worker, st.Execution.Epoch)
	}
}

func TestRunThatIsGoneOrGoing(t *testing.T) {
	r := newRig(t)
	r.deleteHeld()
	r.step()
	if r.pod() != nil {
		t.Error("a run that is being deleted got a sandbox")
	}
	r.letGo()
	r.step()
}

// Whoever holds back a run that is being deleted does not keep its sandbox.
func TestRunThatIsHeldBackLosesItsSandbox(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.deleteHeld()
	r.step()
	if r.pod() != nil {
		t.Error("the sandbox of a run that is being deleted is still there")
	}
	r.letGo()
}

// deleteHeld deletes the run, which a finalizer holds back until letGo.
func (r *rig) deleteHeld() {
	r.t.Helper()
	run := r.run()
	run.Finalizers = []string{"example.org/hold"}
	must(r.t, admin.Update(r.ctx, run))
	must(r.t, admin.Delete(r.ctx, run))
}

func (r *rig) letGo() {
	r.t.Helper()
	run := r.run()
	run.Finalizers = nil
	must(r.t, admin.Update(r.ctx, run))
}
