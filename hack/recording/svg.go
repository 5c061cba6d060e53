// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/vt"
)

const (
	// column and row are the sizes of a character in the picture, and margin is around all of them.
	column, row, margin = 8.4, 19, 16
	// rest is how long the end is seen, before the picture begins anew.
	rest = 6 * time.Second
	// bold and faint are attributes of a character in the emulator.
	bold, faint = 1, 2
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dde6;white-space:pre;visibility:hidden;animation:%[4]gs step-end infinite}
text.last{visibility:visible}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
%[5]s</style>
<rect width="100%%" height="100%%" rx="8" fill="#14181f"/>
`

// line is what a row of the screen has for some time.
type line struct {
	row      int
	from, to time.Duration
	markup   string
}

// svg is the recording as a picture that moves. Where motion is not wanted, it is the last screen.
func (s *session) svg() []byte {
	lines, end := s.lines()
	end += rest
	var frames, body bytes.Buffer
	for i, l := range lines {
		share := func(t time.Duration) float64 { return 100 * t.Seconds() / end.Seconds() }
		class := ""
		if l.to == 0 {
			class = ` class="last"`
			fmt.Fprintf(&frames, "@keyframes k%d{0%%{visibility:hidden}%.3f%%,100%%{visibility:visible}}\n", i, share(l.from))
		} else {
			fmt.Fprintf(&frames, "@keyframes k%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%,100%%{visibility:hidden}}\n", i, share(l.from), share(l.to))
		}
		fmt.Fprintf(&body, `<text%s style="animation-name:k%d" x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", class, i, margin, margin+row*l.row+row-5, l.markup)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, head, int(column*float64(s.width))+2*margin, row*s.height+2*margin, html.EscapeString(s.title), end.Seconds(), &frames)
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// lines plays the recording, and returns which rows were seen from when to when, and its end. A line that is there at the end has no other end.
func (s *session) lines() (all []line, end time.Duration) {
	screen := vt.NewEmulator(s.width, s.height)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(io.Discard, screen) // Programs that ask the terminal something had their answer, or none.
	}()
	seen := make([]int, s.height)
	for y := range seen {
		seen[y] = -1
	}
	for _, e := range s.events {
		_, _ = screen.WriteString(e.text) // It is in memory.
		for y := range seen {
			markup := markupOf(screen, y, s.width)
			if i := seen[y]; i >= 0 && all[i].markup == markup || i < 0 && markup == "" {
				continue
			}
			if i := seen[y]; i >= 0 {
				all[i].to = e.at
			}
			seen[y] = -1
			if markup != "" {
				seen[y] = len(all)
				all = append(all, line{row: y, from: e.at, markup: markup})
			}
		}
		end = e.at
	}
	if answers, ok := screen.InputPipe().(io.Closer); ok {
		_ = answers.Close() // A pipe in memory.
	}
	<-answered
	return all, end
}

// markupOf is a row of the screen as text of a picture, without the spaces at its end.
func markupOf(screen *vt.Emulator, y, width int) string {
	var all, part strings.Builder
	now, spaces := "", 0
	flush := func() {
		if text := html.EscapeString(part.String()); now == "" {
			all.WriteString(text)
		} else {
			fmt.Fprintf(&all, "<tspan%s>%s</tspan>", now, text)
		}
		part.Reset()
	}
	for x := range width {
		cell := screen.CellAt(x, y)
		switch {
		// The second half of a wide character has no width.
		case cell == nil || cell.Width == 0:
			continue
		case strings.TrimSpace(cell.Content) == "":
			spaces++
			continue
		}
		if style := attributesOf(cell.Style.Fg, cell.Style.Attrs); style != now {
			flush()
			now = style
		}
		part.WriteString(strings.Repeat(" ", spaces) + cell.Content)
		spaces = 0
	}
	flush()
	return all.String()
}

// attributesOf are those of a style, "" for that of the terminal.
func attributesOf(foreground color.Color, attributes uint8) string {
	var b strings.Builder
	if foreground != nil {
		c := color.RGBAModel.Convert(foreground).(color.RGBA)
		fmt.Fprintf(&b, ` fill="#%02x%02x%02x"`, c.R, c.G, c.B)
	}
	if attributes&bold != 0 {
		b.WriteString(` font-weight="bold"`)
	}
	if attributes&faint != 0 {
		b.WriteString(` opacity=".6"`)
	}
	return b.String()
}
