// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
)

// funcs are what a template can call besides the built-in functions. All of them
// take the text last, so that they can stand in a pipe.
var funcs = template.FuncMap{
	"json":      toJSON,
	"line":      line,
	"after":     after,
	"trim":      strings.TrimSpace,
	"regexFind": regexFind,
}

// toJSON leaves <, > and & alone: its results end up in source code that a
// person has to read.
func toJSON(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buf.String(), "\n"), nil
}

// fromJSON keeps numbers as they were written, because 1234567.5 printed as
// 1.2345675e+06 would not be what the tool said.
func fromJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: something follows the value")
	}
	return v, nil
}

// jsonIn finds the JSON value in a tool's output: the whole of it, or the first
// value at the start of a line that parses, since a header may stand before it
// and a note behind. The result is nil if there is none.
func jsonIn(text string) any {
	if v, err := fromJSON(text); err == nil {
		return v
	}
	for rest := text; rest != ""; {
		if rest[0] == '{' || rest[0] == '[' {
			dec := json.NewDecoder(strings.NewReader(rest))
			dec.UseNumber()
			var v any
			if dec.Decode(&v) == nil {
				return v
			}
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return nil
}

// lines splits text; a final line break does not make an empty last line.
func lines(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// line returns the nth line, from 1, or from the end if n is negative.
func line(n int, text string) (string, error) {
	all := lines(text)
	i := n - 1
	if n < 0 {
		i = len(all) + n
	}
	if n == 0 || i < 0 || i >= len(all) {
		return "", fmt.Errorf("no line %d in a text of %d lines", n, len(all))
	}
	return all[i], nil
}

func after(marker, text string) (string, error) {
	_, rest, ok := strings.Cut(text, marker)
	if !ok {
		return "", fmt.Errorf("%q is not in %q", marker, clip(text))
	}
	return rest, nil
}

// regexFind returns the first group of the first match, or the match itself if the
// expression has no group.
func regexFind(pattern, text string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	m := re.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", fmt.Errorf("%q does not match %q", pattern, clip(text))
	case len(m) > 1:
		return m[1], nil
	}
	return m[0], nil
}

// clip keeps messages readable when they quote a tool's output.
func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
