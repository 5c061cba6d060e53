// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

// Hunk is one change of a file.
type Hunk struct {
	// number counts the hunks of a file from 1, line is that of its header in the patch.
	number, line int
	header       string
	// first is the line of the hunk in its header, counted from 1, or the line behind which lines are added; -1 if there is none.
	first int
	// sections are lines above the hunk that narrow its position down, the outermost first.
	sections []string
	// byContext is true if the position is found by the hunk's lines, and if these were written from memory. Then blanks at their ends do not
	// count, and neither does the newline at the end of the file.
	byContext bool
	// atEnd is true if the hunk is marked as being at the end of the file, appends if it is there in the absence of any position.
	atEnd, appends bool
	lines          []line
}

// line is a line of a hunk.
type line struct {
	op   byte   // ' ' stays, '-' goes, '+' comes
	text string // with its newline, except for the last line of a file without one
}

// counts returns how many lines the hunk has of the file before, of the file after, and of both.
func (h *Hunk) counts() (old, made, kept int) { return countLines(h.lines) }

func countLines(all []line) (old, made, kept int) {
	for _, l := range all {
		switch l.op {
		case '-':
			old++
		case '+':
			made++
		default:
			old, made, kept = old+1, made+1, kept+1
		}
	}
	return old, made, kept
}

// head is the content of a hunk's header.
type head struct {
	numbered         bool
	first, old, made int
	section          string
}

// headNumbers has numbers that are small enough to be added to in an int.
var headNumbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ *-([0-9]{1,9})(?:,([0-9]{1,9}))? +\+([0-9]{1,9})(?:,([0-9]{1,9}))?(?: *@@|\s*$)`)
})

// readHead reads a line that begins with @@. Text without a letter ("@@ ... @@") names no line of the file.
func readHead(text string) head {
	numbers := headNumbers().FindStringSubmatch(text)
	if numbers == nil {
		section := strings.TrimSpace(strings.TrimPrefix(text, "@@"))
		section = strings.TrimSpace(strings.TrimSuffix(section, "@@"))
		if !strings.ContainsFunc(section, unicode.IsLetter) {
			section = ""
		}
		return head{section: section}
	}
	number := func(digits string) int {
		if digits == "" {
			return 1
		}
		n, _ := strconv.Atoi(digits) // The pattern lets only numbers through.
		return n
	}
	return head{numbered: true, first: number(numbers[1]), old: number(numbers[2]), made: number(numbers[4])}
}

// hunk reads the hunk whose header is the current line. If the counts of the header match the lines, they determine where it ends, so that
// a line of it may look like a header. Otherwise it ends where its lines do.
func (r *reader) hunk() error {
	f := r.current()
	h := Hunk{number: len(f.Hunks) + 1, line: r.at + 1, header: textlines.Shown(r.line(0)), first: -1, byContext: true, appends: r.v4a}
	said := readHead(r.line(0))
	for r.at++; !said.numbered && strings.HasPrefix(r.line(0), "@@"); r.at++ { // One line after the other narrows the position down.
		h.sections = appendSection(h.sections, said.section)
		said = readHead(r.line(0))
	}
	h.sections = appendSection(h.sections, said.section)
	if said.numbered {
		h.first, h.byContext = said.first, r.v4a
	}
	end, ok := r.counted(said)
	if !ok {
		var err error
		if end, err = r.uncounted(); err != nil {
			return err
		}
	}
	var err error
	if h.lines, err = r.hunkLines(end, f.From == ""); err != nil {
		return err
	}
	return r.addHunk(h, said)
}

func appendSection(sections []string, section string) []string {
	if section == "" {
		return sections
	}
	return append(sections, section)
}

// addHunk adds a hunk to its file, if it can be meant.
func (r *reader) addHunk(h Hunk, said head) error {
	f := r.current()
	old, made, kept := h.counts()
	at := r.at
	defer func() { r.at = at }()
	r.at = h.line - 1
	switch {
	case len(h.lines) == 0, !r.v4a && old == kept && made == kept:
		return r.errorf("the hunk has no line that begins with \"+\" or \"-\", so it changes nothing. Leave it out.")
	case h.first >= 0 && f.From != "" && old == 0 && said.old > 0:
		return r.errorf("the hunk has no line of the file, so its place is unknown. Give the lines around the change. "+
			"To add lines behind line %d its header is @@ -%d,0 +%d,%d @@.", said.first, said.first, said.first+1, made)
	}
	f.Hunks = append(f.Hunks, h)
	return nil
}

// counted finds the end of a hunk by the counts of its header. It reports whether the lines are as many.
func (r *reader) counted(said head) (end int, ok bool) {
	if !said.numbered {
		return 0, false
	}
	i := r.at
	for old, made := said.old, said.made; old > 0 || made > 0; i++ {
		if i == len(r.lines) {
			return 0, false
		}
		switch text := r.lines[i]; {
		case text[0] == '+':
			made--
		case text[0] == '-':
			old--
		case text[0] == ' ', isEmpty(text):
			old, made = old-1, made-1
		case !strings.HasPrefix(text, `\ `):
			return 0, false
		}
		if old < 0 || made < 0 {
			return 0, false
		}
	}
	if i < len(r.lines) && strings.HasPrefix(r.lines[i], `\ `) {
		i++
	}
	// The caller reports a line that begins like a header, but is not one.
	goesOn := i < len(r.lines) && isHunkLine(r.lines[i]) && !strings.HasPrefix(r.lines[i], "--- ") && !strings.HasPrefix(r.lines[i], "+++ ")
	return i, !goesOn
}

// uncounted finds the end of a hunk by its lines. Empty lines at its end are not of it: they stand between the parts.
func (r *reader) uncounted() (end int, err error) {
	end = r.at
	for i := r.at; i < len(r.lines) && !r.endsHunk(i); i++ {
		switch text := r.lines[i]; {
		case isEmpty(text):
		case strings.ContainsAny(text[:1], "+- "), strings.HasPrefix(text, `\ `):
			end = i + 1
		case r.changesAfter(i):
			// Omitting the remainder would apply half of the hunk.
			found, _ := readLines(r.lines[r.at:i], false)
			old, made, _ := countLines(found)
			r.at = i
			return 0, r.errorf("%q is in a hunk, and begins with none of \" \", \"+\" and \"-\". Begin it with a space if it is a line of the file that stays. "+
				"The hunk has %d lines of the file before and %d of the file after it up to there.", textlines.Shown(text), old, made)
		default:
			return end, nil
		}
	}
	return end, nil
}

// endsHunk reports whether the line i is one with which something else begins.
func (r *reader) endsHunk(i int) bool {
	text := r.lines[i]
	if strings.HasPrefix(text, "@@") || strings.HasPrefix(text, "```") || text[0] == '*' && readMarker(text).kind != notMarker {
		return true
	}
	if r.v4a {
		return false
	}
	switch {
	case strings.HasPrefix(text, "diff --git "), strings.TrimRight(text, "\r\n") == "-- ": // the end of a mail that git made
		return true
	case strings.HasPrefix(text, "--- ") && i+1 < len(r.lines):
		return strings.HasPrefix(r.lines[i+1], "+++ ")
	}
	return false
}

// changesAfter reports whether there are lines of a hunk behind the line i, before something else begins.
func (r *reader) changesAfter(i int) bool {
	for i++; i < len(r.lines) && !r.endsHunk(i); i++ {
		if text := r.lines[i]; text[0] != ' ' && isHunkLine(text) {
			return true
		}
	}
	return false
}

// isHunkLine reports whether a line would belong to a hunk. The end of a mail that git made does not.
func isHunkLine(text string) bool {
	bare := strings.TrimSpace(text)
	return strings.ContainsAny(text[:1], "+- ") && bare != "" && bare != "--"
}

func isEmpty(text string) bool { return text == "\n" || text == "\r\n" }

// hunkLines reads the lines up to end. made is for a new file.
func (r *reader) hunkLines(end int, made bool) ([]line, error) {
	all, err := readLines(r.lines[r.at:end], made)
	if err != nil {
		return nil, r.errorf("%v", err)
	}
	r.at = end
	return all, nil
}

// readLines reads lines of a hunk. An empty one is a line that stays, from which an editor took the space away. In a new
// file it can only be one that comes.
func readLines(texts []string, made bool) ([]line, error) {
	all := make([]line, 0, len(texts))
	for _, text := range texts {
		switch {
		case isEmpty(text) && made:
			all = append(all, line{'+', text})
		case isEmpty(text):
			all = append(all, line{' ', text})
		case text[0] != '\\':
			all = append(all, line{text[0], text[1:]})
		case len(all) == 0 || strings.TrimRight(all[len(all)-1].text, "\r\n") == "":
			return nil, unclear(`"\ No newline at end of file" does not stand after the last line of the file.`)
		default:
			last := &all[len(all)-1]
			last.text = strings.TrimSuffix(strings.TrimSuffix(last.text, "\n"), "\r")
		}
	}
	if n := len(texts); n > 0 && !strings.HasSuffix(texts[n-1], "\n") && texts[n-1][0] != '\\' {
		all[len(all)-1].text += "\n" // The end of the patch is not that of a file, which a line of its own would tell.
	}
	return all, nil
}
