// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A reader of the README types what make plugin prints, and kubectl finds the plugin.
func TestMakePluginPrintsTheLineForPATH(t *testing.T) {
	t.Parallel()
	dir, programs := filepath.Join(t.TempDir(), "plugins"), t.TempDir()
	// What is printed is looked at here, and not what is built.
	if err := os.WriteFile(filepath.Join(programs, "go"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	says := func(path string) string {
		cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../..", "plugin")
		cmd.Env = append(os.Environ(), "PATH="+path, "PLUGIN_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	path := programs + ":" + os.Getenv("PATH")
	line := `export PATH="` + dir + `:$PATH"`
	if out := says(path); !strings.Contains(out, "\n  "+line+"\n") {
		t.Errorf("it does not print %s, but %s", line, out)
	}
	if out := says(dir + ":" + path); strings.Contains(out, "export") {
		t.Errorf("the folder is on PATH, and it prints %s", out)
	}
}
