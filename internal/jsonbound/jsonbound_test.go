// SPDX-License-Identifier: Apache-2.0

package jsonbound

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		limits Limits
		want   string
	}{
		{`{"a":[1,2,{"b":null}]}`, Limits{}, ""},
		{`{"a":[1,2,{"b":null}]}`, Limits{Depth: 3}, ""},
		{`{"a":[1,2,{"b":null}]}`, Limits{Depth: 2}, "it is nested more than 2 deep"},
		{`{"a":[1,2,{"b":null}]}`, Limits{Values: 5}, ""},
		{`{"a":[1,2,{"b":null}]}`, Limits{Values: 4}, "it has more than 4 values"},
		{`{"a":[1,2,{"b":[1,2,3]}]}`, Limits{Values: 5, Within: 3}, ""},
		{`{"a":[1,2,{"b":null}]}`, Limits{Values: 4, Within: 3}, "it has more than 4 values"},
		{`"[[[[[[,,,,\"[[["`, Limits{Depth: 1, Values: 1}, ""},
		{`{"\\":[]}`, Limits{Depth: 1}, "it is nested more than 1 deep"},
		{`]]]][[`, Limits{Depth: 1}, "it is nested more than 1 deep"},
		{`"`, Limits{Depth: 1}, ""}, {`"\`, Limits{Depth: 1}, ""}, {``, Limits{Depth: 1}, ""},
	} {
		got := ""
		if err := Check([]byte(c.text), c.limits); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s by %+v: %q, want %q", c.text, c.limits, got, c.want)
		}
		inParts := ""
		for counter, i := (Counter{Limits: c.limits}), 0; i < len(c.text) && inParts == ""; i++ {
			if err := counter.Add([]byte(c.text[i : i+1])); err != nil {
				inParts = err.Error()
			}
		}
		if inParts != got {
			t.Errorf("%s in parts: %q, want %q", c.text, inParts, got)
		}
	}
}

// TestWorst checks that a text within the limits takes no more than a few megabytes, and its check next to nothing.
func TestWorst(t *testing.T) {
	limits := Limits{Depth: 64, Values: 4096}
	for _, unit := range []string{"[", `{"":`, "[],", "{},", `{"a":{}},`, "1,", `"a":1,`, `"`, `\`} {
		text := []byte("[" + strings.Repeat(unit, (1<<20)/len(unit)))
		worst.Within(t, "a megabyte of "+unit, worst.Cost{Stack: worst.Race << 20, Heap: worst.Race << 20, Time: 10 * time.Second}, func() {
			_ = Check(text, limits) // Some of it keeps the limits.
		})
	}
	deep := strings.Repeat(`{"":[`, 32) + "1" + strings.Repeat("]}", 32)
	broad := "[" + strings.Repeat("{},", 2046) + "{}]"
	for _, text := range []string{deep, broad} {
		worst.Within(t, "what keeps them", worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 4 << 20, Time: 10 * time.Second}, func() {
			var v any
			if err := Check([]byte(text), limits); err != nil {
				t.Error(err)
			}
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzCheck compares with the results of a reader.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":null}]}`), 3, 4)
	f.Add([]byte(strings.Repeat("[", 100)), 10, 10)
	f.Add([]byte(`["\\\"",[],{}]`), 1, 2)
	f.Fuzz(func(t *testing.T, text []byte, depth, values int) {
		err := Check(text, Limits{Depth: depth, Values: values})
		var v any
		if err != nil || json.Unmarshal(text, &v) != nil {
			return
		}
		deepest, count := measure(v)
		if depth > 0 && deepest > depth || values > 0 && count > 2*values+1 {
			t.Errorf("%d values, %d deep, by %d and %d", count, deepest, values, depth)
		}
	})
}

// measure is how deep a value is, and how many values are in it, itself counted.
func measure(v any) (deepest, count int) {
	each := func(inner any) {
		d, n := measure(inner)
		deepest, count = max(deepest, d), count+n
	}
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			each(inner)
		}
	case map[string]any:
		for _, inner := range v {
			each(inner)
		}
	default:
		return 0, 1
	}
	return deepest + 1, count + 1
}
