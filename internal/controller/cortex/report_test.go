// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestReport(t *testing.T) {
	t.Parallel()
	model := finding{v1alpha1.CortexModelAvailable, true, v1alpha1.ReasonCortexAvailable, "The model answers."}
	away := finding{v1alpha1.CortexModelAvailable, false, v1alpha1.ReasonModelUnavailable, "The model is away."}
	search := finding{v1alpha1.CortexSearchReady, true, v1alpha1.ReasonCortexAvailable, "It can be asked."}
	refused := finding{v1alpha1.CortexSearchReady, false, v1alpha1.ReasonSearchUnavailable, "It refused."}
	bucket := finding{v1alpha1.CortexArchiveReady, false, v1alpha1.ReasonArchiveUnavailable, "It cannot be listed."}
	tests := map[string]struct {
		found []finding
		want  []string
		says  string
	}{
		"the model alone":       {[]finding{model}, []string{"ModelAvailable True Available", "Ready True Available"}, "Everything"},
		"a model that is away":  {[]finding{away}, []string{"ModelAvailable False ModelUnavailable", "Ready False ModelUnavailable"}, "The model is away."},
		"search too":            {[]finding{model, search}, []string{"ModelAvailable True Available", "SearchReady True Available", "Ready True Available"}, "Everything"},
		"search that refuses":   {[]finding{model, refused}, []string{"ModelAvailable True Available", "SearchReady False SearchUnavailable", "Ready False SearchUnavailable"}, "It refused."},
		"the first is reported": {[]finding{away, refused, bucket}, []string{"ModelAvailable False ModelUnavailable", "SearchReady False SearchUnavailable", "ArchiveReady False ArchiveUnavailable", "Ready False ModelUnavailable"}, "ModelAvailable, SearchReady, ArchiveReady are False. The model is away."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A condition of a service that is no longer configured goes; one of another owner stays.
			st := &v1alpha1.MotorCortexStatus{Conditions: []metav1.Condition{
				{Type: v1alpha1.CortexSearchReady, Status: metav1.ConditionTrue, Reason: "Old"}, {Type: "Theirs", Status: metav1.ConditionTrue, Reason: "R"},
			}}
			report(st, 7, tt.found)
			for _, want := range tt.want {
				w := strings.Fields(want)
				c := apimeta.FindStatusCondition(st.Conditions, w[0])
				if c == nil || string(c.Status) != w[1] || c.Reason != w[2] || c.ObservedGeneration != 7 {
					t.Errorf("%s: %+v", want, c)
				}
			}
			if len(st.Conditions) != len(tt.want)+1 || st.ObservedGeneration != 7 {
				t.Errorf("conditions %+v, generation %d", st.Conditions, st.ObservedGeneration)
			}
			if c := apimeta.FindStatusCondition(st.Conditions, v1alpha1.CortexReady); !strings.Contains(c.Message, tt.says) {
				t.Errorf("Ready says %q", c.Message)
			}
		})
	}
}

// A service's own words are bounded: the API server would refuse the status as a whole.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	st := &v1alpha1.MotorCortexStatus{}
	report(st, 1, []finding{{v1alpha1.CortexModelAvailable, false, v1alpha1.ReasonModelUnavailable, strings.Repeat("ü", 40<<10)}})
	for _, c := range st.Conditions {
		if len(c.Message) > maxMessage {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}
