// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// misfit says that a hunk does not fit, with what the file has instead.
type misfit struct {
	hunk hunk
	why  string
}

func (m *misfit) Error() string {
	return fmt.Sprintf("hunk %d (line %d of the patch, %s) does not fit: %s", m.hunk.number, m.hunk.line, m.hunk.header, m.why)
}

// moved is a hunk that was applied at another line than its own.
type moved struct{ number, line int }

// place is where a hunk goes: its lines take the place of the lines from at on, which are counted from 0.
type place struct {
	hunk hunk
	at   int
	old  []string
	new  []string
}

func (p place) end() int { return p.at + len(p.old) }

// applyHunks gives the content with the hunks applied. Each goes to its own line, or to the only other place where it fits.
func applyHunks(ctx context.Context, content string, hunks []hunk) (string, []moved, error) {
	lines := splitLines(content)
	newline := lineEnds(content, hunks)
	var places []place
	var movedHunks []moved
	for _, h := range hunks {
		p := place{hunk: h}
		for _, line := range h.Lines {
			if line.Old() {
				p.old = append(p.old, newline(line.Line))
			}
			if line.New() {
				p.new = append(p.new, newline(line.Line))
			}
		}
		if err := p.find(ctx, lines, places); err != nil {
			return "", nil, err
		}
		if line := p.at + 1; len(p.old) > 0 && line != int(h.OldPosition) {
			movedHunks = append(movedHunks, moved{h.number, line})
		}
		places = append(places, p)
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	from := 0
	for _, p := range places {
		writeLines(&b, lines[from:p.at])
		writeLines(&b, p.new)
		from = p.end()
	}
	writeLines(&b, lines[from:])
	return b.String(), movedHunks, nil
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString(line)
	}
}

// lineEnds gives the lines of hunks the line ends of the file, if all of the file's are alike and all of the hunks' are the
// other kind: a model, and a patch that went through an editor, seldom keep them.
func lineEnds(content string, hunks []hunk) func(string) string {
	ends, returns := strings.Count(content, "\n"), strings.Count(content, "\r\n")
	patchEnds, patchReturns := 0, 0
	for _, h := range hunks {
		for _, line := range h.Lines {
			patchEnds += strings.Count(line.Line, "\n")
			patchReturns += strings.Count(line.Line, "\r\n")
		}
	}
	switch {
	case ends > 0 && ends == returns && patchReturns == 0:
		return func(line string) string { return strings.Replace(line, "\n", "\r\n", 1) }
	case ends > 0 && returns == 0 && patchEnds > 0 && patchEnds == patchReturns:
		return func(line string) string { return strings.Replace(line, "\r\n", "\n", 1) }
	}
	return func(line string) string { return line }
}

// find fills in where the hunk goes. taken are the places of the hunks before it.
func (p *place) find(ctx context.Context, lines []string, taken []place) error {
	own := max(0, int(p.hunk.OldPosition)-1)
	if len(p.old) == 0 {
		if len(lines) > 0 {
			p.at = int(p.hunk.OldPosition) // Nothing to look for: what is added goes behind the line with this number.
		}
		return p.checkAdded(lines, taken)
	}
	s := search{lines: lines, old: p.old, free: func(at int) bool { return freeOf(taken, at, len(p.old)) && p.endsWell(at, lines) }}
	if s.fits(own) {
		p.at = own
		return nil
	}
	found, err := s.everywhere(ctx)
	switch {
	case err != nil:
		return err
	case len(found) == 1:
		p.at = found[0]
		return nil
	case len(found) > 1:
		for i := range found {
			found[i]++
		}
		return &misfit{p.hunk, fmt.Sprintf("it would fit at the lines %s, and not at its own. Give it more lines around the change, or its right line.", lineNumbers(found))}
	}
	return &misfit{p.hunk, s.difference(own)}
}

// checkAdded says why lines cannot be added where a hunk without any other lines wants them.
func (p *place) checkAdded(lines []string, taken []place) error {
	switch {
	case p.at == 0 && len(lines) > 0:
		return &misfit{p.hunk, "it makes a new file, and the file has content already. Give the lines around the change too."}
	case p.at > len(lines):
		return &misfit{p.hunk, fmt.Sprintf("the file has only %d lines.", len(lines))}
	case p.at > 0 && !strings.HasSuffix(lines[p.at-1], "\n"):
		return &misfit{p.hunk, "the last line of the file has no newline, so nothing can be added behind it. Give that line in the hunk, with \"\\ No newline at end of file\" after it."}
	case !p.endsWell(p.at, lines):
		return &misfit{p.hunk, `it says "\ No newline at end of file", and the file goes on there.`}
	case !freeOf(taken, p.at, 0):
		return &misfit{p.hunk, "another hunk changes the same lines."}
	}
	return nil
}

// endsWell says whether a new line without a newline would be the last one of the file.
func (p *place) endsWell(at int, lines []string) bool {
	for i, line := range p.new {
		if !strings.HasSuffix(line, "\n") && (i < len(p.new)-1 || at+len(p.old) < len(lines)) {
			return false
		}
	}
	return true
}

// freeOf says whether n lines from at on are in none of the places.
func freeOf(taken []place, at, n int) bool {
	for _, t := range taken {
		if at < t.end() && t.at < at+n || n == 0 && t.at < at && at < t.end() {
			return false
		}
	}
	return true
}

// search looks for the old lines of a hunk in a file.
type search struct {
	lines, old []string
	free       func(at int) bool
	// longest is how many lines fit at best, and longestAt where.
	longest, longestAt int
}

func (s *search) fits(at int) bool {
	if at+len(s.old) > len(s.lines) {
		return false
	}
	return slices.Equal(s.lines[at:at+len(s.old)], s.old) && s.free(at)
}

const (
	// maxFits is how many places are enough to say that there are many.
	maxFits = 100
	// costOfFit is what it takes to judge one, in lines compared.
	costOfFit = 1 << 12
)

// everywhere finds the places where the lines fit.
func (s *search) everywhere(ctx context.Context) (found []int, err error) {
	work := 0
	for at := range s.lines {
		same := 0
		for same < len(s.old) && at+same < len(s.lines) && s.lines[at+same] == s.old[same] {
			same++
		}
		if same > s.longest {
			s.longest, s.longestAt = same, at
		}
		if same == len(s.old) {
			work += costOfFit
			if s.free(at) {
				found = append(found, at)
			}
			if len(found) > maxFits {
				return found, nil
			}
		}
		if work += same + 1; work > 1<<20 {
			if work = 0; ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	return found, nil
}

// difference says what the file has instead of the lines. own is where they should be.
func (s *search) difference(own int) string {
	if at, ok := s.spaced(); ok {
		return fmt.Sprintf("it would fit at line %d but for white space. The file has there:\n%s", at+1, excerpt(s.lines, at+1, at+len(s.old)))
	}
	at, same := own, 0
	if s.longest > 0 {
		at, same = s.longestAt, s.longest
	}
	switch {
	case same == len(s.old):
		return fmt.Sprintf("another hunk changes the same lines at line %d, or the file does not end where the hunk says.", at+1)
	case at+same >= len(s.lines):
		return fmt.Sprintf("it has %q where the file is at its end, after %d lines.", shownLine(s.old[same]), len(s.lines))
	}
	has, wants := s.lines[at+same], s.old[same]
	if strings.TrimSuffix(has, "\n") == strings.TrimSuffix(wants, "\n") {
		return fmt.Sprintf(`line %d of the file is its last one and one of the two has no newline there; "\ No newline at end of file" `+
			"stands after such a line.", at+same+1)
	}
	return fmt.Sprintf("it has %q where line %d of the file is %q. The file has there:\n%s",
		shownLine(wants), at+same+1, shownLine(has), excerpt(s.lines, at+same+1-aroundEdit, at+same+1+aroundEdit))
}

// spaced finds the first place where the lines fit but for white space.
func (s *search) spaced() (at int, ok bool) {
	bare := func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			b.WriteString("\n" + squeeze(line))
		}
		return b.String() + "\n"
	}
	old := bare(s.old)
	lines := bare(s.lines)
	i := strings.Index(lines, old)
	if strings.TrimSpace(old) == "" || i < 0 {
		return 0, false
	}
	at = strings.Count(lines[:i], "\n")
	// A newline that one of the two has not is told in another way.
	return at, !slices.EqualFunc(s.lines[at:at+len(s.old)], s.old, func(a, b string) bool {
		return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n")
	})
}
