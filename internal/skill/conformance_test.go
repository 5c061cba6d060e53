// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder reads the files of a skill.
func folder(t *testing.T, dir string) []File {
	t.Helper()
	var files []File
	root := os.DirFS(dir)
	if err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, p)
		files = append(files, File{Path: p, Content: content})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestConformance checks what the standard and the skills that are published with it do. Each is accepted.
func TestConformance(t *testing.T) {
	t.Parallel()
	const valid = "testdata/conformance/valid"
	entries, err := os.ReadDir(valid)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, e := range entries {
		m, files, err := Check(e.Name(), folder(t, filepath.Join(valid, e.Name())))
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		b, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n", b)
		for _, f := range files {
			fmt.Fprintf(&got, "%s %t\n", f.Path, f.Executable)
		}
	}
	golden(t, "valid.golden", got.String())
}

// TestRefusals has every message and every warning for the eyes of a reviewer.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const refused = "testdata/conformance/refused"
	entries, err := os.ReadDir(refused)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(refused, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n", strings.TrimSuffix(e.Name(), ".md"))
		m, err := ParseManifest(content)
		if err != nil {
			fmt.Fprintf(&got, "  %v\n", err)
			checkMessage(t, err.Error())
		} else if len(m.Warnings) == 0 {
			t.Errorf("nothing is odd about %s", e.Name())
		}
		for _, w := range m.Warnings {
			fmt.Fprintf(&got, "  %s, line %d: %s\n", w.Kind, w.Line, w.Message)
			checkMessage(t, w.Message)
		}
	}
	for _, c := range fileRefusals() {
		_, _, err := Check(c.skill, c.files)
		var problem *Problem
		if !errors.As(err, &problem) {
			t.Errorf("%s: %v is no problem", c.name, err)
			continue
		}
		if problem.TooLarge != c.large {
			t.Errorf("%s: too large: %t", c.name, problem.TooLarge)
		}
		fmt.Fprintf(&got, "files: %s\n  %v\n", c.name, err)
		checkMessage(t, err.Error())
	}
	golden(t, "refusals.golden", got.String())
}

// checkMessage: a message is short, on one line, and can be shown on any terminal.
func checkMessage(t *testing.T, message string) {
	t.Helper()
	if len(message) > maxProblems*600 || strings.ContainsAny(message, "\n\t") || strings.ContainsFunc(message, unseen) || strings.HasSuffix(message, ".") {
		t.Errorf("%q is no message", message)
	}
}
