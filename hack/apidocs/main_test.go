// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestThePagesAreUpToDate(t *testing.T) {
	t.Parallel()
	pages, err := render("../../api/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(kinds)+1 {
		t.Errorf("%d pages are made of %d kinds", len(pages), len(kinds))
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join("../../docs/reference", name)); err != nil || string(got) != want {
			t.Errorf("docs/reference/%s is not what make generate writes (%v)", name, err)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir, "../../api/v1alpha1"); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if info, err := os.Stat(filepath.Join(dir, k.page)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", k.page, err)
		}
	}
	if err := write(dir, t.TempDir()); err == nil {
		t.Error("an empty folder has an API")
	}
}
