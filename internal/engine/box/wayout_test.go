// SPDX-License-Identifier: Apache-2.0

package box

import (
	"strings"
	"testing"
)

func TestMapStrings(t *testing.T) {
	t.Parallel()
	upper := func(s string) string { return strings.ReplaceAll(s, "x", `<"\>`) }
	for name, tt := range map[string]struct {
		text, want string
		changed    bool
	}{
		"a string":       {`{"a":"1x"}`, `{"a":"1<\"\\>"}`, true},
		"deep":           {`{"a":[{"b":"x","n":12345678901234567890}]}`, `{"a":[{"b":"<\"\\>","n":12345678901234567890}]}`, true},
		"a name":         {`{"x":"a"}`, `{"x":"a"}`, false},
		"nothing to do":  {`{ "a" : "b" }`, `{ "a" : "b" }`, false},
		"no JSON":        {`x`, `x`, false},
		"more than JSON": {`{"a":"x"} {}`, `{"a":"x"} {}`, false},
		"escaped":        {`{"a":"\u0078"}`, `{"a":"<\"\\>"}`, true},
	} {
		if got, changed := mapStrings(tt.text, upper); got != tt.want || changed != tt.changed {
			t.Errorf("%s: %s %t", name, got, changed)
		}
	}
}
