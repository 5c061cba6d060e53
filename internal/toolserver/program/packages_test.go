// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// TestProgramsOfPackagesComeLast lets a package of each kind bring a program of its own and one with the name of a system's.
func TestProgramsOfPackagesComeLast(t *testing.T) {
	for kind, folder := range map[string]string{
		"npm": toolapi.PackagesNPM + "/.bin", "pip": toolapi.PackagesPip + "/bin", "apt": toolapi.PackagesApt + "/usr/bin", "apt, sbin": toolapi.PackagesApt + "/sbin",
	} {
		t.Run(kind, func(t *testing.T) {
			s := stoppedSandbox(t)
			s.packages = t.TempDir()
			dir := filepath.Join(s.packages, folder)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"uname", "of-the-package"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho the package\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s.start()
			if r := s.bash("uname; of-the-package"); r.Output != "Linux\nthe package\n" {
				t.Errorf("got %q", r.Output)
			}
		})
	}
}

// TestLibrariesOfPackagesComeLast has a package bring a library under the name of one that bash needs. A library that only the package has
// is found.
func TestLibrariesOfPackagesComeLast(t *testing.T) {
	s := stoppedSandbox(t)
	s.packages = t.TempDir()
	dir := filepath.Join(s.packages, toolapi.PackagesApt, "usr/lib")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libc.so.6", "libtinfo.so.6", "libdl.so.2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no library\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	if r := s.bash("bash -c 'echo well'; [[ $LD_LIBRARY_PATH == *:" + dir + " ]] && echo last"); r.Output != "well\nlast\n" {
		t.Errorf("got %q", r.Output)
	}
}

func TestWithPackages(t *testing.T) {
	env := []string{"PATH=/bin"}
	if got := withPackages(env, "", "/bin"); !slices.Equal(got, env) {
		t.Errorf("without packages: %q", got)
	}
	dir := t.TempDir()
	for _, folder := range []string{toolapi.PackagesPip + "/bin", toolapi.PackagesNPM, toolapi.PackagesApt + "/usr/lib/x86_64-linux-gnu"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	python, node, root := filepath.Join(dir, toolapi.PackagesPip), filepath.Join(dir, toolapi.PackagesNPM), filepath.Join(dir, toolapi.PackagesApt)
	want := []string{
		"PATH=/bin", "PATH=/bin:" + python + "/bin", "NODE_PATH=" + node,
		"LD_LIBRARY_PATH=" + strings.Join(slices.Concat(librariesIn("/usr/local"), librariesIn("/"),
			[]string{root + "/usr/lib/x86_64-linux-gnu", root + "/usr/lib"}), ":"),
	}
	if got := withPackages(env, dir, "/bin"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Without a way out package managers report at once that they reach no registry; with one nothing prevents them from it.
func TestPackageManagersKnowTheWayOut(t *testing.T) {
	s := newSandbox(t)
	const ask = `echo "$PIP_NO_INDEX $npm_config_offline $PIP_BREAK_SYSTEM_PACKAGES"`
	if r := s.bash(ask); r.Output != "1 true 1\n" {
		t.Errorf("without a way out: %q", r.Output)
	}
	s.setEgress(toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 1})
	if r := s.bash(ask); r.Output != "  1\n" {
		t.Errorf("with a way out: %q", r.Output)
	}
}
