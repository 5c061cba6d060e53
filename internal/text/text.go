// SPDX-License-Identifier: Apache-2.0

// Package text has the few operations on texts that several packages must do in the same way.
package text

import (
	"encoding/json"
	"strings"
)

// JSON returns a value as models and people read it: without the escapes for HTML. It panics on a value without a JSON form, so pass only values
// that were decoded from JSON, or structs of strings and numbers.
func JSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CutBytes shortens a text to at most max bytes, with "…" at its end if anything was cut.
func CutBytes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-len("…")], "") + "…"
}

// FirstBytes returns at most the first max bytes of a text, without the character that the end falls into.
func FirstBytes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "")
}
