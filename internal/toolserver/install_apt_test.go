// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// command runs a program of this machine in a folder and gives what it prints.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GNUPGHOME="+dir+"/gnupg")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// aptArchive is a signed archive of packages: program needs library. It gives its address and the keyring.
func aptArchive(t *testing.T) (address, keyring string) {
	t.Helper()
	dir := t.TempDir()
	keyring = dir + "/keyring.gpg"
	if err := os.Mkdir(dir+"/gnupg", 0o700); err != nil {
		t.Fatal(err)
	}
	var packages strings.Builder
	for _, p := range []struct {
		name, needs string
		files       map[string]string
	}{
		{"tiny-program", "tiny-part (= 2.0)", map[string]string{
			"usr/bin/tiny-program": "#!/bin/sh\ncat /packages-of-test 2>/dev/null; echo tiny\n", "DEBIAN/postinst": "#!/bin/sh\ntouch /tmp/ran-postinst\n",
		}},
		{"tiny-part", "", map[string]string{"usr/share/tiny/part": "part"}},
		{"bash", "", map[string]string{"bin/bash": "no shell"}},
		{"needs-bash", "bash (= 99)", map[string]string{"usr/share/x": "x"}},
	} {
		version := "2.0"
		if p.name == "bash" {
			version = "99"
		}
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: for a test\n", p.name, version)
		if p.needs != "" {
			control += "Depends: " + p.needs + "\n"
		}
		p.files["DEBIAN/control"] = control
		writeAll(t, dir+"/"+p.name, p.files)
		deb := fmt.Sprintf("%s_%s_all.deb", p.name, version)
		command(t, dir, "dpkg-deb", "--root-owner-group", "--build", p.name, deb)
		content, err := os.ReadFile(filepath.Join(dir, deb))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&packages, "%sFilename: %s\nSize: %d\nSHA256: %x\n\n", control, deb, len(content), sha256.Sum256(content))
	}
	list := packages.String()
	release := "Origin: test\nSuite: stable\nCodename: stable\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nArchitectures: all amd64 arm64\nComponents: main\nSHA256:\n"
	for _, arch := range []string{"all", "amd64", "arm64"} {
		name := "main/binary-" + arch + "/Packages"
		content := list
		if arch != "all" {
			content = ""
		}
		writeAll(t, dir+"/dists/stable", map[string]string{name: content})
		release += fmt.Sprintf(" %x %d %s\n", sha256.Sum256([]byte(content)), len(content), name)
	}
	writeAll(t, dir, map[string]string{"Release": release})
	command(t, dir, "gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.org", "rsa3072", "sign", "never")
	command(t, dir, "gpg", "--batch", "--output", "dists/stable/InRelease", "--clearsign", "Release")
	command(t, dir, "gpg", "--batch", "--output", keyring, "--export")
	command(t, dir, "gpgconf", "--kill", "all")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL, keyring
}

func TestInstallApt(t *testing.T) {
	for _, program := range []string{"apt-get", "dpkg-deb", "gpg", "gpgconf"} {
		needs(t, program, "--version")
	}
	address, keyring := aptArchive(t)
	s := installing(t)
	s.keyring = keyring
	s.start()
	apt := func(names ...string) toolapi.InstallArgs {
		return toolapi.InstallArgs{Apt: names, AptSource: address + " stable main"}
	}
	r, done, u := s.install(apt("tiny-program=2.0"))
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	if diff := cmp.Diff([]string{"apt tiny-part@2.0", "apt tiny-program@2.0"}, done.Packages); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if !isFile(u.to+"/root/usr/share/tiny/part") || isFile("/tmp/ran-postinst") {
		t.Errorf("what is installed: %v", treeOf(t, u.to))
	}
	for name, tt := range map[string]struct{ names, says string }{
		"another version":          {"tiny-program=3.0", "Version '3.0' for 'tiny-program' was not found"},
		"unknown":                  {"missing=1", "Unable to locate package missing"},
		"another one of the image": {"needs-bash=2.0", "apt would take bash 99"},
	} {
		if r, _, _ := s.install(apt(tt.names)); r.ErrorCode != toolapi.CodeInstallFailed || !strings.Contains(r.Output, tt.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s.stop()

	user := installing(t)
	user.packages = u.to
	user.start()
	if r := user.bash("tiny-program"); r.Output != "tiny\n" {
		t.Errorf("%+v", r)
	}
	user.stop()

	stranger := installing(t)
	stranger.keyring = keyring + ".none"
	writeAll(t, filepath.Dir(keyring), map[string]string{"keyring.gpg.none": ""})
	stranger.start()
	if r, _, _ := stranger.install(apt("tiny-program=2.0")); r.ErrorCode != toolapi.CodeInstallFailed {
		t.Errorf("not signed by the keyring: %+v", r)
	}
}
