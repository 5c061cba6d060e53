// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

// A program of the code tool reports the value of its last expression on a pipe of its own, file 3, so that it is not mixed with the
// program's output. The code that runs before the program writes one JSON value per line there. The program itself can write anything
// there, too: that is then its value.

//go:embed harness/javascript.cjs
var javascriptHarness string

//go:embed harness/python.py
var pythonHarness string

// maxTold is the most that is read of a program's report.
const maxTold = 1 << 20

// Kinds of a program's reports.
const (
	toldJSON  = "json"  // the value is JSON
	toldText  = "text"  // the value has no JSON, and this describes it
	toldError = "error" // what ended the program
)

// told is one report of a program.
type told struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Cut is true if the text is longer.
	Cut bool `json:"cut"`
	// Line is where the error is, 0 if that is not known.
	Line int `json:"line"`
}

// toldBuffer keeps the first maxTold bytes.
type toldBuffer struct{ bytes.Buffer }

// Write takes in all of p and never fails.
func (b *toldBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxTold-b.Len()))])
	return len(p), nil
}

// last returns the last value and the last error that were reported, nil if none was.
func (b *toldBuffer) last() (value, failed *told) {
	for line := range bytes.Lines(b.Bytes()) {
		var t told
		if json.Unmarshal(line, &t) != nil {
			continue
		}
		switch t.Kind {
		case toldJSON:
			if json.Valid([]byte(t.Text)) || t.Cut {
				value = &t
			}
		case toldText:
			value = &t
		case toldError:
			failed = &t
		}
	}
	return value, failed
}

// valueBlock shows a value in at most room bytes.
func valueBlock(value *told, room int) string {
	if value == nil || value.saysNothing() {
		return ""
	}
	const title, note = "[value]\n", "\n… the rest of the value is left out; print it to have all of it …\n"
	text := plaintext.EndLine(plaintext.Clean(value.Text))
	if !value.Cut && len(title)+len(text) <= room {
		return title + text
	}
	return title + plaintext.First(text, room-len(title)-len(note)) + note
}

// saysNothing reports whether a value is null, or lists of nothing else: a loop that prints has one in Python.
func (t *told) saysNothing() bool {
	return t.Kind == toldJSON && !t.Cut && strings.Contains(t.Text, "null") && strings.Trim(strings.ReplaceAll(t.Text, "null", ""), "[], \t\n") == ""
}

// message is the text of an error, with its line.
func (t *told) message() string {
	if t.Line > 0 {
		return fmt.Sprintf("%s (line %d)", t.Text, t.Line)
	}
	return t.Text
}
