// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

func TestProgressHasTheLastSkills(t *testing.T) {
	t.Parallel()
	said := func(name string) *v1alpha1.SkillsResult {
		return &v1alpha1.SkillsResult{Created: []v1alpha1.ProposedSkill{{Name: name}}}
	}
	step := func(r *v1alpha1.SkillsResult) v1alpha1.MotorStep {
		return v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn}, Status: v1alpha1.MotorStepStatus{Skills: r}}
	}
	for name, tt := range map[string]struct {
		steps []v1alpha1.MotorStep
		want  *v1alpha1.SkillsResult
	}{
		"nothing":                      {[]v1alpha1.MotorStep{step(nil)}, nil},
		"one":                          {[]v1alpha1.MotorStep{step(nil), step(said("a"))}, said("a")},
		"a later one":                  {[]v1alpha1.MotorStep{step(said("a")), step(said("b"))}, said("b")},
		"a later one that has no word": {[]v1alpha1.MotorStep{step(said("a")), step(nil)}, said("a")},
	} {
		if diff := cmp.Diff(tt.want, ReadJournal(testRun(), tt.steps).Skills); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The fullest status of a run that has ended still fits with the fullest result of its skills.
func TestFitWithSkills(t *testing.T) {
	t.Parallel()
	st, at := fullStatus(), new(metav1.NewTime(t0))
	st.PendingInputs, st.CompletionTime = nil, at
	last := &st.Attempts[9]
	last.CompletionTime, last.Failure = at, new(*st.Attempts[8].Failure)
	long := fit.CutEncoded(strings.Repeat("<", 10_000), 8192)
	st.Result = &v1alpha1.RunResult{
		Artifacts: st.Artifacts, ArtifactsOmitted: 3, Summary: long, Partial: fit.CutEncoded(long, 4096), Skills: fit.ShowSkills(fullSkills()),
		Stats: v1alpha1.RunStats{DurationMilliseconds: 1 << 40, Tokens: 1 << 40},
	}
	st.Artifacts = nil
	fit.Fit(st)
	if n := jsonSize(st); n > fit.MaxStatusBytes {
		t.Errorf("%d bytes", n)
	}
	if diff := cmp.Diff(fullSkills().Updated, st.Result.Skills.Updated); diff != "" {
		t.Errorf("what was proposed is not all there:\n%s", diff)
	}
}

// fullSkills returns as many skills as are proposed, and as many folders that are not taken, each as large as it can be.
func fullSkills() *v1alpha1.SkillsResult {
	r := &v1alpha1.SkillsResult{}
	for i := range 16 {
		name := fmt.Sprintf("%s%02d", strings.Repeat("s", 62), i)
		r.Updated = append(r.Updated, v1alpha1.ProposedSkill{Name: name, RevisionName: name + "-0123456789ab", ChangedFiles: 256, DeletedFiles: 256})
		r.Rejected = append(r.Rejected, v1alpha1.RejectedSkill{Path: fmt.Sprintf("skills/%02d%s", i, strings.Repeat("<", 247)), Message: strings.Repeat("\"", 512)})
	}
	return r
}

func TestProgressHasTheLastArtifacts(t *testing.T) {
	t.Parallel()
	list := func(path string) *v1alpha1.ArtifactList {
		return &v1alpha1.ArtifactList{Files: []v1alpha1.Artifact{{Path: path}}}
	}
	step := func(files *v1alpha1.ArtifactList) v1alpha1.MotorStep {
		return v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn}, Status: v1alpha1.MotorStepStatus{Artifacts: files}}
	}
	for name, tt := range map[string]struct {
		steps []v1alpha1.MotorStep
		want  *v1alpha1.ArtifactList
	}{
		"nothing":              {[]v1alpha1.MotorStep{step(nil)}, nil},
		"a pause":              {[]v1alpha1.MotorStep{step(list("a")), step(nil)}, list("a")},
		"a pause and the end":  {[]v1alpha1.MotorStep{step(list("a")), step(list("b"))}, list("b")},
		"an end that has none": {[]v1alpha1.MotorStep{step(list("a")), step(&v1alpha1.ArtifactList{})}, &v1alpha1.ArtifactList{}},
	} {
		if diff := cmp.Diff(tt.want, ReadJournal(testRun(), tt.steps).Artifacts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
