// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"strings"
	"testing"
)

func TestPlainURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://user:secret@a.dev/x?key=secret#part": "https://a.dev/x", "http://a.dev": "http://a.dev", "nowhere": "", "https://a.dev/\u202e": "https://a.dev/%E2%80%AE", ":": "",
	} {
		if got := plainURL(given); got != want {
			t.Errorf("%s: %q", given, got)
		}
	}
	if n := len(plainURL("https://a.dev/" + strings.Repeat("x", 9000))); n > maxSource {
		t.Errorf("%d bytes", n)
	}
}
