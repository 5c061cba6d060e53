// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst has the arguments of a call that a person is asked about take no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 8 << 20, Time: 20 * time.Second}
	fill := func(before, unit string, size int) string {
		return before + strings.Repeat(unit, (size-len(before))/len(unit))
	}
	for _, unit := range []string{"[", `{"":`, "[],", "{},", `"a":1,`, `"\u0000",`, `\u202e`, "\u202e", "1,", "1", " ", `{"a":[`, "\xff"} {
		for _, before := range []string{"", `{"domain":`, `{"domain":[`, `{"domain":"`, `{"reason":{"`, `{`} {
			args := fill(before, unit, toolapi.MaxArgumentsBytes)
			worst.Within(t, "the digest of "+before+unit, most, func() { ArgsDigest("bash", args) })
			worst.Within(t, "what is shown of "+before+unit, most, func() { DisplayArguments(args) })
		}
	}
	keys := keysOf(toolapi.MaxArgumentsBytes)
	list := `{"command":[` + strings.Repeat("{},", toolapi.MaxArgumentsBytes/3-8) + "0]}"
	nested := strings.Repeat(`{"a":`, maxArgumentsDepth) + "1" + strings.Repeat("}", maxArgumentsDepth)
	text := `{"a":"` + strings.Repeat(`\u202e`, toolapi.MaxArgumentsBytes/6-4) + `"}`
	for name, args := range map[string]string{"many keys": keys, "a list": list, "nested": nested, "escaped": text} {
		if _, err := parseArguments(args); err != nil {
			t.Errorf("%s are not read: %v", name, err)
		}
		worst.Within(t, name, most, func() {
			ArgsDigest("bash", args)
			DisplayArguments(args)
		})
	}
}

// keysOf returns an object of that many bytes with as many keys as fit.
func keysOf(size int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var b strings.Builder
	b.WriteString(`{"":0`)
	for i := 0; b.Len() < size-16; i++ {
		b.WriteString(`,"`)
		for n := i; n >= 0; n = n/len(letters) - 1 {
			b.WriteByte(letters[n%len(letters)])
		}
		b.WriteString(`":1`)
	}
	return b.String() + "}"
}
