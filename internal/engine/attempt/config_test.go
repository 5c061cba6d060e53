// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

func TestLoopConfig(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC)
	configOf := func(change func(*v1alpha1.MotorRun)) config.Config {
		run := enginetest.ReadyRun()
		change(run)
		return loopConfig(run, runpolicy.ReadJournal(run, nil), now)
	}
	first := config.Config{
		Attempt: 1, MaxIterations: 20, OnUnknown: turn.UnknownPerson, Deadline: time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC), Keep: config.KeepChanges,
		TimeLimit: 10 * time.Minute,
	}
	if diff := cmp.Diff(first, configOf(func(*v1alpha1.MotorRun) {})); diff != "" {
		t.Errorf("the first attempt (-want +got):\n%s", diff)
	}
	retry := func(run *v1alpha1.MotorRun) {
		run.Spec.Task, run.Spec.Tools = "do it", []v1alpha1.ToolName{"bash"}
		run.Spec.Files = []v1alpha1.InputFile{{Path: "a"}}
		run.Spec.Limits.MaxTokens = new(int64(5))
		run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
		run.Status.Paused.DurationSeconds = 60
		run.Status.Attempts = append(run.Status.Attempts, v1alpha1.AttemptStatus{
			Index: 2, RecoveryContext: "it failed", StartTime: new(metav1.NewTime(time.Date(2026, 1, 3, 23, 0, 0, 0, time.FixedZone("", -7200)))),
		})
	}
	want := config.Config{
		Attempt: 2, Task: "do it", Tools: []string{"bash"}, Files: []string{"a"}, MaxIterations: 15, MaxTokens: 5,
		OnUnknown: turn.UnknownModel, RecoveryContext: "it failed", Deadline: time.Date(2026, 1, 1, 0, 11, 0, 0, time.UTC),
		WritesSkills: true, Keep: config.KeepChanges, TimeLimit: 10 * time.Minute, Date: "2026-01-04",
	}
	if diff := cmp.Diff(want, configOf(retry)); diff != "" {
		t.Errorf("a retry (-want +got):\n%s", diff)
	}
	want = first
	want.Review, want.Tools, want.Task, want.Keep = true, []string{"read"}, reviewTask, config.KeepArtifacts
	review := func(run *v1alpha1.MotorRun) { run.Spec.SkillReview, run.Spec.Tools = true, []v1alpha1.ToolName{"read"} }
	if diff := cmp.Diff(want, configOf(review)); diff != "" {
		t.Errorf("a review (-want +got):\n%s", diff)
	}
	want = first
	want.Keep, want.Tools, want.WritesSkills = config.KeepNothing, []string{"bash"}, true
	nothing := func(run *v1alpha1.MotorRun) {
		run.Spec.Keep, run.Spec.Tools = v1alpha1.KeepNothing, []v1alpha1.ToolName{"save_artifact", "bash"}
	}
	if diff := cmp.Diff(want, configOf(nothing)); diff != "" {
		t.Errorf("a run that keeps nothing (-want +got):\n%s", diff)
	}
	reaches := func(proxy string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) {
			run.Spec.Domains = []v1alpha1.Domain{"example.org"}
			run.Spec.Credentials = []v1alpha1.Credential{{Name: "bound"}, {Name: "exposed", ExposeToSandbox: true}}
			run.Status.Egress = &v1alpha1.EgressStatus{Proxy: proxy, Domains: []v1alpha1.Domain{"example.com"}}
		}
	}
	want = first
	want.RequestDomain, want.Domains, want.Credentials = true, []string{"example.com"}, []string{"bound", "exposed"}
	if diff := cmp.Diff(want, configOf(reaches("10.0.0.9:3128"))); diff != "" {
		t.Errorf("with a way out (-want +got):\n%s", diff)
	}
	want.Credentials = []string{"exposed"}
	if diff := cmp.Diff(want, configOf(reaches(""))); diff != "" {
		t.Errorf("with credentials and no way out (-want +got):\n%s", diff)
	}
	for limit, want := range map[int32]int32{1: 1, 2: 1, 4: 3, 20: 15, 50: 37} {
		if got := maxIterations(limit, 2); got != want {
			t.Errorf("a retry may have %d of %d answers, want %d", got, limit, want)
		}
	}
}
