// SPDX-License-Identifier: Apache-2.0

package span

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/span/spantest"
)

// An id is the same whenever it is computed, and belongs to one span.
func TestSpans(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	spans := Of(run, steps)
	if diff := cmp.Diff(spans, Of(run, steps)); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	known := map[string]bool{"": true}
	for _, s := range spans {
		if s.TraceID != strings.ReplaceAll(spantest.UID, "-", "") || known[s.SpanID] || !known[s.ParentSpanID] {
			t.Errorf("ids of %+v", s)
		}
		known[s.SpanID] = true
	}
	run.UID = "short"
	if id := Of(run, nil)[0].TraceID; len(id) != 32 {
		t.Errorf("the trace id is %q", id)
	}
}

// Two runs of one caller are in its trace, each below the span that made it, and each has its own spans.
func TestRunsOfACallerAreInItsTrace(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	known := map[string]bool{}
	for _, id := range []types.UID{spantest.UID, "1f8fad5b-d9cb-469f-a165-70867728950e"} {
		run, steps := spantest.Lived()
		run.UID, run.Annotations = id, map[string]string{v1alpha1.AnnotationTraceParent: "00-" + trace + "-" + parent + "-01"}
		for i, s := range Of(run, steps) {
			if s.TraceID != trace || known[s.SpanID] || (s.ParentSpanID == parent) != (i == 0) {
				t.Errorf("ids of %+v", s)
			}
			known[s.SpanID] = true
		}
	}
}

// What a manager that was killed left open ended with the attempt. What never began has no time.
func TestWhatHasNoResultEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	run.Status.Attempts[1].CompletionTime = new(spantest.At(130))
	if Settled(&steps[3]) || !Settled(&steps[0]) || !Settled(&steps[2]) {
		t.Error("a step with calls without results counts as settled, or another one does not")
	}
	took := map[string]int64{}
	for _, s := range Of(run, steps) {
		if s.Attempt == 2 && s.Ended() {
			took[string(s.Kind)+s.CallID] = *s.DurationMilliseconds
		}
	}
	if diff := cmp.Diff(map[string]int64{"Attempt": 35000, "Step": 34000, "Model": 4000, "Toold0": 30000}, took); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
