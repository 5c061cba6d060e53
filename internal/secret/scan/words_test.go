// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	w, err := newWords([]string{"key", "ey", "keyboard", "zz"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"": nil, "k": nil, "ke": nil, "ey": {"ey"}, "a key": {"key", "ey"}, "keyboard": {"key", "keyboard", "ey"}, "keykey": {"key", "ey", "key", "ey"},
		"zzz": {"zz", "zz"}, "KEY": nil, "k\x00ey": {"ey"},
	} {
		if got := slices.Collect(w.in([]byte(text))); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if w.anyIn(text) != (len(want) > 0 || text == "KEY") {
			t.Errorf("%q: any is %v", text, w.anyIn(text))
		}
	}
	for range w.in([]byte("zzz")) {
		break // The sequence may be left at any word.
	}
	if (words{}).anyIn("key") {
		t.Error("no words are found")
	}
	if _, err := newWords([]string{"key", "k"}); err == nil {
		t.Error("a word of one byte is taken")
	}
}
