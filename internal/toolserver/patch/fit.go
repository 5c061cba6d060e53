// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

// Misfit is a hunk that does not fit, with the lines that the file has instead.
type Misfit struct {
	hunk *Hunk
	why  string
}

// Error returns sentences for the author of the patch.
func (m *Misfit) Error() string {
	where := fmt.Sprintf("line %d of the patch", m.hunk.line)
	if m.hunk.header != "" {
		where += ", " + m.hunk.header
	}
	return fmt.Sprintf("hunk %d (%s) does not fit: %s", m.hunk.number, where, m.why)
}

// Apply returns the content with the hunks applied: all of them, or an error. Each is applied at its own line, or at the only other
// position where it fits. The notes report the positions of hunks that have none in the patch. An error is a Misfit, or that of the
// context, which ends the search for positions.
func Apply(ctx context.Context, content string, hunks []Hunk) (changed string, notes []string, err error) {
	f := fitting{search: search{lines: textlines.Split(content)}}
	f.newline, f.end = lineEnds(content, hunks)
	for i := range hunks {
		p, err := f.place(ctx, &hunks[i])
		if err != nil {
			return "", nil, err
		}
		f.places = append(f.places, p)
		f.behind = p.at + p.old
		if note := p.note(); note != "" {
			notes = append(notes, note)
		}
	}
	return f.write(), notes, nil
}

// fitting is the work on one file.
type fitting struct {
	search
	newline func(string) string
	end     string // of a line
	places  []place
	// behind is the line behind the hunk before, where the next one is most likely.
	behind int
}

// place is the position of a hunk: its lines replace old lines from at on, which is counted from 0.
type place struct {
	hunk    *Hunk
	at, old int
	// loose is true if the lines are the same except for the details that loosely ignores.
	loose bool
}

func (p place) note() string {
	switch h := p.hunk; {
	case p.loose:
		return fmt.Sprintf("hunk %d at line %d, which is the same but for white space at the ends of lines, or quotes and dashes", h.number, p.at+1)
	case h.first < 0 && p.at+p.old > 0:
		return fmt.Sprintf("hunk %d at line %d", h.number, p.at+1)
	case p.old > 0 && p.at+1 != h.first:
		return fmt.Sprintf("hunk %d was not at its own line but at line %d", h.number, p.at+1)
	}
	return ""
}

// place finds the position of a hunk.
func (f *fitting) place(ctx context.Context, h *Hunk) (place, error) {
	old := f.oldLines(h)
	p := place{hunk: h, old: len(old)}
	if p.old == 0 {
		at, err := f.placeAdded(ctx, h)
		p.at = at
		return p, err
	}
	f.old = old
	f.free = func(at int) bool { return freeOf(f.places, at, p.old) && (h.byContext || f.endsWell(h, at, p.old)) }
	if own := h.first - 1; h.first > 0 && f.fits(own) || h.first == 0 && f.fits(0) {
		p.at = max(0, own)
		return p, nil
	}
	found, above, err := f.find(ctx, h)
	if err == nil && len(found) == 0 && h.byContext {
		found, p.loose, err = f.findLoosely(ctx, h)
	}
	switch {
	case err != nil:
		return p, err
	case len(found) == 1:
		p.at = found[0]
		return p, nil
	case len(found) > 1:
		return p, &Misfit{h, ambiguous(h, found)}
	case len(above) > 0:
		return p, &Misfit{h, f.notBelow(ctx, above)}
	}
	return p, &Misfit{h, f.difference(max(0, h.first-1))}
}

// oldLines are the lines of a hunk that the file must have.
func (f *fitting) oldLines(h *Hunk) []string {
	var old []string
	for _, l := range h.lines {
		if l.op != '+' {
			old = append(old, f.newline(l.text))
		}
	}
	return old
}

// findLoosely looks for a hunk that was written from memory in a file that differs from it only in invisible details.
func (f *fitting) findLoosely(ctx context.Context, h *Hunk) (found []int, ok bool, err error) {
	loose := fitting{search: search{lines: f.looseLines(), old: loosely(f.old), free: f.free}, places: f.places, behind: f.behind}
	found, _, err = loose.find(ctx, h)
	return found, len(found) > 0, err
}

// find finds the positions where a hunk could go, and the lines of the file that its header names. For a hunk without a line number it
// returns a single position if only that one is behind the hunk before.
func (f *fitting) find(ctx context.Context, h *Hunk) (found, above []int, err error) {
	if last := len(f.lines) - len(f.old); h.atEnd && last >= 0 && f.fits(last) {
		return []int{last}, nil, nil
	}
	if above, err = f.sections(ctx, h.sections); err != nil {
		return nil, nil, err
	}
	if len(above) > 0 {
		found, err = f.below(ctx, above)
	} else {
		found, err = f.everywhere(ctx)
	}
	if len(found) > 1 && h.byContext {
		next := slices.DeleteFunc(slices.Clone(found), func(at int) bool { return at < f.behind })
		if len(next) == 1 && len(found) <= maxFits {
			found = next
		}
	}
	return found, above, err
}

// ambiguous lists where a hunk could go.
func ambiguous(h *Hunk, found []int) string {
	numbers := make([]int, len(found))
	for i, at := range found {
		numbers[i] = at + 1
	}
	if !h.byContext {
		return fmt.Sprintf("it would fit at the lines %s, and not at its own. Give it more lines around the change, or its right line.", textlines.List(numbers))
	}
	old, made, _ := h.counts()
	return fmt.Sprintf("it would fit at the lines %s. Give it more lines around the change, or say where it is in its header: \"@@ -%d,%d +%d,%d @@\" for the first of these.",
		textlines.List(numbers), numbers[0], old, numbers[0], made)
}

// notBelow describes where the lines of a hunk are if they are not below the lines that its header names.
func (f *fitting) notBelow(ctx context.Context, above []int) string {
	header := fmt.Sprintf("the line of its header is line %d of the file, and its other lines are not below it: ", above[0]+1)
	found, err := f.everywhere(ctx)
	if err != nil || len(found) == 0 {
		return header + f.difference(above[0])
	}
	for i := range found {
		found[i]++
	}
	return header + fmt.Sprintf("they are at the lines %s. Correct the header.", textlines.List(found))
}

// placeAdded finds the position of a hunk that has no line of the file.
func (f *fitting) placeAdded(ctx context.Context, h *Hunk) (int, error) {
	if len(f.lines) == 0 {
		return 0, nil
	}
	if h.first >= 0 {
		return h.first, f.checkAdded(h, h.first)
	}
	above, err := f.sections(ctx, h.sections)
	if err != nil {
		return 0, err
	}
	at := len(f.lines)
	switch {
	case len(h.sections) == 0 && !h.appends:
		return 0, &Misfit{h, "it has no line of the file, so its place is unknown. Give the lines around the change."}
	case len(h.sections) == 0 || h.atEnd:
	case len(above) == 0:
		return 0, &Misfit{h, fmt.Sprintf("the file has no line %q, below which its lines would go. Give the lines around the change.", textlines.Shown(h.sections[len(h.sections)-1]))}
	case len(above) > 1:
		return 0, &Misfit{h, ambiguous(h, above)}
	default:
		at = above[0] + 1
	}
	if !freeOf(f.places, at, 0) {
		return 0, &Misfit{h, "another hunk changes the same lines."}
	}
	return at, nil
}

// checkAdded returns an error if lines cannot be added behind the line at.
func (f *fitting) checkAdded(h *Hunk, at int) error {
	switch {
	case at == 0:
		return &Misfit{h, "it makes a new file, and the file has content already. Give the lines around the change too."}
	case at > len(f.lines):
		return &Misfit{h, fmt.Sprintf("the file has only %d lines.", len(f.lines))}
	case !strings.HasSuffix(f.lines[at-1], "\n"):
		return &Misfit{h, "the last line of the file has no newline, so nothing can be added behind it. Give that line in the hunk, with \"\\ No newline at end of file\" after it."}
	case !f.endsWell(h, at, 0):
		return &Misfit{h, `it says "\ No newline at end of file", and the file goes on there.`}
	case !freeOf(f.places, at, 0):
		return &Misfit{h, "another hunk changes the same lines."}
	}
	return nil
}

// endsWell reports whether a line of the hunk without a newline would be the last one of the file.
func (f *fitting) endsWell(h *Hunk, at, old int) bool {
	last := -1
	for i, l := range h.lines {
		if l.op != '-' {
			last = i
		}
	}
	for i, l := range h.lines {
		if l.op != '-' && !strings.HasSuffix(l.text, "\n") && (i < last || at+old < len(f.lines)) {
			return false
		}
	}
	return true
}

// freeOf reports whether n lines from at on are in none of the places.
func freeOf(taken []place, at, n int) bool {
	for _, t := range taken {
		if end := t.at + t.old; at < end && t.at < at+n || n == 0 && t.at < at && at < end {
			return false
		}
	}
	return true
}

// write returns the file with the hunks at their positions.
func (f *fitting) write() string {
	slices.SortStableFunc(f.places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	w := writer{end: f.end}
	from := 0
	for _, p := range f.places {
		w.write(f.lines[from:p.at]...)
		from = p.at
		for _, l := range p.hunk.lines {
			switch l.op {
			case '-':
				from++
			case '+':
				w.write(f.newline(l.text))
			default: // The file's own line: the hunk may have it without the blanks at its end.
				w.write(f.lines[from])
				from++
			}
		}
	}
	w.write(f.lines[from:]...)
	return w.String()
}

// writer puts lines together. A line without a newline gets one if another follows.
type writer struct {
	strings.Builder
	end  string
	open bool
}

func (w *writer) write(all ...string) {
	for _, text := range all {
		if w.open {
			w.WriteString(w.end)
		}
		w.WriteString(text)
		w.open = !strings.HasSuffix(text, "\n")
	}
}

// lineEnds converts the lines of hunks to the line ends of the file. It does so if all ends of the file are alike and all ends of the hunks
// are of the other kind. A model, and a patch that went through an editor, seldom retain line ends. end is that of the file.
func lineEnds(content string, hunks []Hunk) (newline func(string) string, end string) {
	ends, returns := strings.Count(content, "\n"), strings.Count(content, "\r\n")
	patchEnds, patchReturns := 0, 0
	for _, h := range hunks {
		for _, l := range h.lines {
			patchEnds += strings.Count(l.text, "\n")
			patchReturns += strings.Count(l.text, "\r\n")
		}
	}
	end = "\n"
	if ends > 0 && ends == returns {
		end = "\r\n"
	}
	switch {
	case end == "\r\n" && patchReturns == 0:
		return func(text string) string { return strings.Replace(text, "\n", "\r\n", 1) }, end
	case ends > 0 && returns == 0 && patchEnds > 0 && patchEnds == patchReturns:
		return func(text string) string { return strings.Replace(text, "\r\n", "\n", 1) }, end
	}
	return func(text string) string { return text }, end
}
