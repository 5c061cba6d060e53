// SPDX-License-Identifier: Apache-2.0

// Package source finds this module's source tree. The program is a build tool of its own checkout:
// the go.mod files that pin the components cannot be embedded, since each is a module of its own.
package source

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const module = "motorcortex.dev/motorcortex/hack/devcluster"

// Dir returns the root of the devcluster module: the folder it was compiled from, or one at or above
// the working directory.
func Dir() (string, error) {
	var starts []string
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	if cwd, err := os.Getwd(); err == nil {
		starts = append(starts, cwd)
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "hack", "devcluster")} {
				if declares(filepath.Join(candidate, "go.mod"), module) {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("the source of hack/devcluster was not found; run this inside the repository")
}

// Product returns the root of the repository's main module, two levels above.
func Product() (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(dir)), nil
}

// declares reports whether a go.mod file is that of the module.
func declares(file, module string) bool {
	content, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = content.Close() }()
	for lines := bufio.NewScanner(content); lines.Scan(); {
		if name, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), "module "); found {
			return strings.TrimSpace(name) == module
		}
	}
	return false
}
