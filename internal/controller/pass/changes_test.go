// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func condition(of string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, Message: message}
}

func TestOnlyAnotherPhaseStatusOrReasonIsAChange(t *testing.T) {
	t.Parallel()
	accepted := func(status metav1.ConditionStatus, reason, message string) v1alpha1.MotorRunStatus {
		return v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionAccepted, status, reason, message)}}
	}
	for name, tt := range map[string]struct {
		before, after v1alpha1.MotorRunStatus
		want          []Change
	}{
		"another phase": {
			v1alpha1.MotorRunStatus{Phase: "Created"}, v1alpha1.MotorRunStatus{Phase: "Running", Reason: "Running"},
			[]Change{{"phase", "Created", "Running", "Running"}},
		},
		"the first state":      {v1alpha1.MotorRunStatus{}, accepted("False", "Queued", ""), []Change{{"Accepted", "", "False/Queued", "Queued"}}},
		"nothing is known yet": {v1alpha1.MotorRunStatus{}, accepted("Unknown", "Running", ""), nil},
		"another reason": {
			accepted("False", "Queued", ""), accepted("False", "ModelMissing", ""),
			[]Change{{"Accepted", "False/Queued", "False/ModelMissing", "ModelMissing"}},
		},
		"another status":  {accepted("False", "X", ""), accepted("True", "X", ""), []Change{{"Accepted", "False/X", "True/X", "X"}}},
		"another message": {accepted("False", "Queued", "the 2nd"), accepted("False", "Queued", "the 1st"), nil},
		"a summary": {v1alpha1.MotorRunStatus{}, v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionReconciling, "True", "X", ""), condition(v1alpha1.ConditionStalled, "True", "X", ""),
			condition(v1alpha1.ConditionFinished, "True", "X", ""),
		}}, nil},
	} {
		if got := Changes(&tt.before, &tt.after); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestAChangeIsOneLineOfTheLogWithoutItsMessage(t *testing.T) {
	t.Parallel()
	before := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", UID: "0f8c2a4e-1b3d-4c5f-8a9b-0c1d2e3f4a5b"}}
	after := before.DeepCopy()
	after.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
	after.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionAwaitingInput, "True", "Question", "the model's words")}
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	LogChanges(t.Context(), log, before, after)
	LogChanges(t.Context(), log, after, after)
	LogChanges(t.Context(), nil, before, after)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("the log is not one line: %v in %s", err, &out)
	}
	for key, want := range map[string]any{
		"namespace": "n", "run": "r", "uid": "0f8c2a4e-1b3d-4c5f-8a9b-0c1d2e3f4a5b", "traceID": "0f8c2a4e1b3d4c5f8a9b0c1d2e3f4a5b", "attempt": 2.0,
		"of": "AwaitingInput", "from": "", "to": "True/Question", "reason": "Question", "level": "INFO",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(out.String(), "words") {
		t.Errorf("the log has the message: %s", &out)
	}
}
