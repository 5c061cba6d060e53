// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import "testing"

// The result does not depend on where a text is cut into pieces, also within a rune.
func TestTextCheck(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "plain\n": true, "Grüße, €, 😀": true, "a\x00b": false, "\xff": false, "cut off \xf0\x9f\x98": false, "\xe2\x82x": false,
	} {
		for at := range len(text) + 1 {
			var c TextCheck
			if got := c.Text([]byte(text[:at])) && c.Text([]byte(text[at:])) && c.Ended(); got != want {
				t.Errorf("%q, cut at %d: %t, want %t", text, at, got, want)
			}
		}
	}
}
