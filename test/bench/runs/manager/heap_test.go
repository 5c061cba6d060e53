// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"runtime/pprof"
	"testing"
)

// The text is that of the Go release with which the manager is built as well.
func TestTheHeapOfThisProcessIsRead(t *testing.T) {
	t.Parallel()
	var profile bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := parseHeap(profile.String()); err != nil || got < 100<<10 || got > 1<<32 {
		t.Errorf("%g bytes, %v", got, err)
	}
}

func TestHeapAndStacksAreAdded(t *testing.T) {
	t.Parallel()
	if got, err := parseHeap("heap profile:\n# HeapAlloc = 1000\n# Stack = 24 / 5000\n"); got != 1024 || err != nil {
		t.Errorf("%g bytes, %v", got, err)
	}
	for _, text := range []string{"", "\n# HeapAlloc = 1000\n", "\n# HeapAlloc = many\n# Stack = 1 / 2\n", "\n# Stack = 1\n# HeapAlloc = "} {
		if got, err := parseHeap(text); err == nil {
			t.Errorf("%q: %g bytes", text, got)
		}
	}
}
