// SPDX-License-Identifier: Apache-2.0

package task

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const whole = `
title: t
kind: data
why: w
instruction: do it
tools: [bash]
turns: 5
seconds: 60
checks:
- text: {must: [a]}
`

func write(t *testing.T, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-task")
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"task.yaml": text, "files/a.txt": "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestATaskIsRead(t *testing.T) {
	t.Parallel()
	got, err := Load(write(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "a-task" || got.Claims[0] != Succeeded || string(got.Given()["a.txt"]) != "a" {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsWrongWithATaskIsNamed(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		strings.Replace(whole, "kind: data", "kind: other", 1):                                  `kind "other"`,
		strings.Replace(whole, "turns: 5", "turns: 51", 1):                                      "turns is 51",
		strings.Replace(whole, "seconds: 60", "seconds: 0", 1):                                  "seconds is 0",
		strings.Replace(whole, "why: w", "", 1):                                                 "title and why",
		strings.Replace(whole, "- text: {must: [a]}", "- text: {must: [\"(\"]}", 1):             "checks[0]",
		strings.Replace(whole, "- text: {must: [a]}", "- {text: {must: [a]}, same: [b]}", 1):    "2 of run",
		strings.Replace(whole, "- text: {must: [a]}", "- equal: {path: a, to: b, as: json}", 1): "no check/b",
		strings.Replace(whole, "- text: {must: [a]}", "- equal: {path: a, to: b, as: xml}", 1):  `"xml"`,
		strings.Replace(whole, "- text: {must: [a]}", "- run: {seconds: 3}", 1):                 "needs a command",
		strings.Replace(whole, "- text: {must: [a]}", "[]", 1):                                  "task.yaml",
		whole + "skill: s":                                                    "belong together",
		whole + "claims: [Fine]":                                              `"Fine"`,
		whole + "unknown: 1":                                                  "unknown",
		whole + "persona: {rules: [{match: (}]}":                              "rules[0].match",
		whole + "persona: {rules: [{match: a, decision: Deny}]}":              "rules[0]",
		whole + "persona: {rules: [{kind: Approval, match: a, answer: yes}]}": "rules[0]",
		whole + "persona: {rules: [{kind: Other, match: a, answer: yes}]}":    `"Other"`,
	} {
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\ngives %v, want %s", text, err, says)
		}
	}
}

func TestTheTasksOfTheEvaluation(t *testing.T) {
	t.Parallel()
	all, err := LoadAll("../../tasks")
	if err != nil {
		t.Fatal(err)
	}
	count := map[Kind]int{}
	for _, task := range all {
		count[task.Kind]++
		var size int
		for _, content := range task.Files {
			size += len(content)
		}
		// They go to the cluster in one ConfigMap.
		if size > 700<<10 {
			t.Errorf("%s: %d bytes of files", task.Name, size)
		}
	}
	want := map[Kind]int{Coding: 8, Data: 6, People: 4, Skill: 3, Trap: 3}
	if !maps.Equal(count, want) {
		t.Errorf("there are %v tasks, want %v", count, want)
	}
}

// A name in a hidden test must not be one that a model chooses: the package would not be compiled.
func TestHiddenNamesAreOfTheirOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../tasks/*/check/overlay/*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("hidden tests: %v %v", files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			for _, id := range declared(d) {
				if !strings.HasPrefix(id, "hidden") && !strings.HasPrefix(id, "TestHidden") {
					t.Errorf("%s declares %s: begin it with hidden or TestHidden", name, id)
				}
			}
		}
	}
}

func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
