// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		accept *v1alpha1.RunAcceptance
		want   string
	}{
		"none":                    {nil, ""},
		"nothing":                 {&v1alpha1.RunAcceptance{}, ""},
		"files":                   {&v1alpha1.RunAcceptance{Files: []string{"a", "./b/c", "artifacts/*.csv", "a/../b", "..a"}}, ""},
		"from the root":           {&v1alpha1.RunAcceptance{Files: []string{"a", "/etc/passwd"}}, "files[1] is not relative to the workspace"},
		"out":                     {&v1alpha1.RunAcceptance{Files: []string{"a/../../b"}}, "files[0] leads out of the workspace"},
		"up":                      {&v1alpha1.RunAcceptance{Files: []string{".."}}, "files[0] leads out of the workspace"},
		"a line break":            {&v1alpha1.RunAcceptance{Files: []string{"a\nb"}}, "files[0] has control characters"},
		"a schema":                {&v1alpha1.RunAcceptance{ValueSchema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`}, ""},
		"no JSON":                 {&v1alpha1.RunAcceptance{ValueSchema: `{`}, "valueSchema is no JSON schema that can be used"},
		"not a schema":            {&v1alpha1.RunAcceptance{ValueSchema: `[]`}, "valueSchema is no JSON schema that can be used"},
		"a wrong type":            {&v1alpha1.RunAcceptance{ValueSchema: `{"type":"banana"}`}, `it has the type "banana"`},
		"a wrong type, in a list": {&v1alpha1.RunAcceptance{ValueSchema: `{"properties":{"a":{"type":["objet"]}}}`}, `it has the type "objet"`},
		"a wrong type, escaped":   {&v1alpha1.RunAcceptance{ValueSchema: `{"items":[{"\u0074ype":"objet"}]}`}, `it has the type "objet"`},
		"a type that is a value":  {&v1alpha1.RunAcceptance{ValueSchema: `{"const":{"type":"Feature"},"enum":[{"type":"a"}],"default":{"type":"Point"},"properties":{"type":{"type":"string"}}}`}, ""},
		"null only":               {&v1alpha1.RunAcceptance{ValueSchema: `{"type":"null"}`}, "only null fits it"},
		"false":                   {&v1alpha1.RunAcceptance{ValueSchema: `false`}, "it must be a JSON object"},
		"a bracket that is open":  {&v1alpha1.RunAcceptance{Files: []string{"artifacts/[a.csv"}}, "files[0] has a bracket that is not closed"},
		"out, by a pattern":       {&v1alpha1.RunAcceptance{Files: []string{"a/{../../etc,b}"}}, "files[0] leads out of the workspace"},
		"refers elsewhere":        {&v1alpha1.RunAcceptance{ValueSchema: `{"$ref":"https://example.org/s"}`}, "refers to something outside"},
		"refers to itself":        {&v1alpha1.RunAcceptance{ValueSchema: `{"properties":{"a":{"$ref":"#"}}}`}, "valueSchema"},
		"takes for ever":          {&v1alpha1.RunAcceptance{ValueSchema: `{"allOf":[` + strings.Repeat(`{"pattern":"a{1000}"},`, 5) + `{}]}`}, "takes too long"},
		"too much":                {&v1alpha1.RunAcceptance{ValueSchema: `{"enum":[` + strings.Repeat("1,", 5000) + `1]}`}, "takes too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check(tt.accept)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
