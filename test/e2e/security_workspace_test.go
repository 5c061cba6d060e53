// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const volumeSize = 64 << 20

// newVolume makes a StorageClass with one volume, which says it has volumeSize. It gives the class's name and where the volume is: the development
// cluster's only node is this machine. What a filesystem that ends does is tried in internal/toolserver/disk, where there is one.
func newVolume(t *testing.T) (class, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "motorcortex-volume-") //nolint:usetesting // t.TempDir lies in a folder that is closed to other users.
	must(t, err)
	must(t, os.Chmod(dir, 0o711)) //nolint:gosec // A sandbox is another user.
	var nodes corev1.NodeList
	must(t, suite.client.List(t.Context(), &nodes))
	name := "motorcortex-e2e-" + suite.id
	sc := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: name, Capacity: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(volumeSize, resource.BinarySI)},
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{nodes.Items[0].Labels[corev1.LabelHostname]}}},
		}}}},
	}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		for _, o := range []client.Object{pv, sc} {
			if err := client.IgnoreNotFound(suite.client.Delete(ctx, o)); err != nil {
				t.Error(err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	must(t, suite.client.Create(t.Context(), sc))
	must(t, suite.client.Create(t.Context(), pv))
	return name, dir
}

// A run has its workspace on a volume of its own. None but its sandbox has the claim, and the claim goes with
// the sandbox.
func TestSecurityWorkspaceOnAVolume(t *testing.T) {
	t.Parallel()
	class, dir := newVolume(t)
	ns := modelNamespace(t, "volume")
	mallory := as(t, ns, "mallory", "edit")
	onVolume := func(r *v1alpha1.MotorRun) {
		r.Spec.Sandbox = &v1alpha1.RunSandbox{
			WorkspaceStorageClassName: &class, Resources: v1alpha1.SandboxResources{Workspace: resource.NewQuantity(volumeSize, resource.BinarySI)},
		}
	}
	run := startRun(t, "case-ask", inNamespace(ns), onVolume,
		withScript("case.sh", "echo written > note\nfor n in {1..20}; do head -c 10M /dev/zero > fill-$n; done\n"), withScript("after.sh", "rm -f fill-*; cat note"))
	awaitRun(t, run, soon, "a refusal", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionAccepted).Reason == v1alpha1.ReasonStorageClassNotAllowed
	})
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName}}
	allow := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"sandbox":{"allowedStorageClasses":[%q]}}}`, class))
	if err := mallory.Patch(t.Context(), cortex.DeepCopy(), allow); err == nil {
		t.Error("an editor of the namespace chose who pays for volumes")
	}
	must(t, suite.client.Patch(t.Context(), cortex, allow))

	asked := awaitQuestion(t, run)
	list, err := steps(t.Context(), asked)
	must(t, err)
	if len(list) == 0 || len(list[0].Status.Results) == 0 || list[0].Status.Results[0].ErrorCode != "disk_full" {
		t.Fatalf("the volume was filled: %+v", list)
	}
	if text, err := os.ReadFile(dir + "/note"); err != nil || string(text) != "written\n" {
		t.Errorf("the workspace is not on the volume: %q, %v", text, err)
	}
	claim := types.NamespacedName{Namespace: ns, Name: sandboxOf(asked).Name + "-workspace"}
	var pvc corev1.PersistentVolumeClaim
	must(t, suite.client.Get(t.Context(), claim, &pvc))
	if pvc.Status.Phase != corev1.ClaimBound || pvc.Spec.VolumeName != class {
		t.Errorf("the claim is %+v", pvc)
	}
	wantClaimClosed(t, mallory, &pvc)

	respond(t, asked, asked.Status.Pending().ID, "go on")
	ended := wantCompleted(t, run, soon)
	if outputs := said(t, ended); !strings.Contains(outputs[len(outputs)-1], "written") {
		t.Errorf("after there was room again: %q", outputs)
	}
	podIsGone(t, ended, soon)
	if err := await(t.Context(), soon, &corev1.PersistentVolumeClaimList{}, one(claim), func(ctx context.Context) (bool, error) {
		found, err := exists(ctx, claim, &corev1.PersistentVolumeClaim{})
		return !found, err
	}); err != nil {
		t.Errorf("the claim stays after its sandbox: %v", err)
	}
}

// wantClaimClosed tries to have the claim of a sandbox with the role edit, which may make Pods and claims.
func wantClaimClosed(t *testing.T, mallory client.Client, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: "reader"}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "c", Image: suite.sandboxImage, SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
		Volumes: []corev1.Volume{{Name: "w", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}}},
	}}
	clone := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: "clone"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: claim.Spec.AccessModes, StorageClassName: claim.Spec.StorageClassName, Resources: claim.Spec.Resources,
		DataSource: &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: claim.Name},
	}}
	for what, tc := range map[string]struct {
		err  error
		says string
	}{
		"mount":  {mallory.Create(t.Context(), pod), "for that sandbox alone"},
		"clone":  {mallory.Create(t.Context(), clone), "no user copies one"},
		"change": {mallory.Patch(t.Context(), claim.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`))), "is as its run wants it"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.says) {
			t.Errorf("%s the workspace: %v", what, tc.err)
		}
	}
}

// as returns a client of somebody with a role in one namespace.
func as(t *testing.T, namespace, user, role string) client.Client {
	t.Helper()
	must(t, suite.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	cfg.QPS = -1
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(cfg, client.Options{Scheme: suite.client.Scheme()})
	must(t, err)
	return c
}
