// SPDX-License-Identifier: Apache-2.0

package patch

import "testing"

func TestReadMarker(t *testing.T) {
	for text, want := range map[string]marker{
		"*** Begin Patch\n": {kind: beginMarker}, " *** End Patch \r\n": {kind: endMarker}, "*** End of File": {kind: endOfFileMarker},
		"*** Add File: a b\n": {addMarker, "a b"}, "*** update file:x\n": {updateMarker, "x"}, "*** Delete File:\n": {kind: deleteMarker}, "*** Move to: y\n": {moveMarker, "y"},
		"*** Begin Patches\n": {}, "*** bold ***\n": {}, "+*** Add File: x\n": {}, "***": {}, "": {},
	} {
		if got := readMarker(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// The files of a patch, as they follow each other.
func TestV4AFiles(t *testing.T) {
	files, err := Parse("Here it is:\n*** Begin Patch\n*** Add File: new\n+a\n+*** Add File: b\n*** Delete File: old\n\n*** Update File: from\n*** Move to: to\n@@ f\n-a\n+b\n" +
		" *** Update File: in the text\n*** End of File\n  *** Update File: last\n+z\n*** End Patch\n\nThat is all.\n*** Begin Patch\n*** Delete File: another\n*** End Patch\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{To: "new", Replaces: true}, {From: "old", Deletes: true}, {From: "from", To: "to"}, {From: "last", To: "last"}, {From: "another", Deletes: true}}
	hunks := []int{1, 0, 1, 1, 0}
	if len(files) != len(want) {
		t.Fatalf("%d files", len(files))
	}
	for i, f := range files {
		if f.From != want[i].From || f.To != want[i].To || f.Replaces != want[i].Replaces || f.Deletes != want[i].Deletes || f.Problem != nil || len(f.Hunks) != hunks[i] {
			t.Errorf("%+v", f)
		}
	}
	if added, removed := files[2].Counts(); added != 1 || removed != 1 || !files[2].Hunks[0].atEnd {
		t.Errorf("%d, %d, %+v", added, removed, files[2].Hunks)
	}
}
