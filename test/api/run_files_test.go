// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run is given no ConfigMap and no artifact that its requester may not get.
func TestFilesOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		file  v1alpha1.InputFile
		right rbacv1.PolicyRule
		want  string
	}{
		"a ConfigMap": {
			v1alpha1.InputFile{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "other", Key: "k"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"other"}, Verbs: []string{"get"}},
			"may not get the configmaps other",
		},
		"an artifact": {
			v1alpha1.InputFile{ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "out/a"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"kept"}, Verbs: []string{"get"}},
			"may not get the configmaps kept",
		},
		"an artifact in the bucket": {
			v1alpha1.InputFile{ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "out/b"}},
			rbacv1.PolicyRule{APIGroups: []string{"motorcortex.dev"}, Resources: []string{"motorruns"}, ResourceNames: []string{"earlier"}, Verbs: []string{"get"}},
			"may not get the motorruns earlier",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := emptyRig(t)
			r.rec.Config.Archive = true
			earlier := createRun(r.ctx, t, r.ns, named("earlier"))
			before := earlier.DeepCopy()
			earlier.Status.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{
				{Path: "out/a", Size: 1, ConfigMapName: "kept"}, {Path: "out/b", Size: 1, ObjectKey: "_artifacts/b"},
			}}
			must(t, manager.Status().Patch(r.ctx, earlier, client.MergeFrom(before)))
			tt.file.Path = "in"
			r.createAsRequester(func(run *v1alpha1.MotorRun) { run.Spec.Files = []v1alpha1.InputFile{tt.file} })
			// The right comes first: whoever lacks it does not learn what there is.
			r.wantBlocked("Accepted", "InputFileForbidden", r.requester()+", who created the run, "+tt.want)
			r.role("files", tt.right)
			r.awaitRight(true, rightOf(&tt.right))
			for _, name := range []string{"other", "kept"} {
				must(t, admin.Create(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r.ns, name), Data: map[string]string{"k": "v", "content": "v"}}))
			}
			r.step()
			r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
		})
	}
}

// Admission has such a run say who created it, where it is installed.
func TestFilesOfNobodyKnown(t *testing.T) {
	r := emptyRig(t, withoutStamping, "true", withoutChecks, "true")
	r.create(admin, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "other", Key: "k"}}}
	})
	r.wantBlocked("Accepted", "InputFileForbidden", "does not say who created it")
}
