// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

// around is how many lines are shown before and after one that differs.
const around = 3

// search looks for the old lines of a hunk in a file.
type search struct {
	lines, old []string
	free       func(at int) bool
	// longest is how many lines fit at best, and longestAt where.
	longest, longestAt int
	// loose are the lines as loosely leaves them, once they were needed.
	loose []string
}

func (s *search) looseLines() []string {
	if s.loose == nil {
		s.loose = loosely(s.lines)
	}
	return s.loose
}

// fits reports whether the lines fit at a line.
func (s *search) fits(at int) bool {
	if at+len(s.old) > len(s.lines) {
		return false
	}
	return slices.Equal(s.lines[at:at+len(s.old)], s.old) && s.free(at)
}

// below finds the first position below each of some lines, which are in their order.
func (s *search) below(ctx context.Context, above []int) (places []int, err error) {
	for _, line := range above {
		if n := len(places); n > 0 && line <= places[n-1] {
			continue // The place is the same: there is none between them.
		}
		found, err := s.from(ctx, line, 1)
		if err != nil || len(found) == 0 {
			return places, err
		}
		places = append(places, found[0])
	}
	return places, nil
}

// sections finds the lines of a file that the header of a hunk names, the last of its lines below the ones before. It finds none if one of
// them is not in the file: models also write descriptions of the position into a header.
func (s *search) sections(ctx context.Context, names []string) (above []int, err error) {
	for i, name := range names {
		found := sectionLines(s.lines, name)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i > 0 {
			found = following(found, above)
		}
		if above = found; len(above) == 0 {
			return nil, nil
		}
	}
	return above, nil
}

// sectionLines finds the lines that are the same as the name, except for white space around it. If there are none, those that begin with
// it, then those that have it anywhere: git cuts the names of functions off, and models leave their arguments out.
func sectionLines(all []string, name string) []int {
	var same, begin, have []int
	for i, line := range all {
		switch line = strings.TrimSpace(line); {
		case line == name:
			same = append(same, i)
		case strings.HasPrefix(line, name):
			begin = append(begin, i)
		case strings.Contains(line, name):
			have = append(have, i)
		}
	}
	switch {
	case len(same) > 0:
		return same
	case len(begin) > 0:
		return begin
	}
	return have
}

// following leaves of some lines the first one below each of the lines above.
func following(found, above []int) []int {
	var next []int
	i := 0
	for _, line := range above {
		for i < len(found) && found[i] <= line {
			i++
		}
		if i == len(found) {
			break
		}
		if n := len(next); n == 0 || next[n-1] != found[i] {
			next = append(next, found[i])
		}
	}
	return next
}

// loosely removes from lines the details that a model cannot see or does not write. These are white space at their ends, and the kinds of
// quotes, dashes and spaces that look like those of ASCII.
func loosely(all []string) []string {
	loose := make([]string, len(all))
	for i, line := range all {
		loose[i] = plainPunctuation.Replace(strings.TrimRightFunc(line, unicode.IsSpace))
	}
	return loose
}

var plainPunctuation = strings.NewReplacer(
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2007", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ", "\u3000", " ",
)

const (
	// maxFits is how many positions are enough to report that there are many.
	maxFits = 100
	// costOfFit is the cost of judging one, in lines compared.
	costOfFit = 1 << 12
)

// everywhere finds the positions where the lines fit, or more than maxFits of them.
func (s *search) everywhere(ctx context.Context) (found []int, err error) {
	return s.from(ctx, 0, maxFits+1)
}

// from finds the first positions from a line on where the lines fit, as many as limit.
func (s *search) from(ctx context.Context, first, limit int) (found []int, err error) {
	work := 0
	for at := first; at < len(s.lines); at++ {
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
			if len(found) == limit {
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

// difference describes what the file has instead of the lines. own is where they should be.
func (s *search) difference(own int) string {
	if at, ok := s.spaced(); ok {
		return fmt.Sprintf("it would fit at line %d but for white space. The file has there:\n%s", at+1, textlines.Excerpt(s.lines, at+1, at+len(s.old)))
	}
	at, same := own, 0
	if s.longest > 0 {
		at, same = s.longestAt, s.longest
	}
	switch {
	case same == len(s.old):
		return fmt.Sprintf("another hunk changes the same lines at line %d, or the file does not end where the hunk says.", at+1)
	case at+same >= len(s.lines):
		return fmt.Sprintf("it has %q where the file is at its end, after %d lines.", textlines.Shown(s.old[same]), len(s.lines))
	}
	has, wants := s.lines[at+same], s.old[same]
	if strings.TrimSuffix(has, "\n") == strings.TrimSuffix(wants, "\n") {
		return fmt.Sprintf(`line %d of the file is its last one and one of the two has no newline there; "\ No newline at end of file" `+
			"stands after such a line.", at+same+1)
	}
	return fmt.Sprintf("it has %q where line %d of the file is %q. The file has there:\n%s",
		textlines.Shown(wants), at+same+1, textlines.Shown(has), textlines.Excerpt(s.lines, at+same+1-around, at+same+1+around))
}

// spaced finds the first position where the lines fit if white space is ignored.
func (s *search) spaced() (at int, ok bool) {
	bare := func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			b.WriteString("\n" + textlines.Squeeze(line))
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
	// A newline that only one of the two has is reported in another way.
	return at, !slices.EqualFunc(s.lines[at:at+len(s.old)], s.old, func(a, b string) bool {
		return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n")
	})
}
