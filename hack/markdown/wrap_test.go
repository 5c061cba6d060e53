// SPDX-License-Identifier: Apache-2.0

package markdown_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/hack/markdown"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	for name, tc := range map[string]struct{ page, want string }{
		"a short page":        {"# A\n\ntext\n", "# A\n\ntext\n"},
		"a paragraph":         {long, strings.Repeat("word ", 23) + "word\nword word word word word word"},
		"lines of one":        {"a\nb\n\nc", "a b\n\nc"},
		"an item":             {"* " + long, "* " + strings.Repeat("word ", 22) + "word\n  word word word word word word word"},
		"an item of an item":  {"* a\n  1. " + long, "* a\n  1. " + strings.Repeat("word ", 22) + "word\n     word word word word word word word"},
		"a code block":        {"```\n" + long + " " + long + "\n```", "```\n" + long + " " + long + "\n```"},
		"a table":             {"| " + long + " |", "| " + long + " |"},
		"a heading":           {"## " + long, "## " + long},
		"a code span":         {strings.Repeat("x", 115) + " `a b c`", strings.Repeat("x", 115) + "\n`a b c`"},
		"a word that is long": {strings.Repeat("x", 200), strings.Repeat("x", 200)},
		"a dash is no item":   {strings.Repeat("x", 119) + " - b", strings.Repeat("x", 119) + " -\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown.Wrap(tc.page); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// A page that is wrapped stays as it is.
func TestWrapTwice(t *testing.T) {
	t.Parallel()
	page := "# A\n\n" + strings.Repeat("some `code with blanks` and [a link](b.md), ", 20) + "\n\n* " + strings.Repeat("item text ", 30) + "\n"
	once := markdown.Wrap(page)
	if twice := markdown.Wrap(once); twice != once {
		t.Errorf("got\n%s\nthen\n%s", once, twice)
	}
}
