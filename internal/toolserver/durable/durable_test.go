// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// A file has its old or its new content: a new file that cannot replace the old one leaves nothing behind.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state")
	for _, content := range []string{"begun", "done", ""} {
		if err := Write(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != content {
			t.Errorf("%q, %v, want %q", got, err, content)
		}
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "by"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if err := Write(filepath.Join(dir, "none", "state"), nil); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
	if left, err := filepath.Glob(filepath.Join(dir, TempPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("%v stay behind, %v", left, err)
	}
}
