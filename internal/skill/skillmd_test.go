// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// TestParseManifestEncodings: how an editor saves a file makes no difference.
func TestParseManifestEncodings(t *testing.T) {
	t.Parallel()
	lf := "---\nname: reports\ndescription: |\n  One.\n  Two.\n---\n\nBody.\n\nMore.\n"
	want, err := ParseManifest([]byte(lf))
	if err != nil || want.Description != "One.\nTwo." || want.Body != "\nBody.\n\nMore.\n" {
		t.Fatalf("%#v, %v", want, err)
	}
	for name, content := range map[string]string{
		"CRLF":                     strings.ReplaceAll(lf, "\n", "\r\n"),
		"byte order mark":          "\uFEFF" + lf,
		"byte order mark and CRLF": "\uFEFF" + strings.ReplaceAll(lf, "\n", "\r\n"),
		"blanks behind the lines":  strings.ReplaceAll(lf, "---\n", "--- \t\n"),
		"some CRLF":                strings.Replace(lf, "reports\n", "reports\r\n", 1),
	} {
		if got, err := ParseManifest([]byte(content)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v", name, got, err)
		}
	}
	for _, end := range []string{"", "\n"} {
		if got, err := ParseManifest([]byte("---\nname: reports\ndescription: d\n---" + end)); err != nil || got.Body != "" {
			t.Errorf("%#v, %v", got, err)
		}
	}
}

// TestParseManifestRefusesBytes has bytes that cannot be in a file that people read.
func TestParseManifestRefusesBytes(t *testing.T) {
	t.Parallel()
	const front, body = "---\nname: reports\ndescription: d%s\n---\nBody.\n", "---\nname: reports\ndescription: d\n---\nBody.\n%s\n"
	const notText = ": take it out"
	for name, c := range map[string]struct{ content, want string }{
		"NUL":               {fmt.Sprintf(front, "\x00"), "line 3: there is a NUL character" + notText},
		"NUL in the body":   {fmt.Sprintf(body, "\x00"), "line 6: there is a NUL character" + notText},
		"not UTF-8":         {fmt.Sprintf(front, "\xe9"), "line 3: it is not valid UTF-8: save it as UTF-8"},
		"not UTF-8 in body": {fmt.Sprintf(body, "\uFFFD\n\xff"), "line 7: it is not valid UTF-8: save it as UTF-8"},
		"UTF-16":            {"\xff\xfe-\x00-\x00-\x00", "line 1: it is not valid UTF-8: save it as UTF-8"},
		"UTF-16 of ASCII":   {"-\x00-\x00-\x00\n\x00", "line 1: there is a NUL character" + notText},
		"two BOMs":          {"\uFEFF\uFEFF---\n", "line 1: it must begin with a line ---, the front matter with name and description, and a line ---: add them"},
		"CR alone":          {fmt.Sprintf(front, "\rlicense: MIT"), "line 3: there is a control character, or another end of line than LF and CRLF (U+000D)" + notText},
		"NEL":               {fmt.Sprintf(front, "\u0085license: MIT"), "line 3: there is a control character, or another end of line than LF and CRLF (U+0085)" + notText},
		"line separator":    {fmt.Sprintf(front, "\u2028license: MIT"), "line 3: there is a control character, or another end of line than LF and CRLF (U+2028)" + notText},
		"escape":            {fmt.Sprintf(front, "\x1b[8m"), "line 3: there is a control character, or another end of line than LF and CRLF (U+001B)" + notText},
		"10 MiB":            {"---\n" + strings.Repeat("a: b\n", 2<<20), "it has 10485764 bytes, and 262144 are the most: move parts of it to files below references"},
		"front of 65537 bytes": {"---\nname: reports\ndescription: d\n#" + strings.Repeat("x", MaxFrontBytes-30) + "\n---\n",
			"line 1: the front matter has more than 65536 bytes: move what it says below it, or to files below references"},
		"no end in 65537 bytes": {"---\n" + strings.Repeat("#\n", MaxFrontBytes/2+2), "line 1: the front matter has more than 65536 bytes: move what it says below it, or to files below references"},
		"many keys":             {"---\nname: reports\ndescription: d\nmetadata:\n" + manyKeys(2100) + "---\n", "line 2049: the front matter has more than 4096 values: move what it says below it"},
	} {
		if m, err := ParseManifest([]byte(c.content)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %#v, %v, want %s", name, m, err, c.want)
		}
	}
	for _, content := range []string{
		"---\nname: reports\ndescription: d\n#" + strings.Repeat("x", MaxFrontBytes-31) + "\n---\n", fmt.Sprintf(body, "\x1b\r\u0085\u2028\uFEFF"),
		"---\nname: reports\ndescription: d 👩\u200d💻\u200c ⚠\ufe0f\nlicense: \"\\t\"\n---\n",
	} {
		if _, err := ParseManifest([]byte(content)); err != nil {
			t.Error(err)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  k%d: v\n", i)
	}
	return b.String()
}

// TestParseManifestWarns: keys outside of the standard are omitted with a warning, and the others are there.
func TestParseManifestWarns(t *testing.T) {
	t.Parallel()
	m, err := ParseManifest([]byte(`---
name: reports
version: 1.0
description: d
license: {spdx: MIT}
metadata:
  author: me
  tags: [a, b]
  nested: {deep: {deeper: true}}
  last: x
compatibility: ` + strings.Repeat("c", 501) + `
allowed-tools: [read, [write]]
hooks:
  before:
  - run: x
---
Body.
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Front{Name: "reports", Description: "d", Metadata: map[string]string{"author": "me", "last": "x"}}
	if !reflect.DeepEqual(m.Front, want) || m.Body != "Body.\n" {
		t.Errorf("%#v", m)
	}
	var lines []int
	for _, w := range m.Warnings {
		lines = append(lines, w.Line)
	}
	if got := fmt.Sprint(lines); got != "[3 5 8 9 11 12 13]" {
		t.Errorf("warnings in lines %s: %v", got, m.Warnings)
	}

	m, err = ParseManifest([]byte("---\nname: reports\ndescription: d\n" + strings.ReplaceAll(manyKeys(500), "  k", "k") + "---\n"))
	if err != nil || len(m.Warnings) != maxWarnings || m.Warnings[maxWarnings-1].Message != "469 more things are odd" {
		t.Errorf("%d warnings, %v", len(m.Warnings), err)
	}
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "a-b", "pdf-processing", "a1-2b", strings.Repeat("x", 64)} {
		if err := ValidName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "-", "a-", "-a", "a--b", "A", "a_b", "a.b", "a/b", " a", "a\n", "ä", "а", "ａ", "\xff", strings.Repeat("x", 65), "--", "a\x00"} {
		err := ValidName(name)
		if err == nil {
			t.Errorf("%q is accepted", name)
			continue
		}
		checkMessage(t, err.Error())
	}
}

// TestParseManifestOfHostileText: text that is made to keep a YAML parser busy is refused, or read, at once.
func TestParseManifestOfHostileText(t *testing.T) {
	t.Parallel()
	indented := func(line string) string {
		var b strings.Builder
		for i := 0; b.Len() < MaxFrontBytes-1024; i++ {
			b.WriteString(strings.Repeat(" ", i) + line)
		}
		return b.String()
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 8), i)
	}
	fronts := []string{indented("a:\n"), indented("- \n"), indented("a: #\n"), bomb.String()}
	for _, unit := range []string{
		"[", "{", "- ", "? ", "&a ", "*a ", "&a *a ", "a: ", "a:\n", "#\n", "!", "!a ", "!!str ", "%", "'", "\"", "\"\\", "|\n", ">\n ", "a:\n#\n", "[a,", "{a: ", "a,", "- a\n", " ", "\t", "-\n",
		":\n", "?\n", "[]\n", "a: [\n", "x ", "x: #\n", "  #\n", "- #\n", "x: |\n #\n", "? -\n", "...\n", "--- a\n", "<<: *a\n", "\u00e4: \u00e4\n", "a: b: c\n",
	} {
		repeated := strings.Repeat(unit, (MaxFrontBytes-64)/len(unit))
		fronts = append(fronts, repeated, "name: x\ndescription: y\nmetadata:\n  "+repeated)
	}
	for _, front := range fronts {
		if _, err := ParseManifest([]byte("---\n" + front + "\n---\n")); err != nil {
			checkMessage(t, err.Error())
		}
	}
}

// FuzzParseManifest: every SKILL.md is read or refused soon; an accepted one is valid.
func FuzzParseManifest(f *testing.F) {
	for _, pattern := range []string{"testdata/conformance/refused/*", "testdata/conformance/valid/*/SKILL.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	f.Add([]byte("\uFEFF---\r\nname: a\r\ndescription: \"\\x41\"\r\n---\r\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := ParseManifest(content)
		if err != nil {
			checkMessage(t, err.Error())
			return
		}
		for _, w := range m.Warnings {
			checkMessage(t, w.Message)
		}
		if n := len([]rune(m.Description)); ValidName(m.Name) != nil || n < 1 || n > MaxDescription || strings.ContainsFunc(m.Description, unseen) ||
			strings.TrimSpace(m.Description) != m.Description || len([]rune(m.Compatibility)) > MaxCompatibility || len(m.Warnings) > maxWarnings {
			t.Errorf("%#v is accepted", m)
		}
	})
}

// TestLongDescription: a description that is longer than the standard has it is no reason to refuse a skill.
func TestLongDescription(t *testing.T) {
	t.Parallel()
	m, err := ParseManifest([]byte("---\nname: reports\ndescription: " + strings.Repeat("é", MaxDescription-1) + " more\n---\n"))
	if err != nil || m.Description != strings.Repeat("é", MaxDescription-1) {
		t.Fatalf("%d bytes, %v", len(m.Description), err)
	}
	want := Warning{Kind: v1alpha1.FindingOddValue, Line: 3, Message: `"description" has 1028 characters, and 1024 are the most: shorten it. Only its beginning is shown where skills are listed`}
	if len(m.Warnings) != 1 || m.Warnings[0] != want {
		t.Errorf("%+v", m.Warnings)
	}
}
