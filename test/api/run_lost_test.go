// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestOperatorsAttemptsAreBounded(t *testing.T) {
	r := newRig(t, attempts(1))
	r.ready()
	for range 2 {
		must(t, admin.Delete(r.ctx, r.pod()))
		r.settle()
		r.play(running)
		r.step()
	}
	r.wantAttempts("First SandboxLost", "Infrastructure SandboxLost", "Infrastructure")
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.wantEnd(v1alpha1.PhaseFailed, "SandboxLost")
}

// What may have taken effect is not made again without asking.
func TestSandboxLostInTheMiddleOfACall(t *testing.T) {
	for name, onUnknown := range map[string]v1alpha1.UnknownPolicy{"Person": v1alpha1.UnknownAskPerson, "Model": v1alpha1.UnknownTellModel} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: onUnknown} })
			r.ready()
			r.said(turnAt(1, "", `bash:{"command":"pay"}`))
			r.step()
			must(t, admin.Delete(r.ctx, r.pod()))
			r.settle()
			if onUnknown == v1alpha1.UnknownTellModel {
				r.wantAttempts("First SandboxLost", "Infrastructure")
				return
			}
			r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed", "SandboxReady False SandboxLost")
			r.wantAttempts("First SandboxLost")
			if q := r.run().Status.Pending().Question; !strings.Contains(q, `bash {"command":"pay"}`) {
				t.Errorf("the question is %q", q)
			}
			if r.pod() != nil {
				t.Error("a Pod was made for nobody")
			}
			r.retry(1, "It was not paid.")
			r.settle()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
			r.wantAttempts("First SandboxLost", "Retry")
			if c := attemptAt(t, r.run(), 2).RecoveryContext; !strings.Contains(c, "The workspace was lost") || !strings.Contains(c, "pay") || !strings.Contains(c, "It was not paid.") {
				t.Errorf("the model is told %q", c)
			}
		})
	}
}

func TestSandboxLostWhileWaitingForARetry(t *testing.T) {
	for name, lose := range map[string]func(*rig){
		"deleted": func(r *rig) { must(r.t, admin.Delete(r.ctx, r.pod())) },
		"evicted": func(r *rig) { r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "Evicted" }) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ready()
			uid := r.pod().UID
			r.failed("Why")
			r.step()
			lose(r)
			r.step()
			r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed", "Finished False Running")
			if c := r.conditions()["SandboxReady"]; !strings.HasPrefix(c, "False Sandbox") {
				t.Errorf("SandboxReady is %q", c)
			}
			r.wantAttempts("First Why")
			r.retry(1, "")
			r.settle()
			r.wantAttempts("First Why", "Retry")
			if pod := r.pod(); pod == nil || pod.UID == uid {
				t.Errorf("the new Pod is %v", pod)
			}
			if c := attemptAt(t, r.run(), 2).RecoveryContext; !strings.Contains(c, "The workspace was lost") {
				t.Errorf("the model is told %q", c)
			}
		})
	}
}

// held keeps the Pod from going, as a node does that is down: the API server waits for the kubelet of a Pod that has a node.
func (r *rig) held() (name string, letGo func()) {
	r.t.Helper()
	pod := r.pod()
	must(r.t, admin.SubResource("binding").Create(r.ctx, pod.DeepCopy(), &corev1.Binding{
		ObjectMeta: meta(r.ns, pod.Name), Target: corev1.ObjectReference{Kind: "Node", Name: "node-that-is-down"},
	}))
	return pod.Name, func() { must(r.t, admin.Delete(r.ctx, pod, client.GracePeriodSeconds(0))) }
}

// A node that is gone for good keeps its Pods for ever. The next attempt begins in a Pod of its own, and one attempt is all that it costs.
func TestFormerPodThatNeverGoes(t *testing.T) {
	r := newRig(t)
	r.ready()
	first, letGo := r.held()
	must(t, admin.Delete(r.ctx, r.pod()))
	// The node is down: its kubelet says nothing more, and the node controller takes the Pod for lost.
	r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "NodeLost" })
	r.settle()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "Stalled ")
	pod := r.pod()
	if pod == nil || pod.Name == first || !strings.HasSuffix(pod.Name, "-motor-sandbox") {
		t.Fatalf("the Pod of the next attempt is %v", pod)
	}
	r.play(running)
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
	r.now = r.now.Add(startTimeout + time.Second)
	r.said(turnOf(2, 1, "done"))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if n := len(run.Status.Attempts); n != 2 {
		t.Errorf("%d attempts", n)
	}
	r.wantNoPod(pod.Name)
	if held := r.podNamed(first); held == nil || held.DeletionTimestamp == nil {
		t.Errorf("the Pod of the first attempt is %v", held)
	}
	letGo()
	r.wantNoPod(first)
}

// wantNoPod fails if there is a Pod of that name which nobody has deleted.
func (r *rig) wantNoPod(name string) {
	r.t.Helper()
	if pod := r.podNamed(name); pod != nil {
		r.t.Errorf("the Pod %s is still there, deleted at %v", name, pod.DeletionTimestamp)
	}
}

// The Pods of all attempts go with the run, whenever they are found.
func TestPodsOfAllAttemptsGo(t *testing.T) {
	for name, found := range map[string]string{"while it goes on": "before", "when it has ended": "after"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ready()
			first := r.pod()
			must(t, admin.Delete(r.ctx, first))
			r.settle()
			second := r.pod()
			if second == nil || second.Name == first.Name {
				t.Fatalf("the second Pod is %v", second)
			}
			again := first.DeepCopy()
			again.ResourceVersion, again.UID = "", ""
			if found == "before" {
				must(t, manager.Create(r.ctx, again))
				r.once()
				r.wantNoPod(first.Name)
			}
			r.patchSpec(`{"cancel":true}`)
			r.settle()
			if found == "after" {
				must(t, manager.Create(r.ctx, again))
				r.once()
			}
			r.wantNoPod(first.Name)
			r.wantNoPod(second.Name)
		})
	}
}

// An end that the journal has is the run's, even if the controller thought the attempt lost.
func TestAttemptThatSucceededAfterAll(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `bash:{"command":"pay"}`))
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.wantAttempts("First SandboxLost")
	l := r.log()
	last := l.Turns()[0]
	last.Results[0] = okResult("", 1)
	must(t, l.Settle(r.ctx, last))
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput)
	must(t, r.log().Append(r.ctx, turnAt(2, "done")))
	r.step()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	r.wantAttempts("First")
}

// An attempt that the status does not know, because that was lost, is the current one.
func TestAttemptsOfALostStatus(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.failed("Why")
	r.step()
	r.retry(1, "")
	r.step()
	r.said(turnOf(2, 1, "", "bash:{}"))
	run := r.run()
	base := run.DeepCopy()
	run.Status = v1alpha1.MotorRunStatus{}
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	r.settle()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Finished False Running")
	r.wantAttempts("First", "Retry")
	r.said(turnOf(2, 2, "", "bash:{}"))
}
