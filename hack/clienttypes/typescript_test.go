// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestTypeScriptTypes(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]typ{
		"string": {basic: "string"}, "(number | string)[]": {list: &typ{basic: "intOrString"}}, `"A" | "B"`: {basic: "string", enum: []string{"A", "B"}},
		`("A" | "B")[]`: {list: &typ{basic: "string", enum: []string{"A", "B"}}}, "Item[]": {list: &typ{object: "Item"}},
		"Record<string, boolean>": {dict: &typ{basic: "boolean"}}, "unknown": {basic: "any"},
	} {
		if got := typescript(of); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A description cannot end the comment that it stands in.
func TestDescriptionsStayInTheirComments(t *testing.T) {
	t.Parallel()
	got := writeTypeScript([]object{{name: "Item", doc: "It has */ in it.", fields: []field{
		{name: "id", doc: "id\nis one.", of: typ{basic: "string"}, required: true}, {name: "n", of: typ{basic: "integer"}},
	}}})
	want := "\n/**\n * It has *\\/ in it.\n */\nexport interface Item {\n  /**\n   * id is one.\n   */\n  id: string;\n  n?: number;\n}\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
}
