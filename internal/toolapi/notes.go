// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNoteBytes is the most bytes of notes in a Result.
const MaxNoteBytes = 4 << 10

// Parts splits the output. data is the output of a program, a page or a file. notes are the tool server's own text about the call:
// how it was ended, which output was omitted, what is wrong with its arguments. Data from the web is marked for the
// model, and notes are not. A tool server of an earlier release sends no notes: all of its output is data.
//
// Programs of the sandbox cannot access the tool server, so they cannot write notes. Text of a remote end or of a file must not be put
// into them either: it would stand outside of the mark. Notes that are too long, or that cannot be distinguished from the data, count as data.
func (r *Result) Parts() (data, notes string) {
	n := int(r.NoteBytes)
	if n <= 0 || n > MaxNoteBytes || n > len(r.Output) {
		return r.Output, ""
	}
	data, notes = r.Output[:len(r.Output)-n], r.Output[len(r.Output)-n:]
	if data != "" && !strings.HasSuffix(data, "\n") || !utf8.ValidString(notes) || strings.ContainsFunc(notes, notInNotes) {
		return r.Output, ""
	}
	return data, notes
}

// SetParts sets the output from data and notes. The notes begin on a line of their own.
func (r *Result) SetParts(data, notes string) {
	if data != "" && notes != "" && !strings.HasSuffix(data, "\n") {
		data += "\n"
	}
	r.Output, r.NoteBytes = data+notes, int32(len(notes))
}

// NotesOnly reports whether the tool server wrote the whole output.
func (r *Result) NotesOnly() bool {
	data, notes := r.Parts()
	return data == "" && notes != ""
}

// Note adds a line to the notes.
func (r *Result) Note(line string) {
	data, notes := r.Parts()
	if notes != "" && !strings.HasSuffix(notes, "\n") {
		notes += "\n"
	}
	r.SetParts(data, notes+line)
}

// notInNotes finds characters by which a line could look like another one.
func notInNotes(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c))
}

// Refusal returns the result of a call that is not made, or that the manager serves itself and cannot. The manager wrote the message.
func Refusal(code, message string) *Result {
	r := &Result{ErrorCode: code, Provenance: ProvenanceInternal}
	r.SetParts("", message)
	return r
}
