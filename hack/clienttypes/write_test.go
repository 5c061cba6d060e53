// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestPythonTypes(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]typ{
		"str": {basic: "string"}, "int | str": {basic: "intOrString"}, `Literal["A", "B"]`: {basic: "string", enum: []string{"A", "B"}},
		`list["Item"]`: {list: &typ{object: "Item"}}, "dict[str, bool]": {dict: &typ{basic: "boolean"}}, "Any": {basic: "any"},
	} {
		if got := python(of); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A description cannot end the text that it stands in.
func TestDescriptionsStayDescriptions(t *testing.T) {
	t.Parallel()
	got := writePython([]object{{name: "Item", doc: `It has """ and \n.`, fields: []field{{name: "id", doc: "id\nimport os", of: typ{basic: "string"}}}}})
	for _, want := range []string{`    It has \"\"\" and \\n.`, "    # id import os\n    id: NotRequired[str]\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
