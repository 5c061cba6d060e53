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
			r.said(turn(1, "", `bash:{"command":"pay"}`))
			r.step()
			must(t, admin.Delete(r.ctx, r.pod()))
			r.settle()
			if onUnknown == v1alpha1.UnknownTellModel {
				r.wantAttempts("First SandboxLost", "Infrastructure")
				return
			}
			r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed", "SandboxReady False SandboxLost")
			r.wantAttempts("First SandboxLost")
			if q := r.run().Status.PendingInput.Question; !strings.Contains(q, `bash {"command":"pay"}`) {
				t.Errorf("the question is %q", q)
			}
			if r.pod() != nil {
				t.Error("a Pod was made for nobody")
			}
			r.retry(1, "It was not paid.")
			r.settle()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
			r.wantAttempts("First SandboxLost", "Retry")
			if c := attemptAt(t, r.run(), 1).RecoveryContext; !strings.Contains(c, "The workspace was lost") || !strings.Contains(c, "pay") || !strings.Contains(c, "It was not paid.") {
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
			if c := attemptAt(t, r.run(), 1).RecoveryContext; !strings.Contains(c, "The workspace was lost") {
				t.Errorf("the model is told %q", c)
			}
		})
	}
}

// held keeps the Pod from going, as a node does that is down. Nobody but the manager's account could: it has no such right itself.
func (r *rig) held() (letGo func()) {
	r.t.Helper()
	operator, err := clientAs(managerUser, "system:masters")
	must(r.t, err)
	pod := r.pod()
	pod.Finalizers = []string{"example.org/hold"}
	must(r.t, operator.Update(r.ctx, pod))
	return func() {
		pod := r.pod()
		pod.Finalizers = nil
		must(r.t, operator.Update(r.ctx, pod))
	}
}

func TestFormerPodMustBeGone(t *testing.T) {
	r := newRig(t)
	r.ready()
	uid := r.pod().UID
	letGo := r.held()
	must(t, admin.Delete(r.ctx, r.pod()))
	res := r.settle()
	r.wantAttempts("First SandboxLost", "Infrastructure")
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxReplaced", "Stalled ")
	if r.pod().UID != uid || res.RequeueAfter <= 0 || res.RequeueAfter > startTimeout+time.Second {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	if m := r.run().Status.Message; !strings.Contains(m, "is not gone yet") {
		t.Errorf("message %q", m)
	}
	letGo()
	r.settle()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	if r.pod().UID == uid {
		t.Error("there is no new Pod")
	}
}

// A node that is gone for good keeps its Pods for ever, but not the run.
func TestFormerPodThatNeverGoes(t *testing.T) {
	r := newRig(t, attempts(1), func(run *v1alpha1.MotorRun) { run.Spec.Limits.TimeoutSeconds = 86400 })
	r.ready()
	letGo := r.held()
	defer letGo()
	must(t, admin.Delete(r.ctx, r.pod()))
	for i := range 3 {
		r.settle()
		if n := len(r.run().Status.Attempts); i < 2 && n != i+2 {
			t.Fatalf("%d attempts", n)
		}
		r.now = r.now.Add(startTimeout + time.Second)
	}
	r.settle()
	run := r.run()
	r.want(v1alpha1.PhaseFailed, "Finished True SandboxStartTimeout")
	if m := run.Status.Message; !strings.Contains(m, "former sandbox was not gone within 3m0s") {
		t.Errorf("message %q", m)
	}
}

// An end that the journal has is the run's, even if the controller thought the attempt lost.
func TestAttemptThatSucceededAfterAll(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turn(1, "", `bash:{"command":"pay"}`))
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.wantAttempts("First SandboxLost")
	l := r.log()
	last := l.Turns()[0]
	last.Results[0] = okResult("", 1)
	must(t, l.Settle(r.ctx, last))
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput)
	must(t, r.log().Append(r.ctx, turn(2, "done")))
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
	r.said(turnOf(1, 1, "", "bash:{}"))
	run := r.run()
	base := run.DeepCopy()
	run.Status = v1alpha1.MotorRunStatus{}
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	r.settle()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Finished False Running")
	r.wantAttempts("First", "Retry")
	r.said(turnOf(1, 2, "", "bash:{}"))
}
