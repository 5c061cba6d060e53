// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

const (
	// markdownTimeout is a hundred times the duration for a large page.
	markdownTimeout = 10 * time.Second
	// maxBrackets is up to how many brackets the text of a page is escaped. For each, the library scans the remainder of the line, and a page
	// may have only one line.
	maxBrackets = 1000
)

// errMarkdown means that a page could not be turned into Markdown.
var errMarkdown = errors.New("the page cannot be turned into Markdown")

// markdown converts a page that came from an address to Markdown, or to plain text if that fails. note names the conversion for the result.
func (m *markdowns) markdown(ctx context.Context, text string, from *url.URL) (markdown, note string) {
	page := readHTML(text, from)
	markdown, err := m.convert(ctx, page)
	note = "shown as Markdown"
	if err != nil {
		// The library may still work on the page that it received.
		page = readHTML(text, from)
		markdown, note = plainText(page.root), "shown as plain text"
	}
	if page.cut {
		note += " up to where it is too large"
	}
	if page.title != "" && !strings.Contains(plaintext.First(markdown, 4*maxAttribute), page.title) {
		markdown = "# " + page.title + "\n\n" + markdown
	}
	return plaintext.EndLine(strings.TrimSpace(markdown)), note
}

// markdowns is where pages are turned into Markdown, one at a time.
type markdowns struct {
	busy chan struct{}
}

func newMarkdowns() *markdowns { return &markdowns{busy: make(chan struct{}, 1)} }

// convert turns a page into Markdown. The library cannot be cancelled: a conversion that is given up goes on for a while, and no other
// starts until it has ended.
func (m *markdowns) convert(ctx context.Context, page *htmlPage) (string, error) {
	select {
	case m.busy <- struct{}{}:
	default:
		return "", errMarkdown
	}
	ctx, cancel := context.WithTimeout(ctx, markdownTimeout)
	defer cancel()
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-m.busy }()
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("%w: %v", errMarkdown, p)}
			}
		}()
		text, err := newConverter(ctx, page).ConvertNode(page.root, converter.WithContext(ctx), converter.WithDomain(page.base.String()))
		done <- outcome{string(text), err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return "", errMarkdown
	}
}

func newConverter(ctx context.Context, page *htmlPage) *converter.Converter {
	mode := converter.WithEscapeMode(converter.EscapeModeSmart)
	if page.brackets > maxBrackets {
		mode = converter.WithEscapeMode(converter.EscapeModeDisabled)
	}
	conv := converter.NewConverter(mode, converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		// Cells that are padded to the widest one cost more than they help.
		tables.NewTablePlugin(tables.WithCellPaddingBehavior(tables.CellPaddingBehaviorMinimal), tables.WithHeaderPromotion(true)),
		strikethrough.NewStrikethroughPlugin(),
	))
	conv.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			panic(ctx.Err()) // There is no other way to end it. It is recovered above.
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	return conv
}

// blocks are elements that have lines of their own.
var blocks = append(slices.Clone(endsParagraph), atom.Br, atom.Tr, atom.Body, atom.Caption)

// plainText is the text of a page, with a line for each block.
func plainText(root *html.Node) string {
	var out strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			if words := strings.Join(strings.Fields(n.Data), " "); words != "" {
				out.WriteString(words + " ")
			}
			return
		}
		block := slices.Contains(blocks, n.DataAtom)
		if block {
			out.WriteString("\n")
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
		if block {
			out.WriteString("\n")
		}
	}
	walk(root)
	var lines strings.Builder
	for line := range strings.SplitSeq(out.String(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}
