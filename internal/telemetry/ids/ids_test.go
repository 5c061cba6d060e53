// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// Another manager and an older plugin must name the same ids: a change of these values breaks traces in two.
func TestIDsOfARunStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const uid = "0f8c2a4e-1b3d-4c5f-8a9b-0c1d2e3f4a5b"
	trace := Trace(uid)
	if trace != "0f8c2a4e1b3d4c5f8a9b0c1d2e3f4a5b" {
		t.Errorf("the trace is %s", trace)
	}
	if a, b := Span(trace, "attempt", 1), Span(trace, "attempt", 2); a == b || a != Span(trace, "attempt", 1) {
		t.Errorf("the spans of two attempts are %s and %s", a, b)
	}
	if got := Span(trace, "run"); got != "7d002397f7f40a59" {
		t.Errorf("the span of the run is %s", got)
	}
}

func TestEveryUIDHasAValidTraceID(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[0-9a-f]{32}$`)
	seen := map[string]types.UID{}
	for _, uid := range []types.UID{
		"", "a", "uid-1", "00000000-0000-0000-0000-000000000000", "0F8C2A4E-1B3D-4C5F-8A9B-0C1D2E3F4A5C", "0f8c2a4e-1b3d-4c5f-8a9b-0c1d2e3f4a5b-00",
	} {
		id := Trace(uid)
		if !valid.MatchString(id) || id == "00000000000000000000000000000000" {
			t.Errorf("the UID %q has the trace id %q", uid, id)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("the UIDs %q and %q have one trace id", uid, other)
		}
		seen[id] = uid
	}
}
