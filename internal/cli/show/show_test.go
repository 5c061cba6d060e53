// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/internal/cli/show"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\r\nc\n": "a\tb\\u000d\nc\n", "\x1b[31mred\x07": `\u001b[31mred\u0007`, "over\rwritten": `over\u000dwritten`, "a\u202eb": `a\u202eb`, "a\xffb": "a\uFFFDb",
		"no\u200bspace": `no\u200bspace`, "äöü 漢字": "äöü 漢字", "": "", "\n\n": "\n\n",
	} {
		if got := show.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a\n\tb": "a b", "one two three": "one two…", "\x1b[2J": `\u001b[2J`, "": ""} {
		if got := show.Line(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A text cannot write a line that is not marked.
func TestBlock(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	show.Block(&b, "| ", "one\ntwo\r\x1b[1A\u2028three\n\nend")
	if want := "| one\n| two\\u000d\\u001b[1A\\u2028three\n| \n| end\n"; b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}

// A command in a text can be read and copied: it is divided between words, and in a file not at all.
func TestBlockDividesBetweenWords(t *testing.T) {
	t.Parallel()
	sixty, long := strings.Repeat("x", 60), strings.Repeat("y", 150)
	for in, want := range map[string]string{
		sixty + " " + sixty + " z":             "| " + sixty + " \n| " + sixty + " z\n",
		sixty + " " + long:                     "| " + sixty + " \n| " + long[:100] + "\n| " + long[100:] + "\n",
		"    " + long:                          "|     " + long[:96] + "\n| " + long[96:] + "\n",
		strings.Repeat(" ", 150):               "| " + strings.Repeat(" ", 100) + "\n| " + strings.Repeat(" ", 50) + "\n",
		strings.Repeat("x", 100) + " and more": "| " + strings.Repeat("x", 100) + "\n|  and more\n",
	} {
		var b, file strings.Builder
		show.Block(&b, "| ", in)
		if b.String() != want {
			t.Errorf("%q, want %q", &b, want)
		}
		if got := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(b.String(), "| "), "\n"), "\n| ", ""); got != in {
			t.Errorf("the rows are %q, and not of %q", got, in)
		}
		show.Block(show.Unwrapped(&file), "| ", in+"\nend\x07")
		if want := "| " + in + "\n| end\\u0007\n"; file.String() != want {
			t.Errorf("in a file %q, want %q", &file, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	show.Table(&b, []string{"NAME", "ASKS"}, [][]string{{"portfolio", ""}, {"a", "Which?"}})
	if want := "NAME        ASKS\nportfolio\na           Which?\n"; b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(d)) }
	for want, got := range map[string]string{
		"3m1s": show.Since(now, at(-181*time.Second)), "29m": show.Until(now, at(29*time.Minute)), "now": show.Until(now, at(-time.Second)),
		", expires in 29m": show.Expiry(now, at(29*time.Minute)), ", its time is over": show.Expiry(now, at(0)),
		"": show.Until(now, metav1.Time{}) + show.Since(now, metav1.Time{}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
