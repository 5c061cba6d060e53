// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A leader of 0.1.0 writes the list of attempts without the field that records since when a call has no result. The next leader finds it in the
// journal, and a call that failed stays one that failed.
func TestEndedAttemptsAreRestored(t *testing.T) {
	t.Parallel()
	run := testRun()
	steps := []v1alpha1.MotorStep{
		testStep(0, 1, done("read", true, 5, "x"), done("bash", false, 5, "no")), testStep(0, 2, call("bash", `{"command":"make"}`)), testStep(1, 1, call("bash", `{}`)),
	}
	steps[0].Spec.Usage.Estimated = true
	failed := v1alpha1.CallHead{ID: "a0-s1-c1", Tool: "bash", ErrorCode: "exit_1"}
	open := v1alpha1.CallHead{ID: "a0-s2-c0", Tool: "bash"}
	run.Status.Attempts = []v1alpha1.AttemptStatus{
		{FinishedAt: new(metav1.NewTime(after(time.Minute))), LastCalls: []v1alpha1.CallHead{{ID: "a0-s1-c0", Tool: "read", OK: true}, failed, open}},
		{Index: 1, LastCalls: []v1alpha1.CallHead{{ID: "a1-s1-c0", Tool: "bash"}}},
	}
	want := run.DeepCopy()
	want.Status.Attempts[0].LastCalls[2].Since = new(metav1.NewTime(steps[1].CreationTimestamp.Time))
	want.Status.Attempts[0].Usage.Estimated = true
	p := ReadJournal(run, steps)
	for range 2 {
		RestoreAttempts(&run.Status, p)
		if diff := cmp.Diff(want.Status.Attempts, run.Status.Attempts); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// firstFields are the fields of an attempt that 0.1.0 knows. restoredFields are the later ones, which are lost when a leader of 0.1.0 writes the
// list. Each must be found again in the journal, or an attempt would be read in another way after a change of leaders.
var (
	firstFields = `
		cause failure failure.category failure.hint failure.lastStep failure.message failure.reason failure.retryable failure.suggestedAction
		finishedAt index iterations lastCalls lastCalls.durationMs lastCalls.errorCode lastCalls.head lastCalls.id lastCalls.ok lastCalls.tool
		recoveryContext startedAt usage usage.cachedTokens usage.completionTokens usage.promptTokens usage.totalTokens`
	restoredFields = map[string]string{
		"lastCalls.since": "Unfinished of the Progress",
		"usage.estimated": "Estimated of the Progress",
	}
)

func TestFieldsOfAttemptsSurviveAnOlderLeader(t *testing.T) {
	t.Parallel()
	want := append(strings.Fields(firstFields), slices.Collect(maps.Keys(restoredFields))...)
	got := fieldsOf(reflect.TypeFor[v1alpha1.AttemptStatus](), "")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a leader that does not know a field of an attempt drops it: have it found again in the journal, as RestoreAttempts does, and name it here (-want +got):\n%s", diff)
	}
}

// fieldsOf returns the paths of the JSON fields of a type of the API.
func fieldsOf(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.MotorRun]().PkgPath() {
		return nil
	}
	var list []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(append(list, path+name), fieldsOf(f.Type, path+name+".")...)
	}
	return list
}
