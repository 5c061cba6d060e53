// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const ephemeralController = "system:serviceaccount:kube-system:ephemeral-volume-controller"

func withVolume(run *v1alpha1.MotorRun) {
	run.Spec.Sandbox = &v1alpha1.RunSandbox{WorkspaceStorageClassName: new("fast")}
}

// claimOf is the claim that the cluster makes for a sandbox's workspace.
func claimOf(pod *corev1.Pod) *corev1.PersistentVolumeClaim {
	template := pod.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate
	owner := *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	if owner.UID == "" {
		owner.UID = "6f1c2a34-0000-4000-8000-000000000002"
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: sandbox.ClaimName(pod), Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       *template.Spec.DeepCopy(),
	}
}

func plainClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta(namespace, name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("fast"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func podWithClaim(namespace, claim string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(namespace, "probe"), Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}},
	}}
}

// Nobody but the cluster makes a claim with the name of a sandbox's, or one of what is in a sandbox's.
func TestClaimsOfSandboxesAreMadeByTheCluster(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	eve := person(ctx, t, ns, "eve-claims", rights{"create,update,patch persistentvolumeclaims"})
	cluster, err := clientAs(ephemeralController, "system:masters")
	must(t, err)
	core, snapshots := "", "snapshot.storage.k8s.io"
	source := func(group, kind, name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: kind, Name: name}
			if group != "" {
				c.Spec.DataSource.APIGroup = &group
			}
		}
	}
	reference := func(group, kind, name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: &group, Kind: kind, Name: name}
		}
	}
	const of = "run-motor-sandbox-workspace"
	for name, tt := range map[string]struct {
		who    client.Client
		claim  *corev1.PersistentVolumeClaim
		change func(*corev1.PersistentVolumeClaim)
		want   string
	}{
		"own claim":                   {eve, plainClaim(ns, "data"), nil, ""},
		"a name that is like":         {eve, plainClaim(ns, "motor-sandbox-workspace"), nil, ""},
		"planted":                     {eve, plainClaim(ns, of), nil, "choose another name"},
		"planted by an administrator": {admin, plainClaim(ns, of), nil, "choose another name"},
		"planted by the manager":      {manager, plainClaim(ns, of), nil, ""},
		"planted with the owner":      {eve, claimOf(sandboxPod(ns, "run", withVolume)), nil, "choose another name"},
		"by the cluster":              {cluster, claimOf(sandboxPod(ns, "run", withVolume)), nil, ""},
		"by the cluster, of no Pod":   {cluster, plainClaim(ns, of), nil, "choose another name"},
		"by the cluster, of another":  {cluster, claimOf(sandboxPod(ns, "run", withVolume)), func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].Name = "web" }, "choose another name"},
		"clone":                       {eve, plainClaim(ns, "copy"), source(core, "PersistentVolumeClaim", of), "no user copies one"},
		"clone by the cluster":        {cluster, plainClaim(ns, "copy"), source(core, "PersistentVolumeClaim", of), "no user copies one"},
		"clone by reference":          {eve, plainClaim(ns, "copy"), reference(core, "PersistentVolumeClaim", of), "no user copies one"},
		"clone of one's own":          {eve, plainClaim(ns, "copy"), source(core, "PersistentVolumeClaim", "data"), ""},
		"clone of one's own by ref":   {eve, plainClaim(ns, "copy"), reference(core, "PersistentVolumeClaim", "data"), ""},
		"of a snapshot of one's own":  {eve, plainClaim(ns, "copy"), source(snapshots, "VolumeSnapshot", "data"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.claim.DeepCopy()
			if tt.change != nil {
				tt.change(c)
			}
			err := tt.who.Create(ctx, c, client.DryRunAll)
			switch {
			case tt.who == client.Client(manager):
				wantRefused(t, err, "forbidden") // It has no right to.
			case tt.want != "":
				wantRefused(t, err, "'motorcortex-claims'", tt.want)
			default:
				must(t, err)
			}
		})
	}
}

// A claim of a sandbox stays as it is, but for what the cluster's own controllers do to it.
func TestClaimsOfSandboxesAreNotChanged(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	eve := person(ctx, t, ns, "eve-claims-changed", rights{"get,create,update,patch persistentvolumeclaims", "update,patch persistentvolumeclaims/status"})
	cluster, err := clientAs(ephemeralController, "system:masters")
	must(t, err)
	claim := claimOf(sandboxPod(ns, "run", withVolume))
	// The API server's own check of sizes comes before the policies.
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows-" + ns}, Provisioner: "example.org/none", AllowVolumeExpansion: new(true)}
	must(t, admin.Create(ctx, class))
	t.Cleanup(func() { must(t, admin.Delete(context.WithoutCancel(ctx), class)) })
	claim.Spec.StorageClassName = &class.Name
	must(t, cluster.Create(ctx, claim))
	claim.Status.Phase = corev1.ClaimBound
	must(t, admin.Status().Update(ctx, claim))
	own := plainClaim(ns, "data")
	must(t, eve.Create(ctx, own))
	note := mergePatchOf(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}}`)
	for name, change := range map[string]client.Patch{
		"size":       mergePatchOf(`{"spec":{"resources":{"requests":{"storage":"100Gi"}}}}`),
		"label":      mergePatchOf(`{"metadata":{"labels":{"app":"web"}}}`),
		"label away": mergePatchOf(`{"metadata":{"labels":null}}`),
		"annotation": note,
		"finalizer":  mergePatchOf(`{"metadata":{"finalizers":["example.org/keep"]}}`),
		"owner":      mergePatchOf(`{"metadata":{"ownerReferences":null}}`),
		"volume":     mergePatchOf(`{"spec":{"volumeName":"mine"}}`),
		"class":      mergePatchOf(`{"spec":{"volumeAttributesClassName":"gold"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, eve.Patch(ctx, claim.DeepCopy(), change, client.DryRunAll), "is as its run wants it")
		})
	}
	wantRefused(t, eve.Status().Patch(ctx, claim.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"app":"web"}}}`), client.DryRunAll), "is as its run wants it")
	must(t, eve.Patch(ctx, own.DeepCopy(), note, client.DryRunAll))
	for _, user := range []string{
		"system:serviceaccount:kube-system:persistent-volume-binder", "system:serviceaccount:kube-system:pvc-protection-controller",
		"system:kube-scheduler",
	} {
		c, err := clientAs(user)
		must(t, err)
		now := claim.DeepCopy()
		must(t, admin.Get(ctx, client.ObjectKeyFromObject(claim), now))
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, "volume.kubernetes.io/selected-node", "n")
		if err := c.Update(ctx, now, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
	// A kubelet writes the size of the filesystem. Which of them may is for the API server's own check of nodes.
	kubelet, err := clientAs("system:node:n", "system:nodes", "system:masters")
	must(t, err)
	must(t, kubelet.Status().Patch(ctx, claim.DeepCopy(), mergePatchOf(`{"status":{"capacity":{"storage":"1Gi"}}}`), client.DryRunAll))
	// The operator has no business with it but to delete it.
	wantRefused(t, manager.Patch(ctx, claim.DeepCopy(), note, client.DryRunAll), "forbidden")
	must(t, manager.Delete(ctx, claim.DeepCopy(), client.DryRunAll))
}

// No Pod but the sandbox itself has its claim.
func TestPodsWithTheClaimOfASandbox(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	eve := person(ctx, t, ns, "eve-claims-pods", rights{"create pods"})
	ephemeral := corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: plainClaim(ns, "x").Spec}}}
	claim := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	readOnly := claim("run-motor-sandbox-workspace")
	readOnly.PersistentVolumeClaim.ReadOnly = true
	for name, tt := range map[string]struct {
		pod, volume string
		source      corev1.VolumeSource
		refused     bool
	}{
		"own claim":                  {"web", "data", claim("data"), false},
		"no claim":                   {"web", "data", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false},
		"own volume":                 {"web", "workspace", ephemeral, false},
		"claim of a sandbox":         {"web", "data", claim("run-motor-sandbox-workspace"), true},
		"only read":                  {"web", "data", readOnly, true},
		"claim of a later attempt":   {"web", "data", claim("run-0123abcd-motor-sandbox-workspace"), true},
		"name of a sandbox":          {"run-motor-sandbox", "workspace", ephemeral, true},
		"name of its claim":          {"run", "motor-sandbox-workspace", ephemeral, true},
		"name of its claim in parts": {"run-motor", "sandbox-workspace", ephemeral, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: meta(ns, tt.pod), Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: []corev1.Volume{{Name: tt.volume, VolumeSource: tt.source}},
			}}
			for _, who := range []client.Client{eve, admin, manager} {
				err := who.Create(ctx, pod.DeepCopy(), client.DryRunAll)
				if tt.refused {
					wantRefused(t, err, "'motorcortex-claims-of-pods'", "for that sandbox alone")
				} else {
					must(t, err)
				}
			}
		})
	}
	must(t, manager.Create(ctx, sandboxPod(ns, "run", withVolume), client.DryRunAll))
}

// snapshotCRD is a kind of the snapshot controller, which not every cluster has.
func snapshotCRD(group, plural, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, of a test"}},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "singular": plural[:len(plural)-1], "kind": kind, "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

func TestSnapshotsOfSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const one, group = "snapshot.storage.k8s.io", "groupsnapshot.storage.k8s.io"
	must(t, client.IgnoreAlreadyExists(admin.Create(ctx, snapshotCRD(one, "volumesnapshots", "VolumeSnapshot"))))
	must(t, client.IgnoreAlreadyExists(admin.Create(ctx, snapshotCRD(group, "volumegroupsnapshots", "VolumeGroupSnapshot"))))
	snapshot := func(source map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": one + "/v1", "kind": "VolumeSnapshot",
			"metadata": map[string]any{"namespace": ns, "name": "s"}, "spec": map[string]any{"source": source}}}
	}
	selected := func(selector map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "VolumeGroupSnapshot",
			"metadata": map[string]any{"namespace": ns, "name": "s"}, "spec": map[string]any{"source": map[string]any{"selector": selector}}}}
	}
	labels := func(key string) map[string]any { return map[string]any{"matchLabels": map[string]any{key: "x"}} }
	expression := func(key, operator string) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": operator, "values": []any{"x"}}}}
	}
	// A new kind, and the policy for it, take the API server a moment.
	must(t, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return admin.Create(ctx, snapshot(map[string]any{"persistentVolumeClaimName": "data"}), client.DryRunAll) == nil &&
			admin.Create(ctx, selected(labels("app")), client.DryRunAll) == nil, nil
	}))
	for name, tt := range map[string]struct {
		o       *unstructured.Unstructured
		refused bool
	}{
		"own claim":              {snapshot(map[string]any{"persistentVolumeClaimName": "data"}), false},
		"content from elsewhere": {snapshot(map[string]any{"volumeSnapshotContentName": "c"}), false},
		"a sandbox's":            {snapshot(map[string]any{"persistentVolumeClaimName": "run-motor-sandbox-workspace"}), true},
		"own claims":             {selected(labels("app")), false},
		"own claims, exist":      {selected(expression("app", "Exists")), false},
		"sandboxes":              {selected(labels(v1alpha1.LabelComponent)), true},
		"of a run":               {selected(expression(v1alpha1.LabelRun, "In")), true},
		"all but some":           {selected(expression("app", "NotIn")), true},
		"all":                    {selected(map[string]any{}), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := admin.Create(ctx, tt.o, client.DryRunAll)
			if tt.refused {
				wantRefused(t, err, "'motorcortex-snapshots'", "no user copies one")
			} else {
				must(t, err)
			}
		})
	}
}
