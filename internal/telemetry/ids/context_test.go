// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	callerTrace, callerSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	runUID                  = "0f8fad5b-d9cb-469f-a165-70867728950e"
)

func TestParentIsReadAsTheTraceContextHasIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Context{
		"00-" + callerTrace + "-" + callerSpan + "-01":      {callerTrace, callerSpan, true},
		"00-" + callerTrace + "-" + callerSpan + "-00":      {callerTrace, callerSpan, false},
		"01-" + callerTrace + "-" + callerSpan + "-03":      {callerTrace, callerSpan, true},
		"01-" + callerTrace + "-" + callerSpan + "-01-more": {callerTrace, callerSpan, true},
	} {
		if got, ok := ParseParent(text); !ok || got != want {
			t.Errorf("%s is %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "00", "00-" + callerTrace + "-" + callerSpan, "00-" + callerTrace + "-" + callerSpan + "-01-more", "01-" + callerTrace + "-" + callerSpan + "-01more",
		"ff-" + callerTrace + "-" + callerSpan + "-01", "00-00000000000000000000000000000000-" + callerSpan + "-01", "00-" + callerTrace + "-0000000000000000-01",
		"00-0AF7651916CD43DD8448EB211C80319C-" + callerSpan + "-01", "00-" + callerTrace + "-" + callerSpan + "-0g", "00_" + callerTrace + "_" + callerSpan + "_01",
		"00-" + callerTrace + "-" + callerSpan[:15] + "--01",
	} {
		if got, ok := ParseParent(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// A run without a caller, or with an annotation that is none, has a trace of its own.
func TestRunIsInTheTraceOfItsCaller(t *testing.T) {
	t.Parallel()
	called := Of(runUID, map[string]string{v1alpha1.AnnotationTraceParent: "00-" + callerTrace + "-" + callerSpan + "-01"})
	if called != (Context{callerTrace, callerSpan, true}) {
		t.Errorf("a called run has %+v", called)
	}
	for _, annotations := range []map[string]string{nil, {v1alpha1.AnnotationTraceParent: "\x1b[2J"}} {
		if own := Of(runUID, annotations); own != (Context{Trace: Trace(runUID), Sampled: true}) {
			t.Errorf("with %v a run has %+v", annotations, own)
		}
	}
}
