// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	long := strings.Repeat("x", MaxNoteBytes+1)
	for name, test := range map[string]struct {
		result      Result
		data, notes string
	}{
		"no notes":              {Result{Output: "data"}, "data", ""},
		"both":                  {Result{Output: "data\n[note]\n", NoteBytes: 7}, "data\n", "[note]\n"},
		"only notes":            {Result{Output: "[note]", NoteBytes: 6}, "", "[note]"},
		"in the middle of one":  {Result{Output: "data [note]\n", NoteBytes: 7}, "data [note]\n", ""},
		"more than there is":    {Result{Output: "data", NoteBytes: 5}, "data", ""},
		"negative":              {Result{Output: "data", NoteBytes: -1}, "data", ""},
		"too long":              {Result{Output: long, NoteBytes: int32(len(long))}, long, ""},
		"in the middle of rune": {Result{Output: "\né", NoteBytes: 1}, "\né", ""},
		"with a control":        {Result{Output: "a\n\x1b[2J", NoteBytes: 4}, "a\n\x1b[2J", ""},
		"the other way round":   {Result{Output: "a\n\u202e", NoteBytes: 3}, "a\n\u202e", ""},
	} {
		if data, notes := test.result.Parts(); data != test.data || notes != test.notes {
			t.Errorf("%s: %q and %q", name, data, notes)
		}
		if got := test.result.NotesOnly(); got != (test.data == "" && test.notes != "") {
			t.Errorf("%s: only notes: %t", name, got)
		}
	}
}

func TestSetParts(t *testing.T) {
	var r Result
	r.SetParts("data", "")
	if data, notes := r.Parts(); data != "data" || notes != "" {
		t.Errorf("%+v", r)
	}
	r.Note("[one]")
	r.Note("[two]\n")
	if data, notes := r.Parts(); data != "data\n" || notes != "[one]\n[two]\n" || r.Output != data+notes {
		t.Errorf("%+v", r)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	r := Refusal(CodeInvalidArguments, "the arguments do not fit")
	if r.OK || r.ErrorCode != CodeInvalidArguments || r.Provenance != ProvenanceInternal || !r.NotesOnly() {
		t.Errorf("%+v", r)
	}
}
