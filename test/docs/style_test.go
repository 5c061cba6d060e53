// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/hack/markdown"
)

// The README is one screen after the other of what a newcomer needs. What is longer goes to a page of its own.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	if len(readme) > 6144 {
		t.Errorf("README.md has %d bytes, and may have 6144", len(readme))
	}
	if !strings.Contains(readme, "`make test`") {
		t.Error("README.md does not name the command that runs every test")
	}
}

// A page that no other one leads to is found by those alone who know its name.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	for _, file := range pages(t) {
		page, found := strings.CutPrefix(filepath.ToSlash(file), "../../docs/")
		if !found || page == "README.md" || strings.HasPrefix(page, "adr/") {
			continue
		}
		if !strings.Contains(index, "("+page+")") {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

// A diff of a long line shows a paragraph for a word. Decisions in docs/adr stay as they were written.
func TestMarkdownLines(t *testing.T) {
	t.Parallel()
	for _, file := range pages(t) {
		if filepath.Base(filepath.Dir(file)) == "adr" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range longLines(string(content)) {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

// longLines names the lines that are too long and could be shorter: those that are neither code, nor one word, nor in a table of a page
// that is generated.
func longLines(page string) []string {
	generated := strings.Contains(page, "\n<!-- Generated from ")
	var problems []string
	inCode := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
		}
		columns := utf8.RuneCountInString(line)
		words := strings.Fields(strings.TrimLeft(line, " *"))
		if inCode || columns <= markdown.Columns || len(words) == 1 || generated && strings.HasPrefix(line, "|") {
			continue
		}
		problems = append(problems, fmt.Sprintf("line %d has %d columns, and may have %d", i+1, columns, markdown.Columns))
	}
	return problems
}

func TestLongLinesAreFound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 25)
	for name, tc := range map[string]struct {
		page string
		want int
	}{
		"prose":                      {"# A\n\n" + long, 1},
		"a table":                    {"| " + long + " |", 1},
		"a table that is generated":  {"# A\n\n<!-- Generated from a -->\n\n| " + long + " |", 0},
		"prose that is generated":    {"# A\n\n<!-- Generated from a -->\n\n" + long, 1},
		"code":                       {"```\n" + long + "\n```\n", 0},
		"prose after code":           {"```\na\n```\n" + long, 1},
		"a link that cannot be less": {"* " + strings.Repeat("x", 130), 0},
		"letters of several bytes":   {strings.Repeat("ü", 119), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := longLines(tc.page); len(got) != tc.want {
				t.Errorf("got %q, want %d", got, tc.want)
			}
		})
	}
}
