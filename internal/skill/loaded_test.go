// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSteers(t *testing.T) {
	t.Parallel()
	plain := PlacesOf([]v1alpha1.RevisionFile{{Path: "SKILL.md"}, {Path: "scripts/send.py"}, {Path: "data/core.py"}})
	for file, steers := range map[string]bool{
		"sales.csv": false, "notes.md": false, "in/a.txt": false, "build/out.json": false, "inputs/slugs.py": false, "inputs/deep/run.sh": false, "inputs/package.json": false,
		"sitecustomize.py": true, "JSON.PY": true, "requests/__init__.py": true, "evil.pth": true, "lib/x.so": true, "in/helper.mjs": true, "t/run.sh": true, "t/X.pm": true,
		"package.json": true, "sub/package.json": true, "Makefile": true, "data/helper.py": true, "inputs": false, "Inputs/x.py": true, "inputs2/x.py": true,
		".gitconfig": true, ".config/pip/pip.conf": true, "inputs/.npmrc": true, "core/__pycache__/x.pyc": true, "inputs/__pycache__/x": true,
		"inputs/x.pyc": true, "node_modules/a/index.txt": true, "inputs/node_modules/a": true,
	} {
		if got := plain.Steers(file); (got != "") != steers {
			t.Errorf("%s: %q", file, got)
		}
	}
	if got := PlacesOf(nil).Steers("data/helper.py"); got != "" {
		t.Errorf("a data folder without the skill's code: %q", got)
	}
}
