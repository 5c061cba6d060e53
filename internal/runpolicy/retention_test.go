// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// endedRun returns a run that finished so long after t0.
func endedRun(name string, at time.Duration, options ...runOption) v1alpha1.MotorRun {
	run := queueRun(name, 0, append([]runOption{over}, options...)...)
	run.Status.CompletionTime = new(metav1.NewTime(after(at)))
	return run
}

var succeeded = condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)

func ttl(seconds int32) runOption {
	return func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = &seconds }
}

func archived(run *v1alpha1.MotorRun) { run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"} }

func TestRemoveAt(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := map[string]struct {
		run     v1alpha1.MotorRun
		keep    v1alpha1.Retention
		runs    []v1alpha1.MotorRun
		archive bool
		wait    time.Duration
		want    time.Duration
	}{
		"succeeded, nobody says":      {run: endedRun("r", sec, succeeded), want: sec + day},
		"failed, nobody says":         {run: endedRun("r", sec), want: sec + 7*day},
		"succeeded, the cortex says":  {run: endedRun("r", sec, succeeded), keep: v1alpha1.Retention{SucceededSeconds: new(int32(60)), FailedSeconds: new(int32(5))}, want: 61 * sec},
		"failed, the cortex says":     {run: endedRun("r", sec), keep: v1alpha1.Retention{SucceededSeconds: new(int32(5)), FailedSeconds: new(int32(60))}, want: 61 * sec},
		"the run says":                {run: endedRun("r", sec, ttl(7)), keep: v1alpha1.Retention{FailedSeconds: new(int32(60))}, want: 8 * sec},
		"the run says, and succeeded": {run: endedRun("r", sec, succeeded, ttl(7)), keep: v1alpha1.Retention{SucceededSeconds: new(int32(60))}, want: 8 * sec},
		"at once":                     {run: endedRun("r", sec, ttl(0)), want: sec},
		"a Oneshot that succeeded":    {run: endedRun("r", sec, succeeded, oneshotMode), want: 601 * sec},
		"a Oneshot that failed":       {run: endedRun("r", sec, oneshotMode), want: 601 * sec},
		"a Oneshot of a cortex":       {run: endedRun("r", sec, oneshotMode), keep: v1alpha1.Retention{FailedSeconds: new(int32(900))}, want: 901 * sec},
		"a Oneshot that says":         {run: endedRun("r", sec, oneshotMode, ttl(7)), keep: v1alpha1.Retention{FailedSeconds: new(int32(900))}, want: 8 * sec},
		"a Oneshot is never too many": {
			run: endedRun("r", sec, oneshotMode), keep: v1alpha1.Retention{MaxFailed: new(int32(0))},
			runs: []v1alpha1.MotorRun{endedRun("r", sec, oneshotMode)}, want: 601 * sec,
		},
		"one too many": {
			run: endedRun("r", sec), keep: v1alpha1.Retention{MaxFailed: new(int32(1))},
			runs: []v1alpha1.MotorRun{endedRun("r", sec), endedRun("s", 2*sec)}, want: sec,
		},
		"one too many of others": {
			run: endedRun("r", 2*sec, ttl(9)), keep: v1alpha1.Retention{MaxFailed: new(int32(1))},
			runs: []v1alpha1.MotorRun{endedRun("r", 2*sec), endedRun("s", sec)}, want: 11 * sec,
		},
		"not archived yet":          {run: endedRun("r", sec, ttl(0)), archive: true, want: sec + time.Hour},
		"not archived in its time":  {run: endedRun("r", sec, ttl(0)), wait: 40 * sec, want: 41 * sec},
		"archived":                  {run: endedRun("r", sec, ttl(0), archived), archive: true, want: sec},
		"the archive has time":      {run: endedRun("r", sec), archive: true, want: sec + 7*day},
		"no end that anybody knows": {run: queueRun("r", 0, over, ttl(0)), want: -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var archiving Archiving
			if tt.archive {
				archiving.Wait = ArchiveWait
			}
			if tt.wait > 0 {
				archiving.Wait = tt.wait
			}
			got := RemoveAt(&tt.run, tt.keep, tt.runs, archiving)
			if tt.want < 0 && !got.IsZero() || tt.want >= 0 && !got.Equal(after(tt.want)) {
				t.Errorf("got %s, want %s", got, after(tt.want))
			}
		})
	}
}

func TestSurplus(t *testing.T) {
	t.Parallel()
	runs := []v1alpha1.MotorRun{
		endedRun("f1", 1*sec), endedRun("f3", 3*sec), endedRun("f2", 2*sec), endedRun("f2b", 2*sec),
		endedRun("s1", 1*sec, succeeded), endedRun("s2", 2*sec, succeeded),
		queueRun("active", 0, accepted), queueRun("new", 0), endedRun("going", 9*sec, beingDeleted),
		endedRun("once", 9*sec, oneshotMode), endedRun("once2", 9*sec, succeeded, oneshotMode),
	}
	for name, tt := range map[string]struct {
		keep v1alpha1.Retention
		want []string
	}{
		"no limit":       {},
		"enough room":    {keep: v1alpha1.Retention{MaxFailed: new(int32(4)), MaxSucceeded: new(int32(2))}},
		"the newest":     {keep: v1alpha1.Retention{MaxFailed: new(int32(2)), MaxSucceeded: new(int32(1))}, want: []string{"s1", "f2b", "f1"}},
		"none":           {keep: v1alpha1.Retention{MaxFailed: new(int32(0))}, want: []string{"f3", "f2", "f2b", "f1"}},
		"succeeded only": {keep: v1alpha1.Retention{MaxSucceeded: new(int32(0))}, want: []string{"s2", "s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range Surplus(tt.keep, slices.Clone(runs)) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Where the archive is required, nothing that is not in it is deleted, however long that takes.
func TestRemoveAtWhereTheArchiveIsRequired(t *testing.T) {
	t.Parallel()
	run := *testRun()
	run.Status.CompletionTime, run.Spec.TTLSecondsAfterFinished = new(metav1.NewTime(after(0))), new(int32(60))
	if got := RemoveAt(&run, v1alpha1.Retention{}, nil, Archiving{Wait: time.Second, Required: true}); !got.IsZero() {
		t.Errorf("without an archive it goes at %s", got)
	}
	run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"}
	if got := RemoveAt(&run, v1alpha1.Retention{}, nil, Archiving{Wait: time.Second, Required: true}); !got.Equal(after(time.Minute)) {
		t.Errorf("with its archive it goes at %s", got)
	}
}

// A run whose artifact is an input of another one stays until that one has ended.
func TestNeededBy(t *testing.T) {
	t.Parallel()
	from := endedRun("from", 0)
	given := func(name string, options ...runOption) v1alpha1.MotorRun {
		r := queueRun(name, time.Second, options...)
		r.Spec.Files = []v1alpha1.InputFile{{Path: "in"}, {Path: "a", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "from", Path: "a"}}}
		return r
	}
	other := given("other")
	other.Spec.Files[1].ArtifactRef.RunName = "elsewhere"
	answered := queueRun("answered", time.Second)
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "a", Files: []v1alpha1.ResponseFile{{Path: "a", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "from", Path: "a"}}}}}
	going := given("going")
	going.DeletionTimestamp = new(metav1.NewTime(after(time.Minute)))
	for name, tt := range map[string]struct {
		runs []v1alpha1.MotorRun
		want string
	}{
		"nobody":                 {[]v1alpha1.MotorRun{from, other}, ""},
		"a run that goes on":     {[]v1alpha1.MotorRun{from, other, given("b")}, "b"},
		"one that was answered":  {[]v1alpha1.MotorRun{from, other, answered}, "answered"},
		"one that has ended":     {[]v1alpha1.MotorRun{from, given("b", over)}, ""},
		"one that is deleted":    {[]v1alpha1.MotorRun{from, going}, ""},
		"one that waits as well": {[]v1alpha1.MotorRun{given("b", over), given("c")}, "c"},
	} {
		if got := NeededBy(&from, tt.runs); got != tt.want {
			t.Errorf("%s: it is needed by %q, want %q", name, got, tt.want)
		}
	}
}
