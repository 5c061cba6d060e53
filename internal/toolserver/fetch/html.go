// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

// The tokenizer of x/net/html splits the page, and this package builds the tree instead of the library's parser. In that parser, a crafted
// page of a megabyte grows to gigabytes, and cannot be stopped. The builder here makes at most one node of each tag, tracks its depth, and
// omits elements that a reader of the page does not see.
const (
	// maxHTMLBytes is the largest page that is turned into Markdown.
	maxHTMLBytes = 4 << 20
	maxHTMLNodes = 200_000
	// maxHTMLDepth is how deep elements can be nested, maxHTMLNesting how deep lists and quotations can be. Deeper elements are put into the
	// one above them.
	maxHTMLDepth   = 128
	maxHTMLNesting = 12
	// maxOpenTags is how many elements may be open, which bounds the search for the one that ends.
	maxOpenTags = 512
	// maxTableCells bounds a table with its empty cells, maxSpan the number of cells that one cell spans.
	maxTableCells = 20_000
	maxSpan       = 16
	maxAttribute  = 2 << 10
)

// unseen are elements that no reader sees, or that are for using a page and not for reading it.
var unseen = []atom.Atom{
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas, atom.Audio,
	atom.Video, atom.Map, atom.Input, atom.Textarea, atom.Select, atom.Datalist, atom.Button, atom.Progress, atom.Meter, atom.Meta,
	atom.Link, atom.Title, atom.Base, atom.Noframes, atom.Frameset, atom.Dialog,
}

// void are elements without an end.
var void = []atom.Atom{
	atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source,
	atom.Track, atom.Wbr,
}

// endsBefore maps an element to the open elements that end where it begins, and the elements within which they do.
var endsBefore = map[atom.Atom]struct{ ends, within []atom.Atom }{
	atom.Li:     {[]atom.Atom{atom.Li}, []atom.Atom{atom.Ul, atom.Ol, atom.Menu}},
	atom.Dt:     {[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl}},
	atom.Dd:     {[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl}},
	atom.Td:     {[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Table, atom.Tr}},
	atom.Th:     {[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Table, atom.Tr}},
	atom.Tr:     {[]atom.Atom{atom.Tr, atom.Caption}, []atom.Atom{atom.Table}},
	atom.Tbody:  {[]atom.Atom{atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption}, []atom.Atom{atom.Table}},
	atom.Thead:  {[]atom.Atom{atom.Caption}, []atom.Atom{atom.Table}},
	atom.Tfoot:  {[]atom.Atom{atom.Thead, atom.Tbody}, []atom.Atom{atom.Table}},
	atom.A:      {[]atom.Atom{atom.A}, nil},
	atom.Option: {[]atom.Atom{atom.Option}, []atom.Atom{atom.Select}},
}

// endsParagraph are elements that no paragraph contains.
var endsParagraph = []atom.Atom{
	atom.P, atom.Div, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Pre, atom.Blockquote, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
	atom.Hr, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Nav, atom.Aside, atom.Main, atom.Figure, atom.Form, atom.Fieldset,
	atom.Address, atom.Details, atom.Li, atom.Dt, atom.Dd,
}

// nesting are elements each of which adds to every line in it.
var nesting = []atom.Atom{atom.Blockquote, atom.Ul, atom.Ol, atom.Dl, atom.Menu}

// htmlPage is the tree of a page.
type htmlPage struct {
	root  *html.Node
	title string
	// base is what relative addresses are relative to.
	base *url.URL
	// cut is true if the page goes on.
	cut bool

	open []openTag
	// nodes and brackets are how many there are, the latter in the text.
	nodes, brackets int
}

// openTag is an element whose end has not come.
type openTag struct {
	kind atom.Atom
	// name is that of a kind that is not known.
	name string
	// node is the parent of the following nodes, nil if they are omitted.
	node *html.Node
	// depth is that of node in the page, nested that of lists and quotations.
	depth, nested int
}

// readHTML reads a page that came from an address.
func readHTML(text string, from *url.URL) *htmlPage {
	p := &htmlPage{root: &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}, base: from}
	p.open = []openTag{{node: p.root}}
	tokens := html.NewTokenizer(strings.NewReader(text))
	for p.nodes < maxHTMLNodes {
		switch tokens.Next() {
		case html.ErrorToken:
			p.tables(p.root)
			return p
		case html.TextToken:
			p.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(tokens.Token())
		case html.EndTagToken:
			p.end(tokens.Token())
		case html.CommentToken, html.DoctypeToken:
		}
	}
	p.cut = true
	p.tables(p.root)
	return p
}

func (p *htmlPage) top() openTag { return p.open[len(p.open)-1] }

func (p *htmlPage) text(text string) {
	top := p.top()
	if top.kind == atom.Title && p.title == "" {
		p.title = strings.Join(strings.Fields(plaintext.First(text, maxAttribute)), " ")
	}
	if top.node == nil {
		return
	}
	if last := top.node.LastChild; last != nil && last.Type == html.TextNode {
		// A tag that was omitted came between them. A text that grows piece by piece would be copied each time.
		top.node.AppendChild(&html.Node{Type: html.ElementNode, Data: "span", DataAtom: atom.Span})
		p.nodes++
	}
	top.node.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	p.nodes++
	p.brackets += strings.Count(text, "[")
}

func (p *htmlPage) start(t html.Token) {
	if t.DataAtom == atom.Base {
		if to, err := p.base.Parse(attribute(t, "href")); err == nil {
			p.base = to
		}
	}
	if how, ok := endsBefore[t.DataAtom]; ok {
		p.endWithin(how.ends, how.within)
	}
	if slices.Contains(endsParagraph, t.DataAtom) {
		p.endWithin([]atom.Atom{atom.P}, []atom.Atom{atom.Table, atom.Td, atom.Th, atom.Caption})
	}
	top := p.top()
	next := openTag{kind: t.DataAtom, name: t.Data, node: top.node, depth: top.depth, nested: top.nested}
	switch {
	case top.node == nil || isUnseen(t):
		next.node = nil
	case top.depth < maxHTMLDepth:
		next.depth++
		next.node = p.element(t, &next)
		top.node.AppendChild(next.node)
		p.nodes++
	}
	if slices.Contains(void, t.DataAtom) || t.Type == html.SelfClosingTagToken && t.DataAtom == 0 || len(p.open) == maxOpenTags {
		return
	}
	p.open = append(p.open, next)
}

// element is the node of a tag. Lists and quotations that lie too deep are plain blocks.
func (p *htmlPage) element(t html.Token, tag *openTag) *html.Node {
	node := &html.Node{Type: html.ElementNode, Data: t.Data, DataAtom: t.DataAtom}
	switch {
	case slices.Contains(nesting, t.DataAtom):
		if tag.nested++; tag.nested > maxHTMLNesting {
			node.Data, node.DataAtom = "div", atom.Div
		}
	case t.DataAtom == atom.Li && tag.nested > maxHTMLNesting, t.DataAtom == atom.Html, t.DataAtom == atom.Head, t.DataAtom == atom.Body:
		node.Data, node.DataAtom = "div", atom.Div
	}
	for _, a := range t.Attr {
		if value, ok := keptAttribute(t.DataAtom, a.Key, a.Val); ok {
			node.Attr = append(node.Attr, html.Attribute{Key: a.Key, Val: value})
		}
	}
	if t.DataAtom == atom.A && !slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == "href" }) {
		node.Data, node.DataAtom = "span", atom.Span // It leads nowhere.
	}
	return node
}

// end ends the element that a tag names, and those in it.
func (p *htmlPage) end(t html.Token) {
	for i := len(p.open) - 1; i > 0; i-- {
		if p.open[i].kind == t.DataAtom && (t.DataAtom != 0 || p.open[i].name == t.Data) {
			p.open = p.open[:i]
			return
		}
		if p.open[i].kind == atom.Td || p.open[i].kind == atom.Th {
			if t.DataAtom != atom.Table && t.DataAtom != atom.Tr {
				return // Nothing that begins outside of a cell ends in it.
			}
		}
	}
}

// endWithin ends the innermost of some elements, unless it is outside of the innermost of others.
func (p *htmlPage) endWithin(ends, within []atom.Atom) {
	for i := len(p.open) - 1; i > 0; i-- {
		switch kind := p.open[i].kind; {
		case slices.Contains(ends, kind):
			p.open = p.open[:i]
			return
		case slices.Contains(within, kind):
			return
		}
	}
}

// isUnseen reports whether no reader of the page sees an element.
func isUnseen(t html.Token) bool {
	if slices.Contains(unseen, t.DataAtom) {
		return true
	}
	for _, a := range t.Attr {
		switch value := strings.ToLower(a.Val[:min(len(a.Val), maxAttribute)]); a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if value == "true" {
				return true
			}
		case "style":
			style := strings.Join(strings.Fields(value), "")
			for _, way := range []string{"display:none", "visibility:hidden", "visibility:collapse", "font-size:0", "opacity:0"} {
				if _, after, ok := strings.Cut(style, way); ok && !strings.HasPrefix(after, ".") {
					return true
				}
			}
		}
	}
	return false
}

// keptAttribute reports whether an attribute is for the Markdown, and returns its value.
func keptAttribute(element atom.Atom, key, value string) (string, bool) {
	if len(value) > maxAttribute {
		return "", false
	}
	switch key {
	case "href", "src":
		scheme, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(value)), ":")
		return value, !ok || scheme != "javascript" && scheme != "data" && scheme != "vbscript"
	case "alt", "title", "start", "align":
		return value, true
	case "class":
		return value, element == atom.Code || element == atom.Pre // It names the language.
	case "colspan", "rowspan":
		n, err := strconv.Atoi(value)
		return value, err == nil && n >= 1 && n <= maxSpan
	case "role":
		return value, element == atom.Table
	}
	return "", false
}

func attribute(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val[:min(len(a.Val), maxAttribute)]
		}
	}
	return ""
}

// tables makes plain blocks of tables that would grow too large when all their rows get as many cells.
func (p *htmlPage) tables(node *html.Node) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		p.tables(child)
	}
	if node.DataAtom != atom.Table {
		return
	}
	rows, most := 0, 0
	each(node, func(n *html.Node) {
		if n.DataAtom != atom.Tr {
			return
		}
		rows++
		cells := 0
		for cell := n.FirstChild; cell != nil; cell = cell.NextSibling {
			cells++
			for _, a := range cell.Attr {
				if span, err := strconv.Atoi(a.Val); err == nil && a.Key == "colspan" {
					cells += span - 1
				}
			}
		}
		most = max(most, cells)
	})
	if rows*most <= maxTableCells {
		return
	}
	each(node, func(n *html.Node) {
		switch {
		case slices.Contains([]atom.Atom{atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr}, n.DataAtom):
			n.Data, n.DataAtom = "div", atom.Div
		case n.DataAtom == atom.Td || n.DataAtom == atom.Th:
			n.Data, n.DataAtom = "span", atom.Span
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		}
	})
}

// each calls do for a node and everything in it.
func each(node *html.Node, do func(*html.Node)) {
	do(node)
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		each(child, do)
	}
}
