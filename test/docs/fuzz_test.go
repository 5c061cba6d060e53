// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// TestFuzzTargetsHaveSeeds keeps inputs in the tree that each fuzz target begins with, and that every run of the tests tries.
func TestFuzzTargetsHaveSeeds(t *testing.T) {
	t.Parallel()
	targets := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range fuzzFunc.FindAllStringSubmatch(string(content), -1) {
			targets++
			for _, problem := range seedProblems(filepath.Join(filepath.Dir(path), "testdata", "fuzz", m[1])) {
				t.Errorf("%s of %s: %s", m[1], path, problem)
			}
		}
		return err
	})
	if err != nil || targets < 30 {
		t.Errorf("%d fuzz targets were found: %v", targets, err)
	}
}

// seedProblems says what is wrong with the seeds in a folder.
func seedProblems(dir string) (problems []string) {
	seeds, err := os.ReadDir(dir)
	if err != nil || len(seeds) == 0 {
		return []string{"there are no seeds in " + dir}
	}
	for _, seed := range seeds {
		content, err := os.ReadFile(filepath.Join(dir, seed.Name()))
		if err != nil || !strings.HasPrefix(string(content), "go test fuzz v1\n") {
			problems = append(problems, seed.Name()+" does not begin with \"go test fuzz v1\"")
		}
	}
	return problems
}

// TestMissingSeedsAreFound has a folder that is missing, is empty, or has something else in it be found.
func TestMissingSeedsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if seedProblems(filepath.Join(dir, "none")) == nil || seedProblems(dir) == nil {
		t.Error("a folder without seeds passes")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good", "go test fuzz v1\nstring(\"a\")\n")
	if got := seedProblems(dir); got != nil {
		t.Errorf("a seed gives %q", got)
	}
	write("bad", "string(\"a\")\n")
	if got := seedProblems(dir); !slices.Equal(got, []string{`bad does not begin with "go test fuzz v1"`}) {
		t.Errorf("what is no seed gives %q", got)
	}
}
