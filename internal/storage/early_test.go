// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestEarly(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	ended := func(hour int) change {
		return func(run *v1alpha1.MotorRun) {
			finished(run)
			run.Status.CompletionTime = new(metav1.NewTime(start.Add(time.Duration(hour) * time.Hour)))
		}
	}
	archived := func(run *v1alpha1.MotorRun) { run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"} }
	// Four hours after the start it is now.
	now := start.Add(4 * time.Hour)
	deleted := func(ago time.Duration) change {
		return func(run *v1alpha1.MotorRun) { run.DeletionTimestamp = new(metav1.NewTime(now.Add(-ago))) }
	}
	justNow := func(run *v1alpha1.MotorRun) {
		run.Status.CompletionTime = new(metav1.NewTime(now.Add(-earlyAge + time.Second)))
	}
	needs := func(other string) change {
		return func(run *v1alpha1.MotorRun) {
			run.Spec.Files = []v1alpha1.InputFile{{Path: "in", ArtifactRef: &v1alpha1.ArtifactRef{RunName: other, Path: "out"}}}
		}
	}
	left := func(file v1alpha1.Artifact) change {
		return func(run *v1alpha1.MotorRun) {
			run.Status.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{file}}
		}
	}
	// sized returns a run of 100 bytes.
	sized := func(name string, changes ...change) v1alpha1.MotorRun {
		run := newRun(name, changes...)
		Note(run, 100)
		return *run
	}
	old, mid, young := sized("old", ended(1), archived), sized("mid", ended(2), archived), sized("young", ended(3), archived)
	for name, tt := range map[string]struct {
		used int64
		runs []v1alpha1.MotorRun
		want []string
	}{
		"there is room":            {799, []v1alpha1.MotorRun{old}, nil},
		"one is enough":            {899, []v1alpha1.MotorRun{young, old, mid}, []string{"old"}},
		"two are enough":           {900, []v1alpha1.MotorRun{young, old, mid}, []string{"old", "mid"}},
		"none is enough":           {5000, []v1alpha1.MotorRun{young, old, mid}, []string{"old", "mid", "young"}},
		"of the same second":       {850, []v1alpha1.MotorRun{sized("b", ended(1), archived), sized("a", ended(1), archived)}, []string{"a"}},
		"one is about to go":       {899, []v1alpha1.MotorRun{mid, sized("old", ended(1), archived, deleted(deletionTime))}, nil},
		"one does not go":          {899, []v1alpha1.MotorRun{mid, sized("old", ended(1), archived, deleted(deletionTime+time.Second))}, []string{"mid"}},
		"it ended just now":        {5000, []v1alpha1.MotorRun{sized("new", ended(3), archived, justNow), old}, []string{"old"}},
		"all are not enough":       {999, []v1alpha1.MotorRun{old}, nil},
		"nor is that, at its full": {1000, []v1alpha1.MotorRun{old}, []string{"old"}},
		"nothing is archived":      {5000, []v1alpha1.MotorRun{sized("old", ended(1)), sized("under way", accepted)}, nil},
		"an older one is not":      {850, []v1alpha1.MotorRun{sized("older", ended(0)), old}, []string{"old"}},
		"it is not over":           {850, []v1alpha1.MotorRun{sized("odd", accepted, archived)}, nil},
		"another one needs it":     {850, []v1alpha1.MotorRun{old, mid, sized("waits", needs("old"))}, []string{"mid"}},
		"one that ended needed it": {850, []v1alpha1.MotorRun{old, mid, sized("over", ended(0), needs("old"))}, []string{"old"}},
		"a step is left":           {850, []v1alpha1.MotorRun{sized("with steps", ended(0), archived), old}, []string{"old"}},
		"a file is in the cluster": {850, []v1alpha1.MotorRun{sized("file", ended(0), archived, left(v1alpha1.Artifact{Path: "a", ConfigMapName: "c"})), old}, []string{"old"}},
		"a file is in the bucket":  {850, []v1alpha1.MotorRun{sized("file", ended(0), archived, left(v1alpha1.Artifact{Path: "a", ObjectKey: "k"})), old}, []string{"file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, run := range Early(tt.runs, func(run string) bool { return run == "with steps" }, tt.used, 1000, now) {
				got = append(got, run.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q go, want %q", got, tt.want)
			}
		})
	}
}
