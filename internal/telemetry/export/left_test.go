// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
)

var begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
}

const (
	runName = "portfolio"
	runUID  = "0f8fad5b-d9cb-469f-a165-70867728950e"
)

// newRun is a run in its first attempt.
func newRun() *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: runName, Namespace: "agents", UID: runUID, CreationTimestamp: at(0)},
		Status:     v1alpha1.MotorRunStatus{Attempts: []v1alpha1.AttemptStatus{{Index: 1, StartTime: new(at(1))}}},
	}
}

// newStep is a step with one call, which has a result if it is settled.
func newStep(attempt, index int32, seconds int, settled bool) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: journal.StepName(runName, attempt, index), Namespace: "agents", CreationTimestamp: at(seconds),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: runName, UID: runUID, Controller: new(true)}},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, ModelMilliseconds: 500,
			ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: "bash", Arguments: `{"command":"make"}`}},
		},
	}
	if settled {
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "c0", OK: true, Output: "built", DurationMilliseconds: 100}}
	}
	return s
}

// newOutage is the outage that a step waited for.
func newOutage(attempt, index int32, seconds int) *v1alpha1.MotorStep {
	s := newStep(attempt, index, seconds, true)
	s.Name, s.Spec = journal.OutageName(runName, attempt, index), v1alpha1.MotorStepSpec{Type: v1alpha1.StepOutage, Attempt: attempt, Index: index}
	return s
}

// told is what a portion has, each span in a few words.
func told(t *testing.T, k *known, c *cursor, now time.Time) []string {
	t.Helper()
	p, err := k.left(*c, now, maxSteps)
	if err != nil {
		t.Fatal(err)
	}
	*c = p.next
	var list []string
	for _, s := range p.spans {
		list = append(list, fmt.Sprintf("%s %d/%d", s.Kind, s.Attempt, s.Step))
	}
	slices.Sort(list)
	return list
}

// knownOf is a run with these steps.
func knownOf(run *v1alpha1.MotorRun, steps *[]*v1alpha1.MotorStep) *known {
	find := func(name func(string, int32, int32) string) func(int32, int32) (*v1alpha1.MotorStep, error) {
		return func(attempt, index int32) (*v1alpha1.MotorStep, error) {
			for _, s := range *steps {
				if s.Name == name(runName, attempt, index) {
					return s, nil
				}
			}
			return nil, nil
		}
	}
	return &known{run: run, step: find(journal.StepName), outage: find(journal.OutageName)}
}

// A run is told as it goes, each span once: steps when they are settled, attempts and the run when they are over.
func TestRunIsToldAsItGoes(t *testing.T) {
	t.Parallel()
	run, steps, c := newRun(), []*v1alpha1.MotorStep{newStep(1, 1, 10, false)}, cursor{}
	k := knownOf(run, &steps)
	for _, phase := range []struct {
		name   string
		change func()
		now    int
		want   []string
	}{
		{"a call runs", func() {}, 11, nil},
		{"it has a result", func() { steps[0] = newStep(1, 1, 10, true) }, 12, []string{"Model 1/1", "Step 1/1", "Tool 1/1"}},
		{"nothing more", func() {}, 13, nil},
		{"the model cannot be had", func() { steps = append(steps, newOutage(1, 2, 20)) }, 21, nil},
		{"it can again", func() { steps = append(steps, newStep(1, 2, 30, true)) }, 31, []string{"Model 1/2", "Outage 1/2", "Step 1/2", "Tool 1/2"}},
		{"the attempt fails, and a call has no result", func() {
			steps = append(steps, newStep(1, 3, 40, false))
			run.Status.Attempts[0].CompletionTime, run.Status.Attempts[0].Failure = new(at(50)), &v1alpha1.FailureSummary{Reason: "Stuck"}
		}, 52, nil},
		{"that does not change", func() {}, 56, []string{"Attempt 1/0", "Model 1/3", "Step 1/3", "Tool 1/3"}},
		{"another attempt is lost with the run", func() {
			run.Status.Attempts = append(run.Status.Attempts, v1alpha1.AttemptStatus{Index: 2, StartTime: new(at(60))})
			steps = append(steps, newStep(2, 1, 65, true), newOutage(2, 2, 70))
			run.Status.CompletionTime = new(at(80))
		}, 81, []string{"Model 2/1", "Step 2/1", "Tool 2/1"}},
		{"for a while", func() {}, 86, []string{"Attempt 2/0", "Outage 2/2", "Run 0/0"}},
		{"nothing more of it", func() {}, 87, nil},
	} {
		phase.change()
		if diff := cmp.Diff(phase.want, told(t, k, &c, at(phase.now).Time)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", phase.name, diff)
		}
	}
}

// What is told in parts is what the plugin shows at once.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	run, steps := newRun(), []*v1alpha1.MotorStep{}
	run.Status.Attempts[0].CompletionTime, run.Status.CompletionTime = new(at(500)), new(at(500))
	var whole []v1alpha1.MotorStep
	for i := range int32(20) {
		steps = append(steps, newStep(1, i+1, 10+int(i), true))
		whole = append(whole, *steps[i])
	}
	want := map[string]span.Span{}
	for _, s := range span.Of(run, whole) {
		want[s.SpanID] = s
	}
	c, got := cursor{}, map[string]span.Span{}
	for more, n := true, 0; more; n++ {
		p, err := knownOf(run, &steps).left(c, at(600).Time, 7)
		if err != nil || n > 5 {
			t.Fatalf("portion %d: %v", n, err)
		}
		for _, s := range p.spans {
			got[s.SpanID] = s
		}
		c, more = p.next, p.more
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run that is deleted ended then, and what it left is told at once.
func TestDeletedRunEnded(t *testing.T) {
	t.Parallel()
	run, steps, c := newRun(), []*v1alpha1.MotorStep{newStep(1, 1, 10, false)}, cursor{}
	k := knownOf(deletedAt(run, at(20).Time), &steps)
	k.deleted = true
	if diff := cmp.Diff([]string{"Attempt 1/0", "Model 1/1", "Run 0/0", "Step 1/1", "Tool 1/1"}, told(t, k, &c, at(20).Time)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if run.Status.CompletionTime != nil || k.run.Status.Reason != resultDeleted {
		t.Errorf("the run is %+v", k.run.Status)
	}
}
