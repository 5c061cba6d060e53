// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const somePage = "# Some <page>\n\n## Begin\n\n```console\n$ printf unseen > \"$TMP_OF_TEST\"\n```\n\n## Go on\n\n```console\n" +
	"$ cat \"$TMP_OF_TEST\"\nunseen\n$ printf '\\033[31mred\\033[0m <b>&amp;\\n'; printf 'ü…'\n$ cat <<'END'\n> one\n> END\none\n$ exit 3  # exits with 3\n```\n"

// recorded records the page, and returns the two files.
func recorded(t *testing.T, page string, args ...string) (cast, svg string, err error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMP_OF_TEST", filepath.Join(dir, "file"))
	file := filepath.Join(dir, "page.md")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), append(args, "--to", filepath.Join(dir, "out"), "--height", "20", file)); err != nil {
		return "", "", err
	}
	read := func(ending string) string {
		b, err := os.ReadFile(filepath.Join(dir, "out"+ending))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return read(".cast"), read(".svg"), nil
}

// No t.Parallel: the environment is of the process.
func TestARecordingHasWhatIsSeenFromTheHeadingOn(t *testing.T) {
	cast, svg, err := recorded(t, somePage, "--from", "Go on")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(cast))
	lines.Scan()
	var header struct {
		Version, Width, Height int
		Title                  string
	}
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header.Version != 2 || header.Width != 110 || header.Height != 20 || header.Title != "Some <page>" {
		t.Errorf("the header is %s: %v", lines.Text(), err)
	}
	var all strings.Builder
	last := 0.0
	for lines.Scan() {
		var e []any
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || len(e) != 3 || e[1] != "o" || e[0].(float64) < last {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		last = e[0].(float64)
		all.WriteString(e[2].(string))
	}
	said := strings.NewReplacer(prompt, "$ ", further, "> ", "\r", "").Replace(all.String())
	want := "$ cat \"$TMP_OF_TEST\"\nunseen$ printf '\\033[31mred\\033[0m <b>&amp;\\n'; printf 'ü…'\n\x1b[31mred\x1b[0m <b>&amp;\nü…$ cat <<'END'\n> one\n> END\none\n$ exit 3\n"
	if said != want {
		t.Errorf("it has\n%q, want\n%q", said, want)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if c, ok := token.(xml.CharData); ok {
			text.Write(bytes.TrimSpace(c))
			text.WriteByte('\n')
		}
	}
	for _, part := range []string{"red\n", "<b>&amp;", "ü…", "Some <page>"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the picture has no %q:\n%s", part, svg)
		}
	}
	if !regexp.MustCompile(`animation:[0-9.]+s step-end infinite}`).MatchString(svg) || strings.Contains(svg, "%!") {
		t.Errorf("nothing moves in the picture:\n%s", svg)
	}
	if !strings.Contains(svg, `font-weight="bold"`) || strings.Contains(svg, "http") && strings.Count(svg, "http") != 1 {
		t.Errorf("the picture is\n%s", svg)
	}
}

// No t.Parallel: the environment is of the process.
func TestWhatIsNotRecorded(t *testing.T) {
	for says, page := range map[string]string{
		"ended with 1, not 0": "```console\n$ false\n```\n",
		"ended with 0, not 1": "```console\n$ true  # exits with 1\n```\n",
		"has no end":          "```console\n$ true\n",
	} {
		if _, _, err := recorded(t, page); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", page, err)
		}
	}
	if _, _, err := recorded(t, somePage, "--from", "Nowhere"); err == nil || !strings.Contains(err.Error(), "no heading") {
		t.Errorf("%v", err)
	}
}
