// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range trees {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCrowded(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		for _, dir := range []string{"internal/full", "internal/over"} {
			files[fmt.Sprintf("%s/f%d.go", dir, i)], files[fmt.Sprintf("%s/f%d_test.go", dir, i)] = "package p\n", "package p\n"
		}
	}
	files["internal/over/more.go"], files["internal/full/zz_generated.go"], files["internal/full/testdata/x.go"] = "package p\n", "package p\n", "package p\n"
	root := tree(t, files)
	before := crowdedToday
	defer func() { crowdedToday = before }()
	for name, tt := range map[string]struct {
		today map[string]int
		want  string
	}{
		"a package is over":            {nil, "internal/over has 21 production files, and 20"},
		"it was before":                {map[string]int{"internal/over": 21}, ""},
		"it got smaller":               {map[string]int{"internal/over": 22}, "internal/over has 21 production files now"},
		"a name that no longer counts": {map[string]int{"internal/over": 21, "internal/gone": 30}, "internal/gone has 0"},
	} {
		crowdedToday = tt.today
		found, err := crowded(root)
		if got := strings.Join(found, "\n"); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

func TestAVersionOfAnAPIHasABoundOfItsOwn(t *testing.T) {
	files := map[string]string{}
	for i := range groupVersions["api/v1alpha1"] {
		files[fmt.Sprintf("api/v1alpha1/f%d.go", i)] = "package p\n"
	}
	if found, err := crowded(tree(t, files)); err != nil || len(found) != 0 {
		t.Errorf("with as many as it may have: %q, %v", found, err)
	}
	files["api/v1alpha1/more.go"] = "package p\n"
	if found, err := crowded(tree(t, files)); err != nil || len(found) != 1 || !strings.Contains(found[0], "33 production files, and 32") {
		t.Errorf("with one more: %q, %v", found, err)
	}
}

func TestUntested(t *testing.T) {
	before := steps
	defer func() { steps = before }()
	root := tree(t, map[string]string{"internal/s/a.go": "", "internal/s/a_test.go": "", "internal/s/b.go": ""})
	for today, want := range map[int]string{0: "1 files without a test file of their name, and 0 at most may: b.go", 1: "", 2: "in place of 2"} {
		steps = map[string]int{"internal/s": today}
		found, err := untested(root)
		if got := strings.Join(found, "\n"); err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("with %d today: %q, %v; want %q", today, got, err, want)
		}
	}
	steps = map[string]int{"internal/gone": 0}
	if _, err := untested(root); err == nil {
		t.Error("a package of steps that is gone is not complained of")
	}
}

func TestProse(t *testing.T) {
	root := tree(t, map[string]string{
		"internal/p/a.go":      "package p\n\n// f says whether it is.\nfunc f() {}\n\nvar text = \"nobody\" // a comment behind code is not looked at\n",
		"internal/p/a_test.go": "package p\n\n// g gives nothing to nobody.\n",
		"cmd/c/b.go":           "package c\n\n// g gives it.\n// For Somebody there is more.\n",
	})
	found, err := prose(root)
	want := []string{`cmd/c/b.go:3: "g gives": write returns`, `cmd/c/b.go:4: "Somebody": write a subject`, `internal/p/a.go:3: "says whether": write reports whether`}
	if err != nil || len(found) != len(want) {
		t.Fatalf("%q, %v", found, err)
	}
	for i := range want {
		if !strings.HasPrefix(found[i], want[i]) {
			t.Errorf("%q, want %q", found[i], want[i])
		}
	}
}

func TestLodgers(t *testing.T) {
	root := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n", "api/go.mod": "module example.org/m/api\n\ngo 1.26\n",
		"api/a.go": "package api\n\nfunc lodger() {}\nfunc owner() {}\n", "api/b.go": "package api\n\nfunc b() { lodger() }\n",
		"api/c.go": "package api\n\nfunc c() { lodger() }\n", "api/d.go": "package api\n\nfunc d() { lodger() }\n", "cmd/c.go": "package cmd\n",
		"internal/p/home.go": "package p\n\nfunc lodger() {}\nfunc owner() {}\nfunc use() { owner() }\n",
		"internal/p/b.go":    "package p\n\nfunc b() { lodger(); owner() }\n", "internal/p/c.go": "package p\n\nfunc c() { lodger(); owner() }\n",
		"internal/p/d.go": "package p\n\nfunc d() { lodger(); owner() }\n",
	})
	found, err := lodgers(root)
	if err != nil || len(found) != 2 || !strings.Contains(found[0], "api.lodger lives in a.go") || !strings.Contains(found[1], "p.lodger lives in home.go") || !strings.Contains(found[1], "b, c, d") {
		t.Errorf("%q, %v", found, err)
	}
}
