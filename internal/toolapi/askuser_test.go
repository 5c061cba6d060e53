// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAskUser(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢", MaxQuestion)
	option := strings.Repeat("漢", MaxOption)
	good := map[string]struct {
		arguments string
		want      AskUserArgs
	}{
		"alone":            {` {"question":"Which?"} `, AskUserArgs{Question: "Which?"}},
		"everything":       {`{"question":"q","options":["a","b"],"default":"a"}`, AskUserArgs{Question: "q", Options: []string{"a", "b"}, Default: "a"}},
		"files":            {`{"question":"q","files":["the portfolio, as CSV"]}`, AskUserArgs{Question: "q", Files: []string{"the portfolio, as CSV"}}},
		"null is left out": {`{"question":"q","options":null,"default":null}`, AskUserArgs{Question: "q"}},
		"ten options":      {`{"question":"q","options":["a","b","c","d","e","f","g","h","i","j"]}`, AskUserArgs{Question: "q", Options: strings.Split("abcdefghij", "")}},
		"the last of two":  {`{"question":7,"question":"q"}`, AskUserArgs{Question: "q"}},
		"the longest": {
			`{"question":"` + long + `","options":["` + option + `"],"default":"` + option + `"}`,
			AskUserArgs{Question: long, Options: []string{option}, Default: option},
		},
	}
	for name, tt := range good {
		got, err := ParseAskUser(tt.arguments)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	bad := map[string]string{
		"nothing":           "",
		"no JSON":           "Which?",
		"no object":         `["Which?"]`,
		"null":              "null",
		"more than JSON":    `{"question":"q"}}`,
		"empty":             `{"question":" \n"}`,
		"missing":           `{"options":["a"]}`,
		"a null question":   `{"question":null}`,
		"a number":          `{"question":7}`,
		"unknown field":     `{"question":"q","urgent":true}`,
		"wrong case":        `{"Question":"q"}`,
		"both cases":        `{"question":"q","QUESTION":"other"}`,
		"too long":          `{"question":"` + long + `x"}`,
		"nine files":        `{"question":"q","files":["` + strings.Repeat(`f","`, MaxAskFiles) + `f"]}`,
		"a blank file":      `{"question":"q","files":[" "]}`,
		"a long file":       `{"question":"q","files":["` + strings.Repeat("f", MaxAskFile+1) + `"]}`,
		"eleven options":    `{"question":"q","options":["` + strings.Repeat(`o","`, MaxOptions) + `o"]}`,
		"an empty option":   `{"question":"q","options":["a",""]}`,
		"a null option":     `{"question":"q","options":[null]}`,
		"a long option":     `{"question":"q","options":["` + option + `x"]}`,
		"options no list":   `{"question":"q","options":"a"}`,
		"a long default":    `{"question":"q","default":"` + option + `x"}`,
		"more than is kept": `{"question":"q"` + strings.Repeat(" ", MaxAskUserBytes) + `}`,
	}
	for name, arguments := range bad {
		if got, err := ParseAskUser(arguments); err == nil {
			t.Errorf("%s: taken for the question %q", name, got.Question)
		}
	}
}
