// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/sweep"
)

// allowClasses has the MotorCortex of the namespace list StorageClasses.
func (r *rig) allowClasses(classes ...string) {
	r.t.Helper()
	must(r.t, admin.Create(r.ctx, &v1alpha1.MotorCortex{
		ObjectMeta: meta(r.ns, "default"), Spec: v1alpha1.MotorCortexSpec{Sandbox: &v1alpha1.SandboxBounds{AllowedStorageClasses: classes}},
	}))
}

// made has the cluster make the claim of the run's sandbox.
func (r *rig) made() *corev1.PersistentVolumeClaim {
	r.t.Helper()
	cluster, err := clientAs(ephemeralController, "system:masters")
	must(r.t, err)
	claim := claimOf(r.pod())
	must(r.t, cluster.Create(r.ctx, claim))
	return claim
}

func (r *rig) wantMessage(parts ...string) {
	r.t.Helper()
	for _, part := range parts {
		if m := r.run().Status.Message; !strings.Contains(m, part) {
			r.t.Errorf("message %q does not say %q", m, part)
		}
	}
}

func TestStorageClassThatIsNotAllowed(t *testing.T) {
	r := newRig(t, withVolume)
	r.wantBlocked("Accepted", "StorageClassNotAllowed", "spec.sandbox.allowedStorageClasses of the namespace's MotorCortex")
	if r.pod() != nil {
		t.Fatal("there is a sandbox before the run is accepted")
	}
	r.allowClasses("slow", "fast")
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False WorkspacePending", "Stalled ")
	if v := r.pod().Spec.Volumes[0]; v.Ephemeral == nil || *v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName != "fast" {
		t.Errorf("the workspace is %+v", v)
	}
	wantRefused(t, admin.Patch(r.ctx, r.run(), mergePatchOf(`{"spec":{"sandbox":{"workspaceStorageClassName":"slow"}}}`)), "sandbox never changes")
	wantRefused(t, admin.Create(r.ctx, newRun(r.ns, func(run *v1alpha1.MotorRun) {
		run.Spec.Sandbox = &v1alpha1.RunSandbox{WorkspaceStorageClassName: new("Fast one")}
	})), "workspaceStorageClassName")
}

// A run whose volume does not come says what it waits for, and fails within the time that it waits for room.
func TestVolumeThatDoesNotCome(t *testing.T) {
	r := emptyRig(t)
	r.allowClasses("fast")
	r.create(admin, withVolume)
	r.step()
	r.made()
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False WorkspacePending", "Stalled ")
	r.wantMessage("run-motor-sandbox-workspace of the StorageClass fast is Pending", "kubectl -n "+r.ns+" describe pvc run-motor-sandbox-workspace")
	r.play(func(st *corev1.PodStatus) {
		st.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.",
		}}
	})
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False Unschedulable", "Stalled True Unschedulable")
	r.wantMessage("didn't find available persistent volumes", "workspaceStorageClassName", "is Pending")
	r.now = r.now.Add(24 * time.Hour)
	r.settle()
	if got := r.attempts(); len(got) == 0 || !strings.HasSuffix(got[0], "SandboxStartTimeout") {
		t.Fatalf("the attempts are %q", got)
	}
	if m := failureAt(t, r.run(), 1).Message; !strings.Contains(m, "persistent volumes") || !strings.Contains(m, "run-motor-sandbox-workspace") {
		t.Errorf("the attempt failed with %q", m)
	}
}

// The scheduler calls a Pod unschedulable whose claim is not made yet. The run is not stalled by that.
func TestClaimThatIsNotMadeYet(t *testing.T) {
	r := emptyRig(t)
	r.allowClasses("fast")
	r.create(admin, withVolume)
	r.step()
	r.play(func(st *corev1.PodStatus) {
		st.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: `0/1 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "run-motor-sandbox-workspace".`}}
	})
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False WorkspacePending", "Stalled ")
	r.wantMessage("has not made the PersistentVolumeClaim run-motor-sandbox-workspace", "kubectl -n "+r.ns+" describe pod run-motor-sandbox")
}

// A claim that was planted under the name of a sandbox's, before there was a policy against that, is named.
func TestClaimThatIsTaken(t *testing.T) {
	r := emptyRig(t, withoutChecks, "true")
	r.allowClasses("fast")
	planted := plainClaim(r.ns, "run-motor-sandbox-workspace")
	must(t, admin.Create(r.ctx, planted))
	r.create(admin, withVolume)
	r.step()
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False WorkspaceClaimTaken", "Stalled True WorkspaceClaimTaken")
	r.wantMessage("run-motor-sandbox-workspace exists and is not that of Pod run-motor-sandbox", "Delete it")
	must(t, admin.Patch(r.ctx, planted, mergePatchOf(`{"metadata":{"finalizers":null}}`)))
	must(t, client.IgnoreNotFound(admin.Delete(r.ctx, planted)))
	r.made()
	r.play(running)
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Stalled ")
}

// A claim goes with its Pod, unless that was deleted with --cascade=orphan.
func TestClaimWithoutAPodIsRemoved(t *testing.T) {
	r := emptyRig(t)
	r.allowClasses("fast")
	r.create(admin, withVolume)
	r.step()
	claim := r.made()
	own := plainClaim(r.ns, "data")
	own.Labels = claim.Labels
	must(t, admin.Create(r.ctx, own))
	sweeper := &sweep.Sweeper{Client: within{manager, r.ns}, Live: manager, Namespace: managerNamespace}
	there := func(c *corev1.PersistentVolumeClaim) bool {
		t.Helper()
		var now corev1.PersistentVolumeClaim
		err := admin.Get(r.ctx, client.ObjectKeyFromObject(c), &now)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil && now.DeletionTimestamp == nil
	}
	must(t, sweeper.Sweep(r.ctx))
	if !there(claim) {
		t.Fatal("the claim of a sandbox that is there was deleted")
	}
	collector, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	must(t, collector.Patch(r.ctx, claim.DeepCopy(), mergePatchOf(`{"metadata":{"ownerReferences":null}}`)))
	must(t, sweeper.Sweep(r.ctx))
	if there(claim) {
		t.Error("the claim of a sandbox that is gone stays")
	}
	if !there(own) {
		t.Error("somebody's own claim was deleted")
	}
}
