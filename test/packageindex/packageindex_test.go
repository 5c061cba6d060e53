// SPDX-License-Identifier: Apache-2.0

package packageindex_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/packageindex"
)

func index() *packageindex.Index {
	return packageindex.New(
		[]packageindex.Package{
			{Name: "tiny-wheel", Version: "1.2", Files: map[string]string{"tiny_wheel.py": "import other\nvalue = other.value + 1\n"}, Needs: map[string]string{"other": "3"}},
			{Name: "other", Version: "3", Files: map[string]string{"other.py": "value = 41\n"}},
		},
		[]packageindex.Package{
			{Name: "tiny", Version: "1.0.0", Files: map[string]string{"index.js": "module.exports = require('@scope/part') + 1\n"}, Needs: map[string]string{"@scope/part": "2.0.0"}},
			{Name: "@scope/part", Version: "2.0.0", Files: map[string]string{"index.js": "module.exports = 41\n"}},
		})
}

// run runs a program and gives what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not on this machine; the tests of the cluster install from this index too", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PIP_CONFIG_FILE=" + os.DevNull, "PYTHONPATH=" + filepath.Join(dir, "python")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestPip(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(index())
	t.Cleanup(server.Close)
	dir := t.TempDir()
	if err := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").Run(); err != nil {
		t.Skip("pip is not on this machine; the tests of the cluster install from this index too")
	}
	run(t, dir, "python3", "-m", "pip", "install", "--target", "python", "--index-url", server.URL+"/simple", "--no-cache-dir", "--disable-pip-version-check", "tiny-wheel==1.2")
	if got := run(t, dir, "python3", "-c", "import tiny_wheel; print(tiny_wheel.value)"); got != "42" {
		t.Errorf("got %q", got)
	}
}

func TestNPM(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(index())
	t.Cleanup(server.Close)
	dir := t.TempDir()
	run(t, dir, "npm", "install", "--no-audit", "--no-fund", "--registry", server.URL+"/npm", "--cache", filepath.Join(dir, "cache"), "tiny@1.0.0")
	if got := run(t, dir, "node", "-p", "require('tiny')"); got != "42" {
		t.Errorf("got %q", got)
	}
}
