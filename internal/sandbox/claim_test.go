// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func onVolume(run *v1alpha1.MotorRun) {
	run.Spec.Sandbox = &v1alpha1.RunSandbox{
		WorkspaceStorageClassName: new("fast"),
		Resources:                 v1alpha1.SandboxResources{Workspace: new(resource.MustParse("10Gi"))},
	}
}

func TestWorkspaceOnAVolumeOfItsOwn(t *testing.T) {
	t.Parallel()
	pod := Pod(testRun(onVolume), testConfig())
	golden(t, "pod-volume.golden.yaml", pod)
	if name := ClaimName(pod); name != "count-words-motor-sandbox-workspace" || !strings.HasSuffix(name, ClaimSuffix) {
		t.Errorf("the claim is %q", name)
	}
	if name := ClaimName(Pod(testRun(), testConfig())); name != "" {
		t.Errorf("a sandbox without a claim has %q", name)
	}
	// The volume is not on the node's disk, so only the other two count there.
	if got, want := pod.Spec.Containers[0].Resources.Limits[corev1.ResourceEphemeralStorage], resource.MustParse("704Mi"); got.Cmp(want) != 0 {
		t.Errorf("the limit of ephemeral storage is %s, want %s", got.String(), want.String())
	}
	wantDifferent(t, pod, map[string]func(*corev1.Pod){
		"another class": func(p *corev1.Pod) {
			p.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec.StorageClassName = new("other")
		},
		"another source": func(p *corev1.Pod) {
			p.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "c"}
		},
		"on the node": func(p *corev1.Pod) { p.Spec.Volumes[0] = emptyDir("workspace", defaultWorkspace) },
	})
}

func TestReadClaim(t *testing.T) {
	t.Parallel()
	pod := Pod(testRun(onVolume), testConfig())
	pod.UID = "pod"
	claim := func(change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: ClaimName(pod),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		}, Spec: *pod.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec.DeepCopy()}
		for _, f := range change {
			f(c)
		}
		return c
	}
	phase := func(p corev1.PersistentVolumeClaimPhase) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = p }
	}
	starting := State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}
	unschedulable := State{Phase: Starting, Reason: v1alpha1.ReasonUnschedulable, Message: "No node can take Pod p: no volumes to bind."}
	for name, tc := range map[string]struct {
		state  State
		claim  *corev1.PersistentVolumeClaim
		reason string
		says   []string
	}{
		"new":     {starting, claim(), v1alpha1.ReasonWorkspacePending, []string{"StorageClass fast is Pending", "kubectl -n agents describe pvc count-words-motor-sandbox-workspace"}},
		"pending": {starting, claim(phase(corev1.ClaimPending)), v1alpha1.ReasonWorkspacePending, []string{"is Pending"}},
		"bound":   {starting, claim(phase(corev1.ClaimBound)), v1alpha1.ReasonSandboxStarting, []string{"is starting"}},
		"lost":    {starting, claim(phase(corev1.ClaimLost)), v1alpha1.ReasonWorkspacePending, []string{"is lost", "Create the run again"}},
		"being deleted": {starting, claim(func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }),
			v1alpha1.ReasonWorkspacePending, []string{"is being deleted"}},
		"no node":        {unschedulable, claim(phase(corev1.ClaimPending)), v1alpha1.ReasonUnschedulable, []string{"no volumes to bind", "StorageClass fast is Pending", "describe pvc"}},
		"of another Pod": {starting, claim(func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].UID = "other" }), v1alpha1.ReasonWorkspaceClaimTaken, []string{"Delete it"}},
		"of another Pod, being deleted": {starting, claim(func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences[0].UID, c.DeletionTimestamp = "other", &metav1.Time{}
		}),
			v1alpha1.ReasonWorkspacePending, []string{"is being deleted", "the Pod starts when it is gone", "describe pvc"}},
		"of nobody, being deleted": {unschedulable, claim(func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences, c.DeletionTimestamp = nil, &metav1.Time{} }),
			v1alpha1.ReasonWorkspacePending, []string{"is being deleted"}},
		"of nobody":            {unschedulable, claim(func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = nil }), v1alpha1.ReasonWorkspaceClaimTaken, []string{"count-words-motor-sandbox-workspace", "Delete it"}},
		"of nobody, no class":  {starting, claim(func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences, c.Spec.StorageClassName = nil, nil }), v1alpha1.ReasonWorkspaceClaimTaken, nil},
		"without a class, own": {starting, claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }), v1alpha1.ReasonWorkspacePending, []string{"StorageClass none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !MayWaitForClaim(tc.state) {
				t.Error("the claim is not looked at")
			}
			got := ReadClaim(tc.state, pod, tc.claim)
			if got.Phase != Starting || got.Reason != tc.reason {
				t.Errorf("got %+v, want the reason %s", got, tc.reason)
			}
			for _, s := range tc.says {
				if !strings.Contains(got.Message, s) {
					t.Errorf("%q does not say %q", got.Message, s)
				}
			}
		})
	}
	for _, s := range []State{{Phase: Running, Reason: v1alpha1.ReasonSandboxReady}, {Phase: Starting, Reason: v1alpha1.ReasonImagePullFailed}} {
		if MayWaitForClaim(s) {
			t.Errorf("a Pod in state %+v is not waiting for a claim", s)
		}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no volumes."}}
	if m := Read(pod).Message; !strings.Contains(m, "name another spec.sandbox.workspaceStorageClassName, or add a node") {
		t.Errorf("the message is %q", m)
	}
}

func TestWithoutClaim(t *testing.T) {
	t.Parallel()
	s := WithoutClaim(Pod(testRun(onVolume), testConfig()))
	if s.Phase != Starting || s.Reason != v1alpha1.ReasonWorkspacePending || !strings.Contains(s.Message, "count-words-motor-sandbox-workspace") ||
		!strings.Contains(s.Message, "kubectl -n agents describe pod count-words-motor-sandbox says why") {
		t.Errorf("got %+v", s)
	}
}

func TestOrphanedClaim(t *testing.T) {
	t.Parallel()
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "a-motor-sandbox", UID: "u", Controller: new(true)}}
	for name, tc := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"of nobody":                {metav1.ObjectMeta{Name: "a-motor-sandbox-workspace"}, true},
		"of its Pod":               {metav1.ObjectMeta{Name: "a-motor-sandbox-workspace", OwnerReferences: owner}, false},
		"being deleted":            {metav1.ObjectMeta{Name: "a-motor-sandbox-workspace", DeletionTimestamp: &metav1.Time{}}, false},
		"of another name":          {metav1.ObjectMeta{Name: "data", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}}, false},
		"with a name that is like": {metav1.ObjectMeta{Name: "a-motor-sandbox-workspace-2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := OrphanedClaim(&tc.meta); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
