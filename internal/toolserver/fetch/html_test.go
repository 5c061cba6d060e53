// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
)

// hostilePages are made to cost more than they have bytes.
func hostilePages() map[string]string {
	const size = 1 << 17
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	deep := func(tag string, n int) string {
		return strings.Repeat("<"+tag+">", n) + "text" + strings.Repeat("</"+tag+">", n)
	}
	pages := map[string]string{
		"10,000 divs":           deep("div", 10_000),
		"unclosed divs":         fill("<div>"),
		"unclosed inline":       fill("<b>x"),
		"closing only":          fill("</div>"),
		"open and wrong close":  fill("<i></b>"),
		"list items":            "<ol>" + fill("<li>x"),
		"lists in lists":        fill("<ul><li>x"),
		"quotations of lines":   strings.Repeat("<blockquote>", 400) + fill("x<br>"),
		"lists of lines":        strings.Repeat("<ul><li>", 400) + fill("x<br>\n"),
		"wide and long table":   "<table><tr>" + strings.Repeat("<td>", 50_000) + fill("<tr><td>x"),
		"spans":                 "<table>" + fill(`<tr><td rowspan=16 colspan=16>x`),
		"huge span":             `<table><tr><td colspan=1000000000 rowspan=65534>x<tr><td>y</table>`,
		"tables in tables":      fill("<table><tr><td>x"),
		"one wide cell":         "<table><tr><td>" + strings.Repeat("x", size/2) + strings.Repeat("<tr><td>y", 10_000) + "</table>",
		"attributes":            "<p " + fill("a=b ") + ">x",
		"attribute":             `<a href="` + fill("x") + `">x</a>`,
		"links":                 fill("<a href=/x>x"),
		"headings":              fill("<h1>x"),
		"texts in pieces":       fill("x<script></script>"),
		"texts and comments":    fill("x<!---->"),
		"entities":              fill("&amp;"),
		"brackets":              fill("["),
		"brackets and text":     strings.Repeat("[", maxBrackets) + fill("x"),
		"stars":                 fill("*a_b`"),
		"underscores":           fill("<em>_</em>"),
		"code":                  fill("<code>`</code>"),
		"fences":                "<pre>" + fill("```\n"),
		"newlines":              fill("\n"),
		"breaks":                fill("<br>"),
		"spaces":                fill("<b> </b>"),
		"less than":             fill("<"),
		"title":                 "<title>" + fill("x"),
		"unfinished comment":    "<!--" + fill("-->x<!--"),
		"unfinished script":     "<script>" + fill("<!--<script>"),
		"plaintext":             "<plaintext>" + fill("<b>"),
		"no UTF-8":              fill("<p>\xff\xfe"),
		"formatting everywhere": strings.Repeat("<b x=1><i y=2><u>", 100) + fill("<p>x"),
	}
	for i := range 400 {
		pages["distinct formatting"] += fmt.Sprintf("<b x=%d>", i)
	}
	pages["distinct formatting"] += fill("<p>x")
	for _, tag := range []string{
		"a", "b", "em", "strong", "del", "code", "h1", "p", "pre", "li", "ul", "ol", "dl", "dd", "blockquote", "table", "tr", "td", "span", "font", "custom",
	} {
		pages["deep "+tag] = deep(tag, 600)
		pages["deep "+tag+" with text"] = strings.Repeat("<"+tag+">x ", 600)
	}
	for _, pair := range [][2]string{{"a href=x", "b"}, {"strong", "em"}, {"a href=x", "h1"}, {"blockquote", "ul"}, {"li", "p"}, {"pre", "code"}, {"b", "a href=x"}} {
		pages["deep "+pair[0]+" and "+pair[1]] = strings.Repeat("<"+pair[0]+">x <"+pair[1]+">y ", 600)
	}
	return pages
}

// No page takes much longer, or much more memory, than it has bytes.
func TestHostilePages(t *testing.T) {
	from := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	for name, page := range hostilePages() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		text, _ := newMarkdowns().markdown(t.Context(), page, from)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; took > markdownTimeout+50*time.Second || made > 4096 || len(text) > 32<<20 {
			t.Errorf("%s: %v, %d MiB made, %d bytes", name, took, made, len(text))
		} else if took > 2*time.Second || made > 512 {
			t.Logf("%s: %v, %d MiB made, %d bytes", name, took, made, len(text))
		}
	}
}

// If the library fails, the result is plain text.
func TestMarkdownFails(t *testing.T) {
	from := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	const page = "<title>T</title><h1>A</h1><p>b <b>c</b><br>d<script>e</script><ul><li>f<li>g</ul>"
	const want = "# T\n\nA\nb c\nd\nf\ng\n"
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, note := newMarkdowns().markdown(over, page, from); got != want || note != "shown as plain text" {
		t.Errorf("no time: %q, %s", got, note)
	}
	m := newMarkdowns()
	m.busy <- struct{}{}
	if got, note := m.markdown(t.Context(), page, from); got != want || note != "shown as plain text" {
		t.Errorf("busy: %q, %s", got, note)
	}
	// A node that no parser makes has the library panic.
	broken := &htmlPage{root: &html.Node{Type: html.ElementNode, Data: "body", FirstChild: &html.Node{Type: html.ElementNode, Data: "p", NextSibling: &html.Node{}}}, base: from}
	if _, err := newMarkdowns().convert(t.Context(), broken); err == nil {
		t.Log("the library takes broken pages")
	}
	large := readHTML(strings.Repeat("<p>x", maxHTMLNodes), from)
	if !large.cut || large.nodes < maxHTMLNodes || large.nodes > maxHTMLNodes+2 {
		t.Errorf("a large page: %d nodes", large.nodes)
	}
}

func FuzzHTML(f *testing.F) {
	pages, err := filepath.Glob("testdata/markdown/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(content))
	}
	from := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	f.Fuzz(func(t *testing.T, text string) {
		page := readHTML(text, from)
		deepest(t, page.root, 0)
		if strings.Contains(plainText(page.root), "\n\n") {
			t.Error("an empty line")
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = newConverter(t.Context(), page).ConvertNode(page.root, converter.WithDomain(page.base.String()))
		}()
		select {
		case <-done:
		case <-time.After(markdownTimeout):
			t.Fatal("the library does not come to an end")
		}
	})
}

func deepest(t *testing.T, node *html.Node, depth int) {
	if depth > maxHTMLDepth+1 {
		t.Fatal("too deep")
	}
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		if child.Parent != node {
			t.Fatal("a node without its parent")
		}
		deepest(t, child, depth+1)
	}
}
