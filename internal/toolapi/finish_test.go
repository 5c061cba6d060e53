// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"strings"
	"testing"
)

func TestParseFinish(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arguments, value, want string }{
		"plain":                 {arguments: `{"status":"Succeeded","summary":"s","files":["a"]}`},
		"a value":               {arguments: `{"status":"Succeeded","summary":"s","value": {"a": [1, 2]} }`, value: `{"a":[1,2]}`},
		"a null":                {arguments: `{"status":"Succeeded","summary":"s","value":null,"files":null}`},
		"no object":             {arguments: `[]`, want: "no JSON object"},
		"another status":        {arguments: `{"status":"done","summary":"s"}`, want: `"status" must be`},
		"a blank summary":       {arguments: `{"status":"Failed","summary":" "}`, want: `"summary" must not be empty`},
		"a long summary":        {arguments: `{"status":"Failed","summary":"` + strings.Repeat("é", MaxFinishSummary+1) + `"}`, want: `"summary" must have at most`},
		"many files":            {arguments: `{"status":"Failed","summary":"s","files":[` + strings.Repeat(`"a",`, MaxFinishFiles) + `"a"]}`, want: `"files" must have at most`},
		"a file without a name": {arguments: `{"status":"Failed","summary":"s","files":[""]}`, want: `each of "files"`},
		"a large value":         {arguments: `{"status":"Failed","summary":"s","value":"` + strings.Repeat("a", MaxFinishValue) + `"}`, want: `"value" has 8194 bytes`},
		"a value that grows":    {arguments: `{"status":"Failed","summary":"s","value":"` + strings.Repeat("<", MaxFinishValue/2) + `"}`, want: "and 12288 as a string"},
		"spaces":                {arguments: `{"status":"Failed","summary":"s","value":[` + strings.Repeat(" ", MaxFinishValue) + `]}`, value: "[]"},
		"much of everything":    {arguments: `{"status":"Failed","summary":"s","value":"` + strings.Repeat(" ", MaxFinishBytes) + `"}`, want: "at most 98304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := ParseFinish(tt.arguments)
			if tt.want == "" && (err != nil || string(args.Value) != tt.value) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %+v, %v", args, err)
			}
		})
	}
}
