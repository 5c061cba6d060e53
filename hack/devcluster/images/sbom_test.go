// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	const status = `Package: zip
Status: install ok installed
Version: 3.0-15
Architecture: amd64
Description: Archiver for .zip files
 Package: not a field

Package: gone
Status: deinstall ok config-files
Version: 1

Package: bash
Status: install ok installed
Architecture: amd64
Version: 5.2.37-2`
	got, err := parseStatus(strings.NewReader(status))
	want := []spdxPackage{
		{Name: "bash", Version: "5.2.37-2", References: purl("pkg:deb/debian/bash@5.2.37-2?arch=amd64&distro=trixie")},
		{Name: "zip", Version: "3.0-15", References: purl("pkg:deb/debian/zip@3.0-15?arch=amd64&distro=trixie")},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	api := &debug.Module{Path: "example.org/api", Version: "v0.2.0", Replace: &debug.Module{Path: "./api"}}
	fork := &debug.Module{Path: "example.org/m", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v1.0.1"}}
	plain := &debug.Module{Path: "example.org/plain", Version: "v1.0.0"}
	for given, want := range map[*debug.Module]*debug.Module{api: api, fork: fork.Replace, plain: plain} {
		if got := codeOf(given); got != want {
			t.Errorf("%s is from %s, want %s", given.Path, got.Path, want.Path)
		}
	}
}

// This very program is one of which the modules can be read.
func TestGoModules(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := goModules(program)
	if err != nil {
		t.Fatal(err)
	}
	doc := newDocument("image:1", packages)
	found := false
	for i, p := range doc.Packages {
		found = found || p.Name == "github.com/google/go-containerregistry" && p.Version != ""
		if doc.Relationships[i].Related != p.ID || p.DownloadLocation != noAssertion {
			t.Errorf("%+v is not described", p)
		}
	}
	if !found {
		t.Errorf("a module is missing among %d", len(doc.Packages))
	}
}
