// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestBeyond(t *testing.T) {
	t.Parallel()
	var runs []*v1alpha1.MotorRun
	for i, succeeded := range []metav1.ConditionStatus{"True", "False", "True", "False", "True"} {
		at := noon.Add(time.Duration(i) * time.Hour)
		// The later a run began, the later it ended, but for the last one.
		end := at.Add(time.Minute)
		if i == 4 {
			end = noon.Add(time.Second)
		}
		runs = append(runs, runAt(at, ended(end, succeeded)))
	}
	runs = append(runs, runAt(noon.Add(9*time.Hour)))
	for name, tt := range map[string]struct {
		successful, failed int
		want               []int
	}{
		"all are kept":            {3, 2, nil},
		"none is kept":            {0, 0, []int{4, 0, 1, 2, 3}},
		"one is kept of each":     {1, 1, []int{4, 0, 1}},
		"more than there are":     {100, 100, nil},
		"only those that failed":  {0, 2, []int{4, 0, 2}},
		"the one that ended last": {1, 2, []int{4, 0}},
	} {
		var want []string
		for _, i := range tt.want {
			want = append(want, runs[i].Name)
		}
		var got []string
		for _, run := range beyond(slices.Clone(runs), tt.successful, tt.failed) {
			got = append(got, run.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
