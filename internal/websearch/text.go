// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxTitle and maxSnippet are in characters, maxURL in bytes.
	maxTitle   = 160
	maxSnippet = 500
	maxURL     = 1000
)

// clean returns the first results that have an address, each address once, as plain text.
func clean(found []Result, limit int) []Result {
	seen := map[string]bool{}
	results := make([]Result, 0, limit)
	for _, f := range found {
		if len(results) == limit {
			break
		}
		address, ok := webAddress(f.URL)
		if !ok || seen[address] {
			continue
		}
		seen[address] = true
		results = append(results, Result{Title: plain(f.Title, maxTitle), URL: address, Snippet: plain(f.Snippet, maxSnippet)})
	}
	return results
}

// webAddress returns an address in a form that can be fetched, false if it is invalid.
func webAddress(s string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", false
	}
	s = u.String()
	return s, len(s) <= maxURL && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || hidden(c) })
}

var (
	// inline are the tags that providers and pages have within words, block those between them. Any other text between <
	// and > is text: List<String>.
	inline = regexp.MustCompile(`</?(?:a|abbr|b|cite|code|del|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr)(?:\s[^<>]*)?/?>`)
	block  = regexp.MustCompile(`(?s)</?(?:blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|iframe|img|li|ol|p|pre|script|style|svg|table|tbody|td|th|thead|tr|ul)(?:\s[^<>]*)?/?>|<!--.*?-->`)
)

// plain converts a piece of HTML to one line of text.
func plain(s string, size int) string {
	s = block.ReplaceAllString(inline.ReplaceAllString(s, ""), " ")
	return oneLine(html.UnescapeString(s), size)
}

// oneLine returns the beginning of a text in one line, without invisible characters or those that change the direction of text.
func oneLine(s string, size int) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case hidden(c):
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= size {
		return string(r)
	}
	return strings.TrimRight(string(r[:size-1]), " ") + "…"
}

// hidden reports whether a character cannot be seen.
func hidden(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }

// Format writes results as a numbered list.
func Format(results []Result) string {
	if len(results) == 0 {
		return "Nothing was found. Try other words, or fewer."
	}
	var b strings.Builder
	for i, r := range results {
		if i > 0 {
			b.WriteString("\n")
		}
		title := r.Title
		if title == "" {
			title = "(no title)"
		}
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, title, r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	return b.String()
}
