// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"time"
)

func TestADigestOfTheSameAsksHasTheSameID(t *testing.T) {
	t.Parallel()
	a, b := &Signal{ID: "a"}, &Signal{ID: "b"}
	one, again := DigestOf("ns", []*Signal{a, b}, time.Unix(1, 0)), DigestOf("ns", []*Signal{a, b}, time.Unix(2, 0))
	if one.ID != again.ID || one.ID == DigestOf("ns", []*Signal{a}, time.Unix(1, 0)).ID || one.ID == DigestOf("ns", []*Signal{b, a}, time.Unix(1, 0)).ID {
		t.Errorf("got %q and %q", one.ID, again.ID)
	}
}
