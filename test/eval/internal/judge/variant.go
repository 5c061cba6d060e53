// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// Variant is an end of a task that was written down, to test its checks: the folder solution, or one that begins with wrong-. It has
// an outcome.yaml, the changed files below files and, for work that did not reach the person, those below sandbox.
type Variant struct {
	Name    string
	Want    Verdict
	Outcome Outcome
}

// variantFile is outcome.yaml.
type variantFile struct {
	Outcome `yaml:",inline"`
	// Want is the verdict that the checks must come to.
	Want Verdict `yaml:"want"`
	// Delete names files that were given and are not there at the end.
	Delete []string `yaml:"delete"`
}

// Variants reads the ends of a task that were written down.
func Variants(t *task.Task) ([]Variant, error) {
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return nil, err
	}
	var all []Variant
	for _, e := range entries {
		if !e.IsDir() || (e.Name() != "solution" && !strings.HasPrefix(e.Name(), "wrong-")) {
			continue
		}
		v, err := readVariant(t, e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", t.Name, e.Name(), err)
		}
		all = append(all, v)
	}
	return all, nil
}

func readVariant(t *task.Task, name string) (Variant, error) {
	dir := filepath.Join(t.Dir, name)
	content, err := os.ReadFile(filepath.Join(dir, "outcome.yaml"))
	if err != nil {
		return Variant{}, err
	}
	var f variantFile
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		return Variant{}, err
	}
	changed, err := tree.Read(filepath.Join(dir, "files"))
	if err != nil {
		return Variant{}, err
	}
	f.Workspace = t.Given().Without(f.Delete...).With(changed)
	sandbox := filepath.Join(dir, "sandbox")
	if _, err := os.Stat(sandbox); !errors.Is(err, fs.ErrNotExist) {
		seen, err := tree.Read(sandbox)
		if err != nil {
			return Variant{}, err
		}
		f.Sandbox = f.Workspace.With(seen)
	}
	return Variant{Name: name, Want: f.Want, Outcome: f.Outcome}, nil
}
