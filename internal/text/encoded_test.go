// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEncodedLen(t *testing.T) {
	for c := range rune(0x3000) {
		s := string(c) + "x"
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := EncodedLen(s), len(b)-2; got < want {
			t.Errorf("%q: %d, takes %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		in            string
		size, encoded int
		want          string
	}{
		"fits":               {"abcdef", 6, 6, "abcdef"},
		"size":               {"abcdefg", 6, 99, "abcd.."},
		"whole characters":   {"abcäöü", 7, 99, "abcä.."},
		"encoded":            {"ab<<<<<<", 99, 14, "ab<.."},
		"nothing but a mark": {"äää", 3, 3, ".."},
	}
	for name, tc := range cases {
		if got := Cut(tc.in, tc.size, tc.encoded, ".."); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"short":       {"all of it", "all of it"},
		"long":        {"begin" + strings.Repeat("-", 100) + "the end", "begin---- … --the end"},
		"wide":        {strings.Repeat("漢", 40), "漢漢漢 … 漢漢漢"},
		"six a byte":  {strings.Repeat("<", 40), "< … <"},
		"just enough": {strings.Repeat("x", 24), strings.Repeat("x", 24)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Ends(tt.in, 24)
			if got != tt.want || !utf8.ValidString(got) || EncodedLen(got) > 24 {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a\n  b": "a b", "one\ntwo three": "one two…", "": ""} {
		if got := Line(in, 10); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
