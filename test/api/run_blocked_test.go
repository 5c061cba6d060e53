// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// wantBlocked checks a run that waits for somebody: it says so, it can be seen to be stalled, and it looks again.
func (r *rig) wantBlocked(condition, reason, message string) {
	r.t.Helper()
	res := r.step()
	r.want(v1alpha1.PhaseCreated, condition+" False "+reason, "Stalled True "+reason, "Finished False Running", "Succeeded Unknown Running")
	st := r.run().Status
	if m := st.Message; !strings.Contains(m, message) {
		r.t.Errorf("message %q does not say %q", m, message)
	}
	if st.Reason != reason {
		r.t.Errorf("status.reason is %q, want %q", st.Reason, reason)
	}
	if res.RequeueAfter <= 0 || res.RequeueAfter > time.Minute && condition == v1alpha1.ConditionAccepted {
		r.t.Errorf("looks again after %s", res.RequeueAfter)
	}
}

func TestMissingModelConfiguration(t *testing.T) {
	r := newRig(t)
	r.rec.Models.Default = cortex.Endpoint{}
	r.wantBlocked("Accepted", "ModelNotConfigured", "spec.models of the MotorCortex")

	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, "default"), Spec: v1alpha1.MotorCortexSpec{Models: v1alpha1.ModelSet{
		Fast: &v1alpha1.ModelEndpoint{Model: "fast", BaseURL: "http://fast.example.org/v1", APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "keys", Key: "fast"}},
	}}}
	must(t, admin.Create(r.ctx, cortex))
	r.wantBlocked("Accepted", "ModelSecretNotFound", "The Secret keys")

	secret := &corev1.Secret{ObjectMeta: meta(r.ns, "keys"), StringData: map[string]string{"slow": "x", "fast": " \n"}}
	must(t, admin.Create(r.ctx, secret))
	r.wantBlocked("Accepted", "ModelSecretKeyMissing", "under the key fast")
	if r.pod() != nil {
		t.Error("there is a sandbox before the run is accepted")
	}

	secret.StringData = map[string]string{"fast": "key\n"}
	must(t, admin.Update(r.ctx, secret))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SandboxStarting", "Stalled ")
	if m := r.run().Status.Model; m != "fast" {
		t.Errorf("model %q", m)
	}
	if r.pod() == nil {
		t.Error("there is no sandbox")
	}
	if strings.Contains(strings.Join(r.events, " "), "key") {
		t.Errorf("an event has the key: %v", r.events)
	}
}

// kubectl delete --cascade=orphan leaves the steps of a run, and the next run of the name needs their names.
func TestStepsWithoutARunAreInTheWay(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	former := r.run()
	must(t, admin.Delete(r.ctx, former, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	must(t, admin.Delete(r.ctx, r.podNamed("run-motor-sandbox")))
	// There is no garbage collector here, which would take the owner from them and the finalizer from the run.
	var steps v1alpha1.MotorStepList
	must(t, admin.List(r.ctx, &steps, client.InNamespace(r.ns)))
	operator, err := clientAs(managerUser, "system:masters")
	must(t, err)
	for i := range steps.Items {
		must(t, operator.Patch(r.ctx, &steps.Items[i], mergePatchOf(`{"metadata":{"ownerReferences":null}}`)))
	}
	must(t, operator.Patch(r.ctx, former, mergePatchOf(`{"metadata":{"finalizers":null}}`)))
	r.create(admin)
	r.wantBlocked("Accepted", "StepsInTheWay", "kubectl -n "+r.ns+" delete motorsteps -l motorcortex.dev/run=run")
	if r.pod() != nil {
		t.Error("there is a sandbox for a run that cannot begin")
	}
	must(t, operator.DeleteAllOf(r.ctx, &v1alpha1.MotorStep{}, client.InNamespace(r.ns)))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SandboxStarting", "Stalled ")
}

func TestMissingInputFile(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{
			{Path: "inline", Content: new("")},
			{Path: "text", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "data", Key: "text"}},
			{Path: "binary", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "data", Key: "binary"}},
		}
	})
	r.wantBlocked("Accepted", "InputFileNotFound", "spec.files[1]: the ConfigMap data does not exist")
	cm := &corev1.ConfigMap{ObjectMeta: meta(r.ns, "data"), Data: map[string]string{"text": ""}}
	must(t, admin.Create(r.ctx, cm))
	r.wantBlocked("Accepted", "InputFileNotFound", "spec.files[2]: the ConfigMap data in namespace "+r.ns+" has no key binary")
	cm.BinaryData = map[string][]byte{"binary": {0xff}}
	must(t, admin.Update(r.ctx, cm))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "Stalled ")
}

func TestRefusedForGood(t *testing.T) {
	tests := map[string]struct {
		change func(*v1alpha1.MotorRun)
		reason string
	}{
		"domains": {func(run *v1alpha1.MotorRun) { run.Spec.Domains = []v1alpha1.Domain{"co.uk"} }, "DomainInvalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.change)
			r.step()
			r.want(v1alpha1.PhaseFailed, "Accepted False "+tt.reason)
			run := r.wantEnd(v1alpha1.PhaseFailed, tt.reason)
			if f := failureAt(t, run, 1); f.Category != v1alpha1.CategoryInvalidTask || f.Retryable {
				t.Errorf("failure %+v", f)
			}
			if r.pod() != nil {
				t.Error("there is a sandbox")
			}
		})
	}
}

func TestSandboxThatDoesNotStart(t *testing.T) {
	tests := map[string]struct {
		play            func(*corev1.PodStatus)
		reason, message string
		limit           time.Duration
	}{
		"image":    {waiting("ImagePullBackOff"), "ImagePullFailed", "cannot get the image sandbox.example.org/image:1", startTimeout},
		"runtime":  {waiting("CreateContainerError"), "ContainerCreateFailed", "because", startTimeout},
		"schedule": {unschedulable, "Unschedulable", "0/1 nodes are available", 24 * time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.step()
			r.play(tt.play)
			r.wantBlocked("SandboxReady", tt.reason, tt.message)
			if n := len(r.events); r.events[n-1] != "Warning "+tt.reason {
				t.Errorf("events %v", r.events)
			}
			t.Run("goes on", func(t *testing.T) {
				r.play(func(st *corev1.PodStatus) { *st = corev1.PodStatus{}; running(st) })
				r.step()
				r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Stalled ")
				r.play(func(st *corev1.PodStatus) { *st = corev1.PodStatus{Phase: corev1.PodPending}; tt.play(st) })
				r.step()
			})
			r.now = r.pod().CreationTimestamp.Add(tt.limit - time.Second)
			r.once()
			r.wantBlocked("SandboxReady", tt.reason, tt.message)
			r.now = r.now.Add(time.Second)
			r.once()
			r.wantAttempts("First SandboxStartTimeout", "Infrastructure")
			if m := failureAt(t, r.run(), 1).Message; !strings.Contains(m, tt.message) {
				t.Errorf("message %q does not say why: %s", m, tt.message)
			}
		})
	}
}

// A cluster that is full is a queue: the time of the run stands still, and that of its sandbox begins when a node has it.
func TestRunWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.step()
	created := r.pod().CreationTimestamp.Time
	r.now = created
	r.play(unschedulable)
	r.step()
	const hours = 5 * time.Hour
	r.now = created.Add(hours)
	r.once()
	r.wantBlocked("SandboxReady", "Unschedulable", "0/1 nodes are available")
	r.play(func(st *corev1.PodStatus) {
		st.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.now)}}
	})
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	if p := r.run().Status.Paused; p.StartTime != nil || p.DurationSeconds < int64(hours/time.Second) {
		t.Errorf("of %s in the queue %+v is counted", hours, p)
	}
	r.now = r.now.Add(startTimeout - time.Second)
	r.once()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	r.now = r.now.Add(time.Second)
	r.once()
	r.wantAttempts("First SandboxStartTimeout", "Infrastructure")
}

// A run that no replica has a slot for gets no sandbox, and its time stands still until another run ends.
func TestRunWaitsForASlot(t *testing.T) {
	r := newRig(t)
	r.rec.Workers = small(1)
	// The API server has the runs of other tests too.
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return c.List(ctx, list, append(opts, client.InNamespace(r.ns))...)
		},
	})
	other := newRun(r.ns, named("other"))
	must(t, admin.Create(r.ctx, other))
	before := other.DeepCopy()
	other.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "other"}
	other.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted, LastTransitionTime: metav1.Now()}}
	must(t, manager.Status().Patch(r.ctx, other, client.MergeFrom(before)))
	res := r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SlotsTaken", "Stalled ")
	if m := r.run().Status.Message; !strings.Contains(m, "replicas, 1, are taken by other runs. Of those that wait, the run is number 1.") || res.RequeueAfter == 0 {
		t.Errorf("message %q, looked at again after %s", m, res.RequeueAfter)
	}
	if pod := r.pod(); pod != nil {
		t.Fatalf("the run has the sandbox %s", pod.Name)
	}
	// The API server's clock, which dates the Pod, goes on as ever.
	const waited = startTimeout / 2
	r.now = r.now.Add(waited)
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SlotsTaken")
	before = other.DeepCopy()
	other.Status.Conditions = append(other.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted, LastTransitionTime: metav1.Now(),
	})
	must(t, manager.Status().Patch(r.ctx, other, client.MergeFrom(before)))
	// No watch tells of that here, and runs that wait look once a second.
	r.now = r.now.Add(time.Second)
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	if p := r.run().Status.Paused; p.StartTime != nil || p.DurationSeconds < int64(waited/time.Second) {
		t.Errorf("of %s without a slot %+v is counted", waited, p)
	}
	r.ready()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
}

func unschedulable(st *corev1.PodStatus) {
	st.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available.",
	}}
}

func TestSandboxStartTimeoutIsExact(t *testing.T) {
	r := newRig(t)
	r.step()
	r.now = r.pod().CreationTimestamp.Add(startTimeout - time.Second)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > time.Second+100*time.Millisecond {
		t.Errorf("comes back after %s, the deadline is in 1 s", res.RequeueAfter)
	}
	r.want(v1alpha1.PhaseCreated, "Finished False Running")
	r.now = r.now.Add(time.Second)
	r.once()
	r.wantAttempts("First SandboxStartTimeout", "Infrastructure")
}

func TestForeignPodOfThatName(t *testing.T) {
	r := newRig(t)
	foreign := &corev1.Pod{ObjectMeta: meta(r.ns, "run-motor-sandbox"), Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "toolserver", Image: "i", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}}
	must(t, admin.Create(r.ctx, foreign))
	r.play(running)
	r.wantBlocked("SandboxReady", "SandboxNameTaken", "is not this run's")
	if r.run().Status.Sandbox != nil {
		t.Error("the foreign Pod was taken for the sandbox")
	}
	r.patchSpec(`{"cancel":false}`)
	must(t, admin.Delete(r.ctx, r.pod()))
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "Stalled ")
}

func TestForeignPodSurvivesTheRun(t *testing.T) {
	r := emptyRig(t, withoutChecks, "true")
	r.create(admin)
	r.step()
	pod := r.pod()
	// An owner that does not control it is none. Where the policies are in force no user can make it one.
	pod.OwnerReferences[0].Controller = new(false)
	must(t, admin.Update(r.ctx, pod))
	r.patchSpec(`{"cancel":true}`)
	r.step()
	r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
	if r.pod() == nil {
		t.Error("a Pod was deleted that is not the run's")
	}
}

func TestQuotaRefusesTheSandbox(t *testing.T) {
	r := newRig(t)
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: meta(r.ns, "none"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	must(t, admin.Create(r.ctx, quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
	must(t, admin.Status().Update(r.ctx, quota))
	r.wantBlocked("SandboxReady", "SandboxRefused", "exceeded quota")
	must(t, admin.Delete(r.ctx, quota))
	// The quota's own cache may lag behind the delete.
	for r.pod() == nil && r.ctx.Err() == nil {
		r.once()
	}
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "Stalled ")
}

func TestUnknownRuntimeClass(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) {
		run.Spec.Sandbox = &v1alpha1.RunSandbox{RuntimeClassName: new("no-such-class")}
	})
	r.wantBlocked("SandboxReady", "SandboxRefused", "no-such-class")
	r.now = r.run().CreationTimestamp.Add(600 * time.Second)
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
	if !strings.Contains(run.Status.Message, "no-such-class") {
		t.Errorf("message %q does not say what the run waited for", run.Status.Message)
	}
}
