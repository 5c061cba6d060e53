// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func ended(reason string, code int32) func(*corev1.PodStatus) {
	return container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}})
}

// An attempt that is lost with its sandbox is made again in a new one. A Pod that is still there must be gone before.
func TestSandboxThatEnds(t *testing.T) {
	tests := map[string]struct {
		happen          func(*rig)
		reason, message string
	}{
		"evicted": {func(r *rig) {
			r.play(func(st *corev1.PodStatus) {
				st.Phase, st.Reason, st.Message = corev1.PodFailed, "Evicted", "Pod ephemeral local storage usage\nexceeds the total limit of containers"
			})
		}, "SandboxEvicted", "usage exceeds the total limit"},
		"its deadline": {func(r *rig) {
			r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "DeadlineExceeded" })
		}, "Timeout", "its own deadline"},
		"crashed too often": {func(r *rig) {
			r.play(func(st *corev1.PodStatus) {
				ended("OOMKilled", 137)(st)
				st.ContainerStatuses[0].RestartCount = sandbox.MaxRestarts
			})
		}, "SandboxCrashed", "spec.sandbox.resources.memory"},
		"ended well": {func(r *rig) {
			r.play(func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded; ended("Completed", 0)(st) })
		}, "SandboxLost", "ended with status 0"},
		"deleted": {func(r *rig) { must(r.t, admin.Delete(r.ctx, r.pod())) }, "SandboxLost", "was deleted before the run ended"},
		"replaced by another one": {func(r *rig) {
			pod := r.pod()
			must(r.t, admin.Delete(r.ctx, pod))
			pod.ResourceVersion, pod.UID = "", ""
			must(r.t, manager.Create(r.ctx, pod))
			r.play(running)
		}, "SandboxLost", "was deleted before the run ended"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ready()
			lost := r.pod().UID
			tt.happen(r)
			r.once()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxReplaced", "Finished False Running", "AwaitingInput False NothingAsked")
			r.wantAttempts("First "+tt.reason, "Infrastructure")
			run := r.run()
			if sb := run.Status.Sandbox; sb.PodUID != string(lost) && name != "replaced by another one" || sb.PodIP != "" {
				t.Errorf("the status names the sandbox %+v before there is another one", sb)
			}
			f := attemptAt(t, run, 1).Failure
			if f.Category != v1alpha1.CategoryInfraFailure || !f.Retryable || f.SuggestedAction != v1alpha1.ActionRetryWithGuidance || !strings.Contains(f.Message, tt.message) {
				t.Errorf("failure %+v", f)
			}
			if c := attemptAt(t, run, 2).RecoveryContext; !strings.Contains(c, "The workspace was lost") {
				t.Errorf("the model is told %q", c)
			}
			r.settle()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "IsolationVerified Unknown NotTriedYet")
			if pod := r.pod(); pod == nil || pod.UID == lost || r.run().Status.Sandbox.PodUID != string(pod.UID) {
				t.Errorf("the new Pod is %v", pod)
			}
			wantEvents := []string{"Normal SandboxReady", "Warning AttemptFailed", "Normal AttemptStarted", "Warning SandboxReplaced"}
			if diff := cmp.Diff(wantEvents, r.events[1:]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			r.play(running)
			r.step()
			r.said(turnOf(2, 1, "done"))
			r.step()
			r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
			r.wantAttempts("First "+tt.reason, "Infrastructure")
		})
	}
}

// A tool server that ended comes up again in the same Pod, and the run goes on where it was; or it does not.
func TestToolServerIsStartedAgain(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.asked(1, `{"question":"Which?"}`)
	uid := r.pod().UID
	finished := metav1.NewTime(r.now.Truncate(time.Second))
	r.play(container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 137, FinishedAt: finished}}))
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "SandboxReady False SandboxRestarting", "Stalled ", "Finished False Running")
	r.play(running)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "SandboxReady True SandboxReady")

	r.play(container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 137, FinishedAt: finished}}))
	r.now = finished.Add(startTimeout - time.Second)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > time.Second+100*time.Millisecond {
		t.Errorf("comes back after %s, the time is over in 1 s", res.RequeueAfter)
	}
	r.wantAttempts("First")
	r.now = r.now.Add(time.Second)
	r.settle()
	r.wantAttempts("First SandboxLost", "Infrastructure")
	r.want(v1alpha1.PhaseCreated, "AwaitingInput False Answered", "SandboxReady False SandboxStarting")
	if m := failureAt(t, r.run(), 1).Message; !strings.Contains(m, "did not come up again within 3m0s") {
		t.Errorf("message %q", m)
	}
	if r.pod().UID == uid {
		t.Error("the Pod was not replaced")
	}
}

func TestCancelInEachPhase(t *testing.T) {
	tests := map[string]func(*rig){
		"at once": func(*rig) {},
		"while not accepted": func(r *rig) {
			r.rec.Models.Default.Model = ""
			r.step()
		},
		"while starting": func(r *rig) { r.step() },
		"while running":  func(r *rig) { r.ready() },
		"in a tool call": func(r *rig) { r.ready(); r.said(turnAt(1, "", "bash:{}")); r.step() },
		"while awaiting": func(r *rig) { r.ready(); r.asked(1, `{"question":"Which?"}`) },
		"after an answer": func(r *rig) {
			r.ready()
			respond(r.ctx, r.t, r.run(), r.asked(1, `{"question":"Which?"}`), "this")
			r.step()
		},
	}
	for name, bring := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			bring(r)
			r.patchSpec(`{"cancel":true}`)
			r.step()
			run := r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
			if r.pod() != nil {
				t.Error("the sandbox is still there")
			}
			if r.events[len(r.events)-1] != "Normal Cancelled" {
				t.Errorf("events %v", r.events)
			}
			if run.Status.ObservedGeneration != run.Generation {
				t.Errorf("observed generation %d of %d", run.Status.ObservedGeneration, run.Generation)
			}
		})
	}
}

func TestRunsOwnTimeIsUp(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.now = r.run().CreationTimestamp.Add(599 * time.Second)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > time.Second+100*time.Millisecond {
		t.Errorf("comes back after %s, the deadline is in 1 s", res.RequeueAfter)
	}
	r.now = r.now.Add(time.Second)
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
	if f := failureAt(t, run, 1); f.Category != v1alpha1.CategoryBudgetExhausted {
		t.Errorf("failure %+v", f)
	}
}

func TestLoopFails(t *testing.T) {
	r := newRig(t)
	r.ready()
	failure := &outcome.Failure{
		Category: outcome.InfraFailure, Reason: outcome.ReasonIsolationUnverified, Message: "After 10s the sandbox still reached the API server.",
	}
	must(t, r.log().End(r.ctx, failure, outcome.Outcome{}))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "IsolationUnverified")
	if run.Status.Message != failure.Message || run.Status.Result.Summary != failure.Message {
		t.Errorf("message %q, summary %q", run.Status.Message, run.Status.Result.Summary)
	}
}

func TestLoopFailsBeforeIsolationWasVerified(t *testing.T) {
	r := newRig(t)
	r.ready()
	l := r.log()
	l.UseSandbox(v1alpha1.StepSandbox{})
	must(t, l.End(r.ctx, &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonIsolationUnverified, Message: "It reached."}, outcome.Outcome{}))
	r.step()
	r.want(v1alpha1.PhaseFailed, "IsolationVerified False Reachable")
	r.wantEnd(v1alpha1.PhaseFailed, "IsolationUnverified")
}

// What a run came to is said once and for ever.
func TestFinishedRunNeverChanges(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "done"))
	r.step()
	before := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	events := len(r.events)

	r.patchSpec(`{"cancel":true}`)
	respond(r.ctx, t, before, "never-asked", "late")
	r.now = r.now.Add(12 * time.Hour)
	r.rec.Workers = workers{"replica-2"}
	late := bareStep(r.ns, "run-a01-s0002", func(s *v1alpha1.MotorStepSpec) {
		s.Index, s.Type, s.Outcome = 2, v1alpha1.StepEnd, &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: "Late"}
	})
	late.Labels = map[string]string{v1alpha1.LabelRun: "run"}
	late.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(before, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	must(t, manager.Create(r.ctx, late))
	r.step()

	after := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if after.Status.ObservedGeneration != after.Generation {
		t.Errorf("observed generation %d of %d", after.Status.ObservedGeneration, after.Generation)
	}
	after.Status.ObservedGeneration = before.Status.ObservedGeneration
	for i := range after.Status.Conditions {
		after.Status.Conditions[i].ObservedGeneration = 1
	}
	for i := range before.Status.Conditions {
		before.Status.Conditions[i].ObservedGeneration = 1
	}
	if diff := cmp.Diff(before.Status, after.Status); diff != "" {
		t.Errorf("the finished run changed (-before +after):\n%s", diff)
	}
	if len(r.events) != events {
		t.Errorf("more events: %v", r.events[events:])
	}
}

func TestSandboxFoundAfterTheEndGoes(t *testing.T) {
	r := newRig(t)
	r.step()
	pod := r.pod()
	r.patchSpec(`{"cancel":true}`)
	r.step()
	pod.ResourceVersion, pod.UID = "", ""
	must(t, manager.Create(r.ctx, pod))
	r.once()
	if r.pod() != nil {
		t.Error("the sandbox of a finished run stays")
	}
}

// The manager's role must allow all that it does: every write above was made with it. It must not allow more.
func TestManagerHasNoOtherRights(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	wantRefused(t, manager.Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))), "forbidden")
	wantRefused(t, manager.Create(ctx, newRun(ns, func(r *v1alpha1.MotorRun) { r.Name = "mine" })), "forbidden")
	wantRefused(t, manager.List(ctx, &corev1.SecretList{}, client.InNamespace(ns)), "forbidden")
	must(t, manager.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "told", Namespace: ns}, Reason: "Completed", Action: "Finish", Type: "Normal", EventTime: metav1.NowMicro(),
		ReportingController: "motorcortex", ReportingInstance: "motorcortex-1", Note: strings.Repeat("n", 1000),
		Regarding: corev1.ObjectReference{Kind: "MotorRun", Namespace: ns, Name: run.Name},
	}))
	must(t, manager.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta(managerNamespace, "manager.motorcortex.dev")}))
	must(t, manager.Create(ctx, &corev1.Secret{ObjectMeta: meta(managerNamespace, "manager-key")}))
	wantRefused(t, manager.Create(ctx, &corev1.Secret{ObjectMeta: meta(ns, "any")}), "forbidden")
	must(t, manager.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "leader", Namespace: managerNamespace}, Reason: "LeaderElection", Type: "Normal",
		InvolvedObject: corev1.ObjectReference{Kind: "Lease", Namespace: managerNamespace, Name: "manager.motorcortex.dev"},
	}))
}
