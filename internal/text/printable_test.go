// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\r\nc\n": "a\tb\nc", "\x1b[31mred\x00": "\uFFFD[31mred\uFFFD", "a\u202eb": "a\uFFFDb", "a\xffb": "a\uFFFDb", strings.Repeat("\u0085", 3): strings.Repeat("\uFFFD", 3),
		"x\u0085\u009by": "x\uFFFD\uFFFDy", "over\rwritten": "over\uFFFDwritten", "a\u200bb\ufeffc\u00add": "a\uFFFDb\uFFFDc\uFFFDd", "\U000E0041": "\uFFFD", "a\u2028b": "a\uFFFDb", "\u3164x": "\uFFFDx", "a\x7fb": "a\uFFFDb", "a\u200Db": "a\uFFFDb",
		"❤\uFE0F 👨\u200D👩 1\uFE0F": "❤\uFE0F 👨\u200D👩 1\uFE0F", "a\uFE0F": "a\uFFFD", "café äöü 漢字 שלום": "café äöü 漢字 שלום", "": "", " x ": "x",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if once := Shown(in); Shown(once) != once || utf8.RuneCountInString(once) > utf8.RuneCountInString(in) {
			t.Errorf("%q: %q is not what stays", in, once)
		}
	}
}

func TestShowAll(t *testing.T) {
	t.Parallel()
	type inner struct {
		Text  string
		Bytes []byte
	}
	type outer struct {
		A       string
		hidden  string
		Pointer *string
		List    []inner
		Map     map[string]inner
		Strings map[string]string
		Nil     *inner
		Any     int
	}
	v := outer{
		A: "\x1b", hidden: "\x1b", Pointer: new("\u202e"), List: []inner{{"\x00", []byte("\x00")}}, Map: map[string]inner{"k": {Text: "\x07"}}, Strings: map[string]string{"k": "\u200b"},
	}
	ShowAll(&v)
	want := outer{
		A: "\uFFFD", hidden: "\x1b", Pointer: new("\uFFFD"), List: []inner{{"\uFFFD", []byte("\x00")}}, Map: map[string]inner{"k": {Text: "\uFFFD"}}, Strings: map[string]string{"k": "\uFFFD"},
	}
	if d := cmp.Diff(want, v, cmp.AllowUnexported(outer{})); d != "" {
		t.Error(d)
	}
}
