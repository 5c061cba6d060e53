// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	got := JSON(map[string]any{"b": "<a>&", "a": json.Number("12345678901234567890")})
	if want := `{"a":12345678901234567890,"b":"<a>&"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCutBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "12345…", "漢漢漢": "漢…", "1234漢漢": "1234…"} {
		if got := CutBytes(in, 8); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFirstBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "12345678", "漢漢漢": "漢漢", "\xff": "\xff"} {
		if got := FirstBytes(in, 8); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
