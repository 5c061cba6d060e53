// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// with is a run with conditions, each written as type, status and reason.
func with(conditions ...[3]string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid"}}
	for _, c := range conditions {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{
			Type: c[0], Status: metav1.ConditionStatus(c[1]), Reason: c[2], LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute)),
		})
	}
	return run
}

func TestARunIsCountedByItsConditions(t *testing.T) {
	t.Parallel()
	accepted, unfinished := [3]string{"Accepted", "True", "Accepted"}, [3]string{"Finished", "False", "Running"}
	finished := [3]string{"Finished", "True", "Completed"}
	for name, tt := range map[string]struct {
		conditions [][3]string
		want       standing
	}{
		"not looked at yet": {nil, standing{statePending, ""}},
		"queued":            {[][3]string{{"Accepted", "False", "Queued"}}, standing{stateQueued, "Queued"}},
		"not accepted":      {[][3]string{{"Accepted", "False", "InputFileNotFound"}}, standing{statePending, "InputFileNotFound"}},
		"a person must act": {[][3]string{{"Accepted", "False", "InputFileNotFound"}, {"Stalled", "True", "InputFileNotFound"}}, standing{stateStalled, "InputFileNotFound"}},
		"its Pod starts":    {[][3]string{accepted, {"SandboxReady", "False", "SandboxStarting"}}, standing{statePending, "SandboxStarting"}},
		"it runs":           {[][3]string{accepted, {"SandboxReady", "True", "SandboxReady"}, unfinished}, standing{stateRunning, "Running"}},
		"no model":          {[][3]string{accepted, {"SandboxReady", "True", "SandboxReady"}, {"ModelAvailable", "False", "ModelUnavailable"}}, standing{statePending, "ModelUnavailable"}},
		"it asks":           {[][3]string{accepted, {"AwaitingInput", "True", "Question"}, {"SandboxReady", "False", "SandboxLost"}}, standing{stateAwaiting, "Question"}},
		"it has an answer":  {[][3]string{accepted, {"AwaitingInput", "False", "Answered"}}, standing{stateRunning, "Running"}},
		"suspended":         {[][3]string{accepted, {"Suspended", "True", "Suspended"}, {"AwaitingInput", "True", "Question"}}, standing{stateSuspended, "Suspended"}},
		"succeeded":         {[][3]string{accepted, finished, {"Succeeded", "True", "Completed"}}, standing{stateSucceeded, "Completed"}},
		"failed":            {[][3]string{accepted, finished, {"Succeeded", "False", "Timeout"}, {"Stalled", "True", "Timeout"}}, standing{stateFailed, "Timeout"}},
		"cancelled":         {[][3]string{finished, {"Succeeded", "False", "Cancelled"}}, standing{stateCancelled, "Cancelled"}},
		"a foreign status":  {[][3]string{finished}, standing{stateFailed, ""}},
	} {
		run := with(tt.conditions...)
		// The phase is for people. Metrics that followed it would miss what conditions say.
		run.Status.Phase = v1alpha1.PhaseRunning
		if got := standingOf(run); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	deleting := with(accepted)
	deleting.DeletionTimestamp = &metav1.Time{Time: noon}
	if got := standingOf(deleting); got.state != stateDeleting || got.ended() {
		t.Errorf("a run that is being deleted: %v", got)
	}
}

func TestTheCourseOfARunHasItsWaits(t *testing.T) {
	t.Parallel()
	run := with([3]string{"Accepted", "False", "Queued"}, [3]string{"Reconciling", "True", "Running"})
	run.Status.PendingInputs = []v1alpha1.PendingInput{
		{ID: "a", Kind: v1alpha1.InputQuestion, AskTime: metav1.NewTime(noon), ExpirationTime: metav1.NewTime(noon.Add(time.Hour))},
		{ID: "b", Kind: v1alpha1.InputApproval, Answered: true},
	}
	want := course{
		at: standing{stateQueued, "Queued"}, conditions: []condition{{"Accepted", "False", "Queued"}}, queuedSince: noon.Add(-time.Minute),
		asks: []ask{{v1alpha1.InputQuestion, noon, noon.Add(time.Hour)}},
	}
	if diff := cmp.Diff(want, courseOf(run, standingOf(run)), cmp.AllowUnexported(course{}, standing{}, condition{}, ask{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
