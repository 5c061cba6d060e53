// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"reflect"
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
