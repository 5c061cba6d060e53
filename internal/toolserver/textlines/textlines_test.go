// SPDX-License-Identifier: Apache-2.0

package textlines

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "a\n": {"a\n"}, "a\r\n\nb": {"a\r\n", "\n", "b"},
	} {
		if got := Split(text); !slices.Equal(got, want) || strings.Join(got, "") != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestShown(t *testing.T) {
	for line, want := range map[string]string{
		"a\r\n": "a", "\ta": "\ta", "\x1b[2J": "\uFFFD[2J", "\xff": "\uFFFD",
		strings.Repeat("é", 100): strings.Repeat("é", 100), strings.Repeat("é", 101): strings.Repeat("é", 100) + "…",
	} {
		if got := Shown(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// An excerpt never hides a single line: the mark would take as much as the line.
func TestExcerpt(t *testing.T) {
	all := Split(strings.Repeat("x\n", 40))
	for last, want := range map[int]string{MaxExcerpt: "", MaxExcerpt + 1: "", MaxExcerpt + 2: "… 2 lines …", 99: "… 24 lines …"} {
		got := Excerpt(all, 1, last)
		if strings.Contains(got, "…") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("up to %d:\n%s", last, got)
		}
		if shown := strings.Count(got, "\tx\n"); want != "" && shown != MaxExcerpt {
			t.Errorf("up to %d: %d lines", last, shown)
		}
	}
	if got := Excerpt(all, -3, 1); got != "     1\tx\n" {
		t.Errorf("%q", got)
	}
}

func TestList(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "1": {1}, "1, 2, 3, 4, 5": {1, 2, 3, 4, 5}, "1, 2, 3, 4, 5 and 2 more": {1, 2, 3, 4, 5, 6, 7}} {
		if got := List(numbers); got != want {
			t.Errorf("%v: %q", numbers, got)
		}
	}
}

func TestSqueezeAndNumberAt(t *testing.T) {
	if got := Squeeze(" a\t\u00a0b\r\n"); got != "ab" {
		t.Errorf("%q", got)
	}
	if got := NumberAt("a\nb\nc", 4); got != 3 {
		t.Errorf("%d", got)
	}
}
