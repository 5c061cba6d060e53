// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const exampleNotes = "# Introduction\n\nA thing.\n\n# Example\n\n```\n# a comment\n```\n\n# spec\n\nWhat to write.\n\n# spec.mode\n\nMore of it.\n"

func TestKindPage(t *testing.T) {
	t.Parallel()
	page, err := exampleSource(t).kindPage("Thing", exampleNotes)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Thing\n", "\nA thing.\n\n## Example\n\n```\n# a comment\n```\n\n## Writing a spec\n\nWhat to write.\n",
		"\n### spec.mode\n\n*string, default Fast*\n\n`mode` of it.\n\n* `Fast`: at once.\n* `Slow`: later.\n\nMore of it.\n",
		"\n#### spec.first.inner\n\n*object*\n\n`inner` part.\n\n* **`count`** (integer, 1 to 5): `count` of it.\n",
		"\n## Status\n\n### status.part\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have\n%s\nit is\n%s", want, page)
		}
	}
}

// A note about a field that is gone must not stay.
func TestNotesAreOfFields(t *testing.T) {
	t.Parallel()
	if _, err := exampleSource(t).kindPage("Thing", exampleNotes+"\n# spec.gone\n\nText.\n"); err == nil || !strings.Contains(err.Error(), "spec.gone") {
		t.Errorf("the error is %v", err)
	}
}
