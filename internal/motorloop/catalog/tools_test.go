// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s has changed; if that is meant, run go test with -update\n%s", path, d)
	}
}

func TestDefinitions(t *testing.T) {
	all := append(Builtin().Names(), "bash", "nonsense")
	defs := Definitions(all)
	b, err := json.MarshalIndent(defs, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.golden.json", string(b)+"\n")
	slices.Reverse(all)
	if d := cmp.Diff(defs, Definitions(all)); d != "" {
		t.Errorf("depends on the order of the grant: %s", d)
	}
	if defs := Definitions(nil); len(defs) != 2 || defs[0].Name != toolapi.ToolAskUser || defs[1].Name != toolapi.ToolFinish {
		t.Errorf("without a grant: %v", defs)
	}
}
