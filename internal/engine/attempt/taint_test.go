// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A run that resumes after a wait has its data from before: its results are marked from then on only if one of them came from outside.
func TestRunIsTaintedByWhatCameIn(t *testing.T) {
	run := enginetest.ReadyRun()
	for from, want := range map[toolapi.Provenance]bool{toolapi.ProvenanceInternal: false, toolapi.ProvenanceUser: false, toolapi.ProvenanceWeb: true} {
		step := v1alpha1.MotorStep{Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "a1-s1-c0", Provenance: string(from)}}}}
		if got, err := tainted(t.Context(), nil, run, []v1alpha1.MotorStep{step}); err != nil || got != want {
			t.Errorf("%s: tainted %t, %v", from, got, err)
		}
	}
}

// Files of an untrusted skill may contain anything.
func TestRunIsTaintedByItsSkill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pin  *v1alpha1.RunSkill
		want bool
	}{
		"no skill":     {nil, false},
		"approved":     {&v1alpha1.RunSkill{Approved: true}, false},
		"not approved": {&v1alpha1.RunSkill{}, true},
	} {
		run := enginetest.ReadyRun()
		run.Status.Skill = tt.pin
		if got, err := tainted(t.Context(), nil, run, nil); err != nil || got != tt.want {
			t.Errorf("%s: tainted %t, %v", name, got, err)
		}
	}
	run := enginetest.ReadyRun()
	run.Status.Skill, run.Spec.SkillReview = &v1alpha1.RunSkill{Approved: true}, true
	if got, err := tainted(t.Context(), nil, run, nil); err != nil || !got {
		t.Errorf("approved, and reviewed: tainted %t, %v", got, err)
	}
}

// An artifact of an earlier run taints unless it is known that nothing in it is from the web.
func TestRunIsTaintedByItsFiles(t *testing.T) {
	t.Parallel()
	from := enginetest.ReadyRun()
	from.Name = "earlier"
	from.Status.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{
		{Path: "own", Provenance: "Internal"}, {Path: "page", Provenance: "Web"}, {Path: "unknown"},
	}}
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(from).Build()
	for ref, want := range map[v1alpha1.ArtifactRef]bool{
		{RunName: "earlier", Path: "own"}: false, {RunName: "earlier", Path: "page"}: true, {RunName: "earlier", Path: "unknown"}: true,
		{RunName: "earlier", Path: "gone"}: true, {RunName: "gone", Path: "own"}: true,
	} {
		run := enginetest.ReadyRun()
		run.Spec.Files = []v1alpha1.InputFile{{Path: "a", Content: new("text")}, {Path: "b", ArtifactRef: &ref}}
		if got, err := tainted(t.Context(), c, run, nil); err != nil || got != want {
			t.Errorf("%+v: tainted %t, %v", ref, got, err)
		}
	}
}
