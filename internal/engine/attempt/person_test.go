// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// A person's words have no value that the model must not see, neither in the answer nor in the reason that is recorded, which fits into the step.
func TestWordsOfAPerson(t *testing.T) {
	t.Parallel()
	const value, digest = "0123456789abcdef", "sha256:0"
	long := strings.Repeat(`"`, 2048)
	for name, tt := range map[string]struct {
		ask            v1alpha1.StepAsk
		response       v1alpha1.Response
		outcome        turn.AskOutcome
		reason, answer string
	}{
		"open": {v1alpha1.StepAsk{Kind: v1alpha1.InputQuestion}, v1alpha1.Response{ID: "other", Answer: "red"}, "", "", ""},
		"an answer": {
			v1alpha1.StepAsk{Kind: v1alpha1.InputQuestion}, v1alpha1.Response{ID: "q", Answer: "use " + value}, turn.AskAnswered, "", "use <credential:key>",
		},
		"an answer that is recorded": {
			v1alpha1.StepAsk{Kind: v1alpha1.InputQuestion, Outcome: v1alpha1.AskAnswered}, v1alpha1.Response{ID: "q", Answer: "use " + value},
			turn.AskAnswered, "", "use <credential:key>",
		},
		"a reason": {
			v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest}, v1alpha1.Response{ID: "q", Decision: "Deny", Digest: digest, Reason: "not with " + value},
			turn.AskDenied, "not with <credential:key>", "",
		},
		"a long reason": {
			v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest}, v1alpha1.Response{ID: "q", Decision: "Deny", Digest: digest, Reason: long},
			turn.AskDenied, fit.CutEncoded(long, maxReason), "",
		},
		"a reason that is recorded": {
			v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest, Outcome: v1alpha1.AskDenied, Reason: "as before"},
			v1alpha1.Response{ID: "q", Decision: "Deny", Digest: digest, Reason: "now"}, turn.AskDenied, "as before", "",
		},
	} {
		run := enginetest.ReadyRun()
		run.Spec.Responses = []v1alpha1.Response{tt.response}
		step := enginetest.Step(run, 1, 1)
		step.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: "bash", Arguments: "{}"}}
		tt.ask.ID, tt.ask.CallID, tt.ask.Execution = "q", "a1-s1-c0", "a1-s1-c0"
		tt.ask.AskTime, tt.ask.ExpirationTime = metav1.NewTime(enginetest.Noon), metav1.NewTime(enginetest.Noon.Add(time.Hour))
		step.Status.Asks = []v1alpha1.StepAsk{tt.ask}
		c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(step).Build()
		env := enginetest.Env(t, c, run, func() time.Time { return enginetest.Noon.Add(time.Minute) })
		env.Known.Add("key", []byte(value))
		a, closed := Person{Env: env}.Reply(turn.Ask{ID: "q"})
		if closed != (tt.outcome != "") || a.Outcome != tt.outcome || a.Reason != tt.reason || a.Answer != tt.answer {
			t.Errorf("%s: closed %t: %+v", name, closed, a)
		}
	}
}
