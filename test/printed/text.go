// SPDX-License-Identifier: Apache-2.0

// Package printed has what a program has printed so far, for tests that read it while the program runs.
package printed

import (
	"bytes"
	"sync"
)

// Text is all that was written to it. Its zero value is empty. It can be written and read by many at once.
type Text struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String returns the text.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
