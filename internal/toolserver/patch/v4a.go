// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strings"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

// markerKind is the meaning of a line that begins with *** in V4A, the format that models learned for apply_patch:
//
//	*** Begin Patch
//	*** Add File: PATH        every line of the file follows, after a +
//	*** Delete File: PATH
//	*** Update File: PATH
//	*** Move to: PATH         may follow, and renames the file
//	@@ class or function      a line above the hunk, as many of them as it takes; the text is optional
//	 line that stays
//	-line that goes
//	+line that comes
//	*** End of File           the hunk is at the end of the file
//	*** End Patch
type markerKind int

const (
	notMarker markerKind = iota
	beginMarker
	endMarker
	addMarker
	deleteMarker
	updateMarker
	moveMarker
	endOfFileMarker
)

// marker is such a line, with the path that it names.
type marker struct {
	kind markerKind
	path string
}

var markers = []struct {
	text string
	kind markerKind
}{
	{"*** Begin Patch", beginMarker}, {"*** End Patch", endMarker}, {"*** End of File", endOfFileMarker},
	{"*** Add File:", addMarker}, {"*** Delete File:", deleteMarker}, {"*** Update File:", updateMarker}, {"*** Move to:", moveMarker},
}

// readMarker reads a line that may be a marker. White space around it does not count, nor do capitals.
func readMarker(text string) marker {
	text = strings.TrimSpace(text)
	for _, m := range markers {
		if len(text) < len(m.text) || !strings.EqualFold(text[:len(m.text)], m.text) {
			continue
		}
		switch path := strings.TrimSpace(text[len(m.text):]); {
		case m.kind >= addMarker && m.kind <= moveMarker:
			return marker{m.kind, path}
		case path == "":
			return marker{kind: m.kind}
		}
	}
	return marker{}
}

// isV4A reports whether the first header of the patch is one of that format. "*** Begin Patch" may stand around a diff.
func (r *reader) isV4A() bool {
	for i, text := range r.lines {
		if kind := readMarker(text).kind; kind >= addMarker && kind <= updateMarker {
			return true
		}
		if strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "@@") ||
			strings.HasPrefix(text, "--- ") && i+1 < len(r.lines) && strings.HasPrefix(r.lines[i+1], "+++ ") {
			return false
		}
	}
	return false
}

// nextV4A reads the part about one file, or a line between two of them.
func (r *reader) nextV4A() {
	m := readMarker(r.line(0))
	switch {
	case m.kind < addMarker || m.kind > updateMarker:
		r.between(m)
		return
	case m.path == "":
		r.add(&File{label: strings.TrimSpace(r.line(0)), Problem: r.errorf("the name of the file is missing.")})
	case m.kind == addMarker:
		r.add(&File{To: m.path, Replaces: true})
	case m.kind == deleteMarker:
		r.add(&File{From: m.path, Deletes: true})
	default:
		r.add(&File{From: m.path, To: m.path})
	}
	r.at++
	r.ended = false
	if r.skipping || m.kind == deleteMarker {
		return
	}
	read := r.updatedFile
	if m.kind == addMarker {
		read = r.addedFile
	}
	if err := read(); err != nil {
		r.fail(err)
	}
}

// between reads a line that belongs to no file. Before and after a patch there may be anything.
func (r *reader) between(m marker) {
	outside := len(r.files) == 0 || r.ended
	switch text := r.line(0); {
	case m.kind == beginMarker:
		r.ended = false
	case m.kind == endMarker, strings.HasPrefix(text, "```"):
		r.ended = true
	case outside, r.skipping, strings.TrimSpace(text) == "", m.kind == endOfFileMarker:
	default:
		r.fail(r.errorf("%q is not of any hunk. Lines of a hunk begin with \" \", \"+\" or \"-\", and those of a new file with \"+\".", textlines.Shown(text)))
	}
	r.at++
}

// addedFile reads the lines of a new file.
func (r *reader) addedFile() error {
	end := r.at
	for i := r.at; i < len(r.lines) && !r.endsHunk(i); i++ {
		text := r.lines[i]
		if text[0] == '+' || strings.HasPrefix(text, `\ `) {
			end = i + 1
		} else if !isEmpty(text) {
			break // between returns the error.
		}
	}
	h := Hunk{number: 1, line: r.at}
	all, err := r.hunkLines(end, true)
	if err != nil || len(all) == 0 {
		return err
	}
	h.lines = all
	r.current().Hunks = []Hunk{h}
	return nil
}

// updatedFile reads the new name and the hunks of a file.
func (r *reader) updatedFile() error {
	f := r.current()
	if m := readMarker(r.line(0)); m.kind == moveMarker {
		if m.path == "" {
			return r.errorf("the new name of the file is missing.")
		}
		f.To = m.path
		r.at++
	}
	if strings.HasPrefix(r.line(0), "--- ") && strings.HasPrefix(r.line(1), "+++ ") {
		r.at += 2 // The header of a diff adds nothing to the marker.
	}
	for r.at < len(r.lines) {
		text := r.line(0)
		var err error
		switch {
		case strings.TrimSpace(text) == "":
			r.at++
			continue
		case strings.HasPrefix(text, "@@"):
			err = r.hunk()
		case readMarker(text).kind == notMarker && strings.ContainsAny(text[:1], "+- "):
			err = r.bareHunk()
		default:
			return nil
		}
		if err != nil {
			return err
		}
		if readMarker(r.line(0)).kind == endOfFileMarker {
			f.Hunks[len(f.Hunks)-1].atEnd = true
			r.at++
		}
	}
	return nil
}

// bareHunk reads a hunk without a header.
func (r *reader) bareHunk() error {
	h := Hunk{number: len(r.current().Hunks) + 1, line: r.at + 1, first: -1, byContext: true, appends: true}
	end, err := r.uncounted()
	if err != nil {
		return err
	}
	if h.lines, err = r.hunkLines(end, false); err != nil {
		return err
	}
	return r.addHunk(h, head{})
}
