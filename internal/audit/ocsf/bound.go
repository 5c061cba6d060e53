// SPDX-License-Identifier: Apache-2.0

package ocsf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MaxLine is the most bytes of a line, without its end. Container runtimes divide lines of 16 KiB, and a SIEM reads no part of one.
const MaxLine = 12 << 10

// cuts are the most bytes that a text, or all texts of a list together, take in a line, each tried only if the line is too long with the one before. At
// the last one every event fits. Ids and hashes are shorter than each.
var cuts = []int{2048, 512, 128}

// encode returns the event as JSON, in at most MaxLine bytes. It leaves < and & as they are: with six bytes each, a line would soon be too long.
func encode(e *Event) ([]byte, error) {
	line, err := marshal(e)
	if err != nil || len(line) <= MaxLine {
		return line, err
	}
	numbers := json.NewDecoder(bytes.NewReader(line))
	numbers.UseNumber()
	var fields map[string]any
	if err := numbers.Decode(&fields); err != nil {
		return nil, fmt.Errorf("read it again: %w", err)
	}
	for _, most := range cuts {
		bound(fields, most)
		if line, err = marshal(fields); err != nil || len(line) <= MaxLine {
			return line, err
		}
	}
	return nil, fmt.Errorf("it has %d bytes, more than %d", len(line), MaxLine)
}

func marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), nil
}

// omitted is what the name of a list is followed by in the name of how many of its texts are left out.
const omitted = "Omitted"

// bound cuts the texts and lists of texts below an object.
func bound(object map[string]any, most int) {
	for name, value := range object {
		switch value := value.(type) {
		case string:
			object[name] = cut(value, most)
		case map[string]any:
			bound(value, most)
		case []any:
			kept := boundList(value, most)
			if left := len(value) - len(kept); left > 0 {
				before, _ := object[name+omitted].(int)
				object[name], object[name+omitted] = kept, before+left
			}
		}
	}
}

// boundList cuts what is in a list, and leaves out texts beyond those that take that many bytes together.
func boundList(list []any, most int) []any {
	left := most
	for i, value := range list {
		switch value := value.(type) {
		case string:
			text := cut(value, most)
			if left -= size(text); left < 0 && i > 0 {
				return list[:i]
			}
			list[i] = text
		case map[string]any:
			bound(value, most)
		}
	}
	return list
}

// cut returns the beginning of a text that takes more than that many bytes in JSON, and a part of its hash: other texts with the same beginning, such as
// names of users, stay others.
func cut(text string, most int) string {
	if size(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	end := "… (sha256:" + hex.EncodeToString(sum[:6]) + ")"
	left := most - len(end)
	for i, r := range text {
		if left -= sizeOf(r); left < 0 {
			return text[:i] + end
		}
	}
	return text
}

// size returns how many bytes a text takes in JSON, without the quotes.
func size(text string) int {
	n := 0
	for _, r := range text {
		n += sizeOf(r)
	}
	return n
}

func sizeOf(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
