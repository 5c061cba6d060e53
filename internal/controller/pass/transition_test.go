// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestEventsAreShortAndPrintable(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(1)
	Tell(recorder, &v1alpha1.MotorRun{}, []Transition{NewTransition(corev1.EventTypeNormal, "Told", "Tell", hostile+strings.Repeat("x", 2*MaxNote))})
	if e := <-recorder.Events; strings.ContainsAny(e, "\x1b\u202e\u200b\r\x07") || !strings.Contains(e, "evil") || len(e) > 1024 {
		t.Errorf("%d bytes: %q", len(e), e)
	}
}

func TestChangedCondition(t *testing.T) {
	t.Parallel()
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message}}
	}
	before := condition(metav1.ConditionFalse, "Waiting", "a")
	for name, tt := range map[string]struct {
		before, after []metav1.Condition
		changed       bool
	}{
		"never set":       {nil, nil, false},
		"new":             {nil, before, true},
		"another status":  {before, condition(metav1.ConditionTrue, "Waiting", "a"), true},
		"another reason":  {before, condition(metav1.ConditionFalse, "Refused", "a"), true},
		"another message": {before, condition(metav1.ConditionFalse, "Waiting", "b"), false},
		"gone":            {before, nil, false},
	} {
		if _, is := ChangedCondition(tt.before, tt.after, "Ready"); (is != nil) != tt.changed {
			t.Errorf("%s: %+v", name, is)
		}
	}
}
