// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	t.Parallel()
	const a = "https://a.example.org/"
	tests := map[string]struct{ found, want Result }{
		"plain":                {Result{"T", a, "s"}, Result{"T", a, "s"}},
		"marks":                {Result{"a<b>b</b>c", a, `<span class="x">d</span><br/>e<p>f`}, Result{"abc", a, "d e f"}},
		"what is no tag":       {Result{"List<String> < 3 && x<T>y", a, "a <b c"}, Result{"List<String> < 3 && x<T>y", a, "a <b c"}},
		"entities":             {Result{"&lt;script&gt;&nbsp;&#x41;", a, "&amp;lt;"}, Result{"<script> A", a, "&lt;"}},
		"comments":             {Result{"a<!-- b\n-->c", a, "<script>alert(1)</script>"}, Result{"a c", a, "alert(1)"}},
		"lines and tabs":       {Result{"a\r\n2. b\tc\u2028d", a, "\n\n"}, Result{"a 2. b c d", a, ""}},
		"what cannot be seen":  {Result{"a\u202eb\u200bc\x1b[31m\x00", a, "\ufeff\u00add"}, Result{"abc[31m", a, "d"}},
		"invalid UTF-8":        {Result{"a\xffb", a, "\xc3"}, Result{"a\uFFFDb", a, "\uFFFD"}},
		"odd in an address":    {Result{"T", "  https://a.example.org/b c?d\u00e9#e ", ""}, Result{"T", "https://a.example.org/b%20c?d\u00e9#e", ""}},
		"a script":             {Result{"T", "javascript:alert(1)", ""}, Result{}},
		"a file":               {Result{"T", "file:///etc/passwd", ""}, Result{}},
		"no host":              {Result{"T", "https:///a", ""}, Result{}},
		"a user":               {Result{"T", "https://u:p@example.org", ""}, Result{}},
		"a line in an address": {Result{"T", "https://example.org/\n2. x", ""}, Result{}},
		"a turn in an address": {Result{"T", "https://example.org/?\u202ex", ""}, Result{}},
		"too long an address":  {Result{"T", a + strings.Repeat("a", maxURL), ""}, Result{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := []Result{}
			if tt.want != (Result{}) {
				want = append(want, tt.want)
			}
			if diff := cmp.Diff(want, clean([]Result{tt.found, tt.found}, 5)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCleanBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢 ", 10_000)
	var found []Result
	for i := range 100 {
		found = append(found, Result{long, "https://example.org/" + strings.Repeat("x", i), long})
	}
	got := clean(found, MaxResults)
	if len(got) != MaxResults {
		t.Fatalf("%d results", len(got))
	}
	for _, r := range got {
		if utf8.RuneCountInString(r.Title) > maxTitle || utf8.RuneCountInString(r.Snippet) > maxSnippet || !strings.HasSuffix(r.Title, "漢…") {
			t.Errorf("%d and %d characters", utf8.RuneCountInString(r.Title), utf8.RuneCountInString(r.Snippet))
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	got := Format([]Result{
		{"Motor cortex - Encyclopedia", "https://en.example.org/motor_cortex", "The motor cortex is the region of the cerebral cortex that plans movements."},
		{"", "https://example.org/", ""},
		{"Last", "http://example.org:8080/a?b=c", "3. not a result"},
	})
	want := `1. Motor cortex - Encyclopedia
   https://en.example.org/motor_cortex
   The motor cortex is the region of the cerebral cortex that plans movements.

2. (no title)
   https://example.org/

3. Last
   http://example.org:8080/a?b=c
   3. not a result
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Format(nil); got != "Nothing was found. Try other words, or fewer." {
		t.Errorf("of nothing: %q", got)
	}
}
