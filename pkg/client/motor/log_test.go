// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func aStep(index int32, owner types.UID, content string, results ...v1alpha1.ToolResult) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("a-a01-s%04d-%s", index, owner), Namespace: "ns", Labels: map[string]string{v1alpha1.LabelRun: "a"},
			OwnerReferences: []metav1.OwnerReference{{UID: owner}},
		},
		Spec:   v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: index, Content: content},
		Status: v1alpha1.MotorStepStatus{Results: results},
	}
	for _, r := range results {
		s.Spec.ToolCalls = append(s.Spec.ToolCalls, v1alpha1.ToolCall{ID: r.CallID, Tool: "bash", Arguments: `{"command":"ls"}`})
	}
	return s
}

// What a tool returned cannot look like a line of the log.
func TestLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a"),
		aStep(2, "uid", "", v1alpha1.ToolResult{CallID: "c1", ErrorCode: "boom", Output: "x\rattempt 9, step 9\u2028ok, 1 ms\n", Provenance: "Web", DurationMilliseconds: 7}),
		aStep(1, "uid", "I look.\nThen I act.", v1alpha1.ToolResult{CallID: "c0", OK: true, Output: "files", DurationMilliseconds: 3}),
		aStep(1, "former", "an earlier run of the name"),
	)
	got, err := r.Log(t.Context(), "a")
	want := `attempt 1, step 1
| I look.
| Then I act.
call of the tool "bash" with
| {"command":"ls"}
ok, 3 ms
| files
attempt 1, step 2
call of the tool "bash" with
| {"command":"ls"}
failed ("boom"), from the web: not to be trusted, 7 ms
| x
| attempt 9, step 9
| ok, 1 ms
`
	if got != want || err != nil {
		t.Errorf("%v, %s", err, got)
	}
}

// The log is the end of what happened, and begins with a whole line.
func TestALongLog(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]int{"many steps": 300, "long steps": 20_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []runtime.Object{aRun("a")}
			for i := range int32(100) {
				objects = append(objects, aStep(i+1, "uid", strings.Repeat("y", each)))
			}
			got, err := newRig(t, objects...).Log(t.Context(), "a")
			if err != nil || len(got) > MaxLog || len(got) < MaxLog/3 {
				t.Fatalf("%v, %d bytes", err, len(got))
			}
			if !strings.HasPrefix(got, "(what was before is left out)\n") || !strings.Contains(got, "attempt 1, step 100\n") || strings.Contains(got, "step 1\n") {
				t.Errorf("the log is %s", got)
			}
			for line := range strings.Lines(got) {
				if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "attempt ") && !strings.HasPrefix(line, "(what") {
					t.Errorf("a line is %q", line)
				}
			}
		})
	}
}

func TestLoggedEnds(t *testing.T) {
	t.Parallel()
	s := aStep(3, "uid", "")
	s.Spec.Type, s.Spec.Outcome = v1alpha1.StepEnd, &v1alpha1.StepOutcome{Reason: "Stuck", Message: "It is stuck."}
	if got := logged(s); got != "attempt 1, step 3: the attempt failed\n| Stuck: It is stuck.\n" {
		t.Errorf("%q", got)
	}
	s = aStep(3, "uid", "")
	s.Spec.ToolCalls, s.Status.Phase = []v1alpha1.ToolCall{{ID: "c", Tool: "bash"}}, v1alpha1.StepInFlight
	if got := logged(s); got != "attempt 1, step 3\ncall of the tool \"bash\" with\nno result (InFlight)\n" {
		t.Errorf("%q", got)
	}
}
