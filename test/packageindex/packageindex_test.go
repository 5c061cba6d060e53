// SPDX-License-Identifier: Apache-2.0

package packageindex_test

import (
	"io"
	"net/http"
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
		},
		[]packageindex.Package{{
			Name: "tiny-deb", Version: "1.0-1", Files: map[string]string{"usr/share/tiny/value": "42\n", "DEBIAN/postinst": "#!/bin/sh\n"},
			Programs: map[string]string{"tiny-deb": "#!/bin/sh\ncat usr/share/tiny/value\n"}, Needs: map[string]string{"tiny-part": "2.0"},
		}})
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

// get returns what the index has at a path.
func get(t *testing.T, i *packageindex.Index, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	i.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: status %d, %v", path, w.Code, err)
	}
	return string(body)
}

func TestDeb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir+"/tiny.deb", get(t, index(), "/debian/pool/tiny-deb_1.0-1_all.deb"))
	if got := run(t, dir, "dpkg-deb", "--field", "tiny.deb", "Package", "Depends"); got != "Package: tiny-deb\nDepends: tiny-part (= 2.0)" {
		t.Errorf("it says of itself %q", got)
	}
	run(t, dir, "dpkg-deb", "--raw-extract", "tiny.deb", "tiny")
	if got := run(t, dir+"/tiny", dir+"/tiny/usr/bin/tiny-deb"); got != "42" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(dir + "/tiny/DEBIAN/postinst"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the maintainer script is %v, %v", info, err)
	}
}

// The list is signed with the key of its index, and with no other.
func TestSignature(t *testing.T) {
	t.Parallel()
	dir, i := t.TempDir(), index()
	writeFile(t, dir+"/InRelease", get(t, i, "/debian/dists/stable/InRelease"))
	for name, of := range map[string]*packageindex.Index{"own": i, "other": index()} {
		writeFile(t, dir+"/"+name+".asc", of.Key())
		run(t, dir, "gpg", "--batch", "--quiet", "--dearmor", "--output", name+".gpg", name+".asc")
	}
	run(t, dir, "gpgv", "--keyring", dir+"/own.gpg", "InRelease")
	if err := exec.CommandContext(t.Context(), "gpgv", "--keyring", dir+"/other.gpg", dir+"/InRelease").Run(); err == nil {
		t.Error("the key of another index passes too")
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
