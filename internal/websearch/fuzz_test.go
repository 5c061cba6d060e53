// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzAnswer checks that no answer of a provider panics, and that no result is longer than allowed, or has invisible characters.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"title":"a","url":"https://a.test/","content":"b"}],"web":{"results":[{"title":"a","url":"https://a.test/","description":"b"}]}}`), 3)
	f.Fuzz(func(t *testing.T, body []byte, limit int) {
		if limit < 1 || limit > MaxResults {
			return
		}
		for _, kind := range []Type{SearXNG, Brave} {
			found, err := Provider{Type: kind, URL: "http://search.test"}.parse(body)
			if err != nil {
				if len(err.Error()) > 1<<10 || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v", kind, err)
				}
				continue
			}
			results := clean(found, limit)
			if len(results) > limit {
				t.Errorf("%s: %d results of %d", kind, len(results), limit)
			}
			for _, r := range results {
				checkResult(t, r)
			}
			Format(results)
		}
	})
}

func checkResult(t *testing.T, r Result) {
	t.Helper()
	if utf8.RuneCountInString(r.Title) > maxTitle || utf8.RuneCountInString(r.Snippet) > maxSnippet || len(r.URL) > maxURL {
		t.Errorf("it is too long: %q", r)
	}
	for _, text := range []string{r.Title, r.Snippet, r.URL} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
			t.Errorf("it has what does not show: %q", text)
		}
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		t.Errorf("the address is %q: %v", r.URL, err)
	}
}
