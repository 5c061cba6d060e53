// SPDX-License-Identifier: Apache-2.0

package workpath

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestIsPlainAndClean(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", toolapi.MaxArtifactPath+1)
	for p, tt := range map[string]struct {
		plain bool
		shown string
	}{
		"artifacts/a.txt": {true, "artifacts/a.txt"},
		"é":               {true, "é"},
		"e\u0301":         {false, "e\uFFFD"},
		"a\nb":            {false, "a\uFFFDb"},
		"../a":            {false, "../a"},
		"/a":              {false, "/a"},
		"a//b":            {false, "a//b"},
		".":               {false, "."},
		"":                {false, ""},
		long:              {false, long[1:]},
	} {
		if got := IsPlain(p); got != tt.plain {
			t.Errorf("%q is plain: %t", p, got)
		}
		if got := Clean(p); got != tt.shown {
			t.Errorf("%q is shown as %q", p, got)
		}
	}
}
