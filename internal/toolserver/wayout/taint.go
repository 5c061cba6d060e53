// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wayout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolserver/durable"
)

// taintFile in the state folder marks that the sandbox may have content that came in from the web.
const taintFile = "web"

// Taint reports whether content of the sandbox may have come in from the web: there is or was a way out, an input file came from there, or
// a result did. The server cannot determine which file has such content. So there is one mark for all of them, it is on disk before
// anything can come in, and it is never removed.
type Taint struct {
	file string

	mu  sync.Mutex
	set bool
}

// OpenTaint reads the mark in the state folder.
func OpenTaint(state string) (*Taint, error) {
	t := &Taint{file: filepath.Join(state, taintFile)}
	switch _, err := os.Stat(t.file); {
	case err == nil:
		t.set = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("find out whether anything came in from the web: %w", err)
	}
	return t, nil
}

// Mark is called before something from the web can come in.
func (t *Taint) Mark() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set {
		return nil
	}
	if err := durable.Write(t.file, nil); err != nil {
		return fmt.Errorf("record that something comes in from the web: %w", err)
	}
	t.set = true
	return nil
}

// Marked reports whether Mark was ever called for this sandbox.
func (t *Taint) Marked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set
}
