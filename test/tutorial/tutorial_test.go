// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/test/modelserver/script"
	"motorcortex.dev/motorcortex/test/tutorial"
)

const page = "# Title\n\n```console\n$ cat <<'END'\n> one\n>\n> END\none\n\n$ false  # exits with 1\n```\n\n```yaml\n$ not: this\n```\n```console\n$ A=1\n```\n"

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := tutorial.Parse(page)
	want := []tutorial.Command{
		{Line: 4, Text: "cat <<'END'\none\n\nEND", Output: []string{"one", ""}},
		{Line: 10, Text: "false", Exit: 1},
		{Line: 17, Text: "A=1"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, page := range []string{"```console\nx\n```\n", "```console\n$ x\n"} {
		if _, err := tutorial.Parse(page); err == nil {
			t.Errorf("%q is read", page)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		page, output string
		want         bool
	}{
		"the same":                  {"a\nb", "a\nb\n", true},
		"nothing":                   {"", "", true},
		"something and not nothing": {"", "a\n", false},
		"nothing and not something": {"a", "", false},
		"another line":              {"a\nb", "a\nc\n", false},
		"one line more":             {"a", "a\nb\n", false},
		"any lines":                 {"a\n…\nd", "a\nb\nc\nd\n", true},
		"no lines":                  {"a\n…\nd", "a\nd\n", true},
		"any end":                   {"a\n…", "a\nb\n", true},
		"anything in a line":        {"by … now", "by dana now\n", true},
		"not over the line":         {"by … now", "by dana\nnow\n", false},
		"other times":               {"[ 0:01]  ok  11ms  29m", "[12:59] ok 1.5s 3m20s\n", true},
		"other hashes":              {"greeting-0bd584d1ba60", "greeting-ffffffffffff\n", true},
		"no hash":                   {"greeting-0bd584d1ba60", "greeting-none\n", false},
		"other numbers":             {"21 words", "22 words\n", false},
		"other columns":             {"a    b", "a b  \n", true},
	} {
		c := tutorial.Command{Output: strings.Split(tt.page, "\n")}
		if tt.page == "" {
			c.Output = nil
		}
		if got := c.Matches(tt.output); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := &tutorial.Shell{Dir: t.TempDir(), Env: append(os.Environ(), "B=2")}
	for _, tt := range []struct {
		text string
		exit int
		out  string
		says string
	}{
		{"A=1", 0, "", ""},
		{"N=$(date +%N)", 0, "", ""},
		{"echo $N > n", 0, "", ""},
		{"[ $N = $(cat n) ]", 0, "", ""},
		{`Q=$(echo "it's")`, 0, "", ""},
		{"echo $Q", 0, "it's", ""},
		{"echo $A $B > f", 0, "", ""},
		{"cat f", 0, "1 2", ""},
		{"cat f", 0, "1 3", "printed this:\n1 2"},
		{"cat g", 0, "", "ended with 1, not 0"},
		{"exit 2", 2, "", ""},
		{"false | true", 1, "", ""},
	} {
		c := &tutorial.Command{Line: 7, Text: tt.text, Exit: tt.exit, Output: strings.Fields(tt.out)}
		if tt.out != "" {
			c.Output = []string{tt.out}
		}
		if err := s.Run(t.Context(), c); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
}

// A script with a mistake is found here in a second, and not by a model server that does not start.
func TestScriptsOfTheTutorials(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "config", "samples", "tutorials")
	scripts, err := script.LoadFS(os.DirFS(filepath.Join(dir, "scripts")))
	if err != nil {
		t.Fatal(err)
	}
	kustomization, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range scripts {
		if !strings.Contains(string(kustomization), "scripts/"+name+".yaml") {
			t.Errorf("the kustomization leaves out scripts/%s.yaml", name)
		}
	}
}
