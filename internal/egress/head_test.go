// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress"
)

// The buffer of a head is used again, by another client. The bytes that came with the head are a client's first to its host, and must still be
// its own then. A tunnel keeps them for as long as it is open, so they must not keep the buffer.
func TestWhatCameWithAHeadIsNoPartOfItsBuffer(t *testing.T) {
	t.Parallel()
	var kept [][]byte
	for i := range 50 {
		rest, reason := egress.ReadRequest(strings.NewReader(connectTo("example.org:443") + fmt.Sprintf("hello %03d", i)))
		if reason != "" {
			t.Fatal(reason)
		}
		kept = append(kept, rest)
	}
	for i, rest := range kept {
		if want := fmt.Sprintf("hello %03d", i); string(rest) != want {
			t.Errorf("%q, want %q", rest, want)
		}
		if cap(rest) > 100 {
			t.Errorf("it keeps %d bytes", cap(rest))
		}
	}
	if rest, reason := egress.ReadRequest(strings.NewReader(connectTo("example.org:443"))); reason != "" || rest != nil {
		t.Errorf("nothing came with the head, and %v with %d bytes is kept: %s", rest, cap(rest), reason)
	}
}
