// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFiles is the most production files of a package. Beyond it, files get prefixes where folders belong.
const maxFiles = 20

// groupVersions are the packages that are one version of an API, with the most files that they may have. The code generators need all kinds of a version
// in one package, so that a package for each kind is not possible. A file is for one kind or one part of it.
var groupVersions = map[string]int{"api/v1alpha1": 32}

// crowdedToday are the packages that have more, with how many. A number only ever gets smaller.
var crowdedToday = map[string]int{}

// trees are the folders with the product's code.
var trees = []string{"api", "cmd", "internal"}

// crowded finds packages with too many production files.
func crowded(root string) ([]string, error) {
	count := map[string]int{}
	err := production(root, func(file string) error {
		count[filepath.ToSlash(filepath.Dir(file))]++
		return nil
	})
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(count)) {
		limit := max(maxFiles, crowdedToday[dir], groupVersions[dir])
		if n := count[dir]; n > limit {
			found = append(found, fmt.Sprintf("%s has %d production files, and %d at most are for one subject: give the one that its new files share a package", dir, n, limit))
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(crowdedToday)) {
		if count[dir] < crowdedToday[dir] {
			found = append(found, fmt.Sprintf("%s has %d production files now: crowdedToday in hack/layout must say so, or not name it if that is %d or fewer", dir, count[dir], maxFiles))
		}
	}
	return found, err
}

// steps are the packages in which each file is a step, or a part of one, and has a test file of its name, with how many have none today. Those are
// tested against a real API server, in test/api. A number only ever gets smaller.
var steps = map[string]int{"internal/controller/budget": 0, "internal/controller/run": 7, "internal/controller/grant": 7, "internal/controller/isolation": 1, "internal/controller/placement": 1, "internal/controller/sweep": 1}

// untested finds files of steps without a test file of their name.
func untested(root string) ([]string, error) {
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(steps)) {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no files: steps in hack/layout names it", dir)
		}
		var without []string
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			if _, err := os.Stat(strings.TrimSuffix(f, ".go") + "_test.go"); err != nil {
				without = append(without, filepath.Base(f))
			}
		}
		switch n, today := len(without), steps[dir]; {
		case n > today:
			found = append(found, fmt.Sprintf("%s has %d files without a test file of their name, and %d at most may: %s", dir, n, today, strings.Join(without, ", ")))
		case n < today:
			found = append(found, fmt.Sprintf("%s has %d files without a test file of their name: steps in hack/layout must say so, in place of %d", dir, n, today))
		}
	}
	return found, nil
}

// production calls do for each Go file that is neither a test nor generated, with its path below the root.
func production(root string, do func(file string) error) error {
	for _, tree := range trees {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(d.Name(), "zz_generated"):
				return nil
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return do(relative)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
