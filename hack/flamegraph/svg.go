// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// Sizes of the picture.
const (
	width   = 1200.0
	row     = 17
	margin  = 34
	letter  = 6.7
	padding = 4
)

// colours has one for each kind of function, by the beginning of its name. The last one is for all others.
var colours = []struct {
	what, colour string
	packages     []string
}{
	{"this project", "#f2a45c", nil},
	{"JSON", "#8fb8de", []string{"json.", "jsontext.", "strconv.", "base64."}},
	{"hashes and encryption", "#c3a5d6", []string{"sha256.", "tls.", "aes.", "hmac.", "fips140.", "subtle."}},
	{"memory and scheduler of Go", "#a9cf9a", []string{"runtime.", "gc.", "scan.", "atomic.", "mallocgc", "systemstack", "sync."}},
	{"other", "#d5d0c8", nil},
}

// own are the project's packages that a profile of the loop has.
var own = []string{"motorloop.", "conversation.", "prompt.", "turn.", "chat.", "catalog.", "record.", "result.", "outcome.", "summarize.", "stuck.", "toolapi.", "egress.", "redact."}

func colourOf(name string) string {
	for _, p := range own {
		if strings.HasPrefix(name, p) {
			return colours[0].colour
		}
	}
	for _, c := range colours {
		for _, p := range c.packages {
			if strings.HasPrefix(name, p) {
				return c.colour
			}
		}
	}
	return colours[len(colours)-1].colour
}

// draw writes the picture. Functions below least percent are left out.
func draw(w io.Writer, root *box, title string, least float64) {
	rows := depth(root, root, least)
	height := margin + rows*row + row + padding
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="monospace" font-size="11">`+"\n", width, height)
	fmt.Fprintf(w, `<title>%s</title><rect width="100%%" height="100%%" fill="#fff"/>`+"\n", html.EscapeString(title))
	fmt.Fprintf(w, `<text x="%d" y="20" font-size="14">%s</text>`+"\n", padding, html.EscapeString(title))
	at := width
	for _, c := range slices.Backward(colours) {
		at -= float64(len(c.what))*letter + 28
		fmt.Fprintf(w, `<rect x="%.0f" y="10" width="12" height="12" fill="%s"/><text x="%.0f" y="20">%s</text>`+"\n", at, c.colour, at+16, c.what)
	}
	boxes(w, root, root, 0, height-row-padding, least)
	fmt.Fprintln(w, "</svg>")
}

func percent(b, root *box) float64 { return 100 * float64(b.took) / float64(root.took) }

// depth is how many rows there are above that of b, and its own.
func depth(b, root *box, least float64) int {
	most := 0
	for _, c := range b.calls {
		if percent(c, root) >= least {
			most = max(most, depth(c, root, least))
		}
	}
	return most + 1
}

// boxes writes a function, and above it those that it called.
func boxes(w io.Writer, b, root *box, x float64, y int, least float64) {
	wide := width * percent(b, root) / 100
	name := html.EscapeString(b.name)
	fmt.Fprintf(w, `<g><title>%s %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s" stroke="#fff" stroke-width=".5"/>`,
		name, percent(b, root), x, y, wide, row, colourOf(b.name))
	if text := fitting(b.name, wide); text != "" {
		fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`, x+padding, y+row-padding-1, html.EscapeString(text))
	}
	fmt.Fprintln(w, "</g>")
	for _, c := range b.sorted() {
		if percent(c, root) < least {
			continue
		}
		boxes(w, c, root, x, y-row, least)
		x += width * percent(c, root) / 100
	}
}

// fitting returns as much of a name as fits into a box, or nothing if it would say nothing.
func fitting(name string, wide float64) string {
	letters := int((wide - 2*padding) / letter)
	switch {
	case letters >= len(name):
		return name
	case letters < 4:
		return ""
	}
	return strings.ToValidUTF8(name[:letters-2], "") + ".."
}
