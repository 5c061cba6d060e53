// SPDX-License-Identifier: Apache-2.0

package reply_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// A call is shown whole, or not at all: a person who approves a part of it approves what they have not seen.
func TestACallIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	const whole, cut = `{"command":"git push origin main"}`, `{"command":"git … main"}`
	digest := calls.ArgsDigest("bash", whole)
	for name, tt := range map[string]struct {
		action *v1alpha1.PendingAction
		// step has these arguments, "" if there is no step.
		step, want, err string
	}{
		"in the status":       {&v1alpha1.PendingAction{Tool: "bash", Arguments: whole, ArgsDigest: digest}, "", whole, ""},
		"in the step":         {&v1alpha1.PendingAction{Tool: "bash", Arguments: cut, ArgsDigest: digest}, whole, whole, ""},
		"another in the step": {&v1alpha1.PendingAction{Tool: "bash", Arguments: cut, ArgsDigest: digest}, `{"command":"rm"}`, "", "another digest"},
		"without a step":      {&v1alpha1.PendingAction{Tool: "bash", Arguments: cut, ArgsDigest: digest}, "", "", "motorcortex-viewer"},
		"of a later operator": {nil, "", "", "another version"},
		"of another tool":     {&v1alpha1.PendingAction{Tool: "code", Arguments: whole, ArgsDigest: digest}, whole, "", "another digest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, err := cluster.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			b := fake.NewClientBuilder().WithScheme(scheme)
			if tt.step != "" {
				b.WithObjects(&v1alpha1.MotorStep{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "step"},
					Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "other"}, {ID: "c", Tool: "bash", Arguments: tt.step}}},
					Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "q", CallID: "c"}}},
				})
			}
			run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
			a := reply.Ask{Client: b.Build(), Run: run, PendingInput: &v1alpha1.PendingInput{ID: "q", StepName: "step", Action: tt.action}}
			got, err := a.Call(t.Context())
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
