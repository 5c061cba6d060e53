// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Many runs of a namespace cost one question each at most, and none where the person may answer all of them.
func TestRightsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	r := &reviews{allowed: map[string]bool{"approve motorruns ns": true}}
	mine := &rights{client: r.client(t), inNamespace: map[right]bool{}}
	for range 3 {
		run := waits("ns", "a", 0, v1alpha1.PendingInput{})
		if may, err := mine.answer(t.Context(), &run, v1alpha1.InputApproval); err != nil || !may {
			t.Errorf("%v, %v", may, err)
		}
	}
	if len(r.asked) != 1 {
		t.Errorf("asked are %q", r.asked)
	}
}
