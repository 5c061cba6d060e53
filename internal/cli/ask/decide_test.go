// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// Commands that this program prints have a blank for words. Who pastes one as it is has said nothing.
func TestABlankIsNoWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, question("q"), v1alpha1.PendingInput{ID: "d", Kind: v1alpha1.InputDomainRequest}, v1alpha1.PendingInput{ID: "u", Kind: v1alpha1.InputOutcomeUnknown},
		v1alpha1.PendingInput{ID: "r", Kind: v1alpha1.InputRetry})
	for _, line := range []string{"answer run …", "deny run --reason …", "allow run --reason …", "settle run skip --reason …", "retry run --guidance …", "stop run --reason …", "approve run --reason …"} {
		r.want(verb.ExitMisused, line, "write your own words there")
	}
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
}
