// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/golden"
)

func TestDefinitions(t *testing.T) {
	all := append(Builtin().Names(), "bash", "nonsense")
	defs := Definitions(all)
	b, err := json.MarshalIndent(defs, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tools.golden.json", string(b)+"\n")
	slices.Reverse(all)
	if d := cmp.Diff(defs, Definitions(all)); d != "" {
		t.Errorf("depends on the order of the grant: %s", d)
	}
	if defs := Definitions(nil); len(defs) != 2 || defs[0].Name != toolapi.ToolAskUser || defs[1].Name != toolapi.ToolFinish {
		t.Errorf("without a grant: %v", defs)
	}
}
