// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	plain := PlacesOf([]v1alpha1.RevisionFile{{Path: "SKILL.md"}, {Path: "forms.md"}, {Path: "core/x/y.py"}, {Path: "scripts/run"}})
	program := PlacesOf([]v1alpha1.RevisionFile{{Path: "SKILL.md"}, {Path: "main.py"}})
	tool := PlacesOf([]v1alpha1.RevisionFile{{Path: "SKILL.md"}, {Path: "tool", Executable: true}})
	for _, c := range []struct {
		places      Places
		path        string
		has, beside bool
	}{
		{plain, "SKILL.md", true, true}, {plain, "scripts/new", true, true}, {plain, "forms.md", true, true}, {plain, "core/other.py", true, true},
		{plain, "core/.git/config", false, false}, {plain, "core", false, false}, {plain, "notes.md", false, false}, {plain, "corex/y", false, false},
		{plain, "forms.md/x", false, false}, {program, "helper.py", false, true}, {program, "data/helper.py", false, false}, {tool, "libx.so", false, true},
		{Places{}, "references/x", true, true}, {Places{}, "forms.md", false, false},
	} {
		if got := c.places.Has(c.path); got != c.has {
			t.Errorf("Has(%s) = %t", c.path, got)
		}
		if got := c.places.Beside(c.path); got != c.beside {
			t.Errorf("Beside(%s) = %t", c.path, got)
		}
	}
	if got := plain.Own(); !slices.Equal(got, []string{"core", "forms.md"}) {
		t.Errorf("its own places are %q", got)
	}
}

func TestOddPlace(t *testing.T) {
	t.Parallel()
	for p, odd := range map[string]bool{
		"SKILL.md": false, "forms.md": false, "core/__init__.py": false, "reference/a.md": false, "artifacts": false,
		"artifacts/a": true, "skills/x/y.md": true, "templates/SKILL.md": true, ".mcp.json": true, "scripts/.env": true,
	} {
		if got := oddPlace(p); (got != "") != odd {
			t.Errorf("%s: %q", p, got)
		}
	}
}
