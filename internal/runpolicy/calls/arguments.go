// SPDX-License-Identifier: Apache-2.0

// Package calls decides about single calls of a run: which need the approval of a person, which may not be made or are not made twice, what
// their arguments are, and which may have had effects. It knows the record of a call and nothing of the course of the run.
package calls

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/text"
)

// maxShownArguments is the most bytes of the arguments of a call that a person is shown.
const maxShownArguments = 4096

// ArgsDigest returns "sha256:…" of a tool call: of the name of the tool, a line break, and the arguments in canonical JSON. Two calls with the same
// digest do the same.
func ArgsDigest(tool, arguments string) string {
	sum := sha256.Sum256([]byte(tool + "\n" + canonicalArguments(arguments)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalArguments returns arguments in canonical JSON: sorted keys, no space between, numbers as they are written, and only the escapes that
// JSON requires. Arguments may be no JSON object, or have a key twice, which readers interpret in more than one way. Those become a JSON string of
// the text as it is.
func canonicalArguments(arguments string) string {
	object, err := parseArguments(arguments)
	if err != nil {
		return text.JSON(arguments)
	}
	return text.JSON(object)
}

var errNoObject = errors.New("it is no JSON object")

// maxArgumentsDepth bounds the nesting of the values of arguments.
const maxArgumentsDepth = 1000

// parseArguments reads the arguments of a call: one JSON object without a key twice, and nothing after it.
func parseArguments(arguments string) (map[string]any, error) {
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber() // A float64 would make different large numbers equal.
	v, err := parseValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return object, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	switch {
	case !ok:
		return t, nil
	case depth >= maxArgumentsDepth:
		return nil, errNoObject
	case delim == '[':
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	object := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if _, twice := object[name]; !ok || twice {
			return nil, errNoObject
		}
		if object[name], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return object, err
}

// TextArgument returns a string in the arguments of a call, "" if it is missing. It returns an error if a tool might read it otherwise: the tools
// ignore case in the name of an argument.
func TextArgument(arguments, name string) (string, error) {
	object, err := parseArguments(arguments)
	if err != nil {
		return "", err
	}
	for key := range object {
		if key != name && strings.EqualFold(key, name) {
			return "", fmt.Errorf("the argument %q may be taken for %q", key, name)
		}
	}
	switch v := object[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("the argument %q is no text", name)
}

// DisplayArguments returns the arguments of a call in the form that a person is shown, at most 4096 bytes of canonical JSON. Every character is
// escaped that is invisible, that moves other text about, or that looks like another one. Of longer arguments it returns the beginning and the end.
func DisplayArguments(arguments string) string {
	s := Visible(canonicalArguments(arguments))
	if len(s) <= maxShownArguments {
		return s
	}
	const room = 64 // for the note
	half := (maxShownArguments - room) / 2
	head, tail := strings.ToValidUTF8(s[:half], ""), strings.ToValidUTF8(s[len(s)-half:], "")
	return fmt.Sprintf("%s …(%d bytes left out)… %s", head, len(s)-len(head)-len(tail), tail)
}

// Visible escapes the characters of a text that could deceive the eye, as \uXXXX, so that JSON stays valid and equal.
func Visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		n := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) })
		switch {
		case n < 0:
			n = len(s)
		case n == 0:
			_, n = utf8.DecodeRuneInString(s)
		}
		mixed := mixesScripts(s[:n])
		for _, r := range s[:n] {
			if r >= utf8.RuneSelf && (mixed || !shows(r)) || !unicode.IsPrint(r) {
				escapeRune(&b, r)
			} else {
				b.WriteRune(r)
			}
		}
		s = s[n:]
	}
	return b.String()
}

func escapeRune(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// shows reports whether a character has a shape of its own: one that is not empty, and not that of an ASCII character made
// wide or set in another typeface.
func shows(r rune) bool {
	switch {
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf),
		r == 0x2800, r == 0x034F, r == 0x17B4, r == 0x17B5:
		return false
	case r >= 0xFF01 && r <= 0xFF5E, r >= 0x1D400 && r <= 0x1D7FF, r >= 0x2100 && r <= 0x214F:
		return false
	}
	return true
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

// mixesScripts reports whether a word has letters of ASCII and letters that are not Latin, many of which look the same.
func mixesScripts(word string) bool {
	var ascii, other bool
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			ascii = ascii || unicode.IsLetter(r)
		case unicode.IsLetter(r):
			other = other || !unicode.Is(unicode.Latin, r) || r == 'ı' || r == 'ɡ' || r == 'ɑ'
		}
	}
	return ascii && other
}
