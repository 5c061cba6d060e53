// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wayout

import (
	"os"
	"path/filepath"
	"testing"
)

// A mark that cannot be kept lets nothing in.
func TestTaintIsOnDiskFirst(t *testing.T) {
	dir := t.TempDir()
	mark, err := OpenTaint(dir)
	if err != nil || mark.Marked() {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := mark.Mark(); err == nil || mark.Marked() {
		t.Errorf("marked without a folder: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mark.Mark(); err != nil || !mark.Marked() {
		t.Error(err)
	}
	if again, err := OpenTaint(dir); err != nil || !again.Marked() {
		t.Errorf("opened again: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, taintFile)); err != nil {
		t.Fatal(err)
	}
	if err := mark.Mark(); err != nil || !mark.Marked() {
		t.Error("a mark is never taken back")
	}
}
