// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"testing"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// A mistake in a script is found here in a second, and not by a model server that does not start.
func TestScriptsLoad(t *testing.T) {
	scripts, err := script.LoadFS(FS)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); scripts[name[:len(name)-len(".yaml")]] == nil {
			t.Errorf("%s: the script's name is not that of its file, by which tests ask for it", name)
		}
	}
}
