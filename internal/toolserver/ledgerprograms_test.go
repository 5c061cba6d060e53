// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// However many there were, the answer is bounded, and names all that run.
func TestProgramsAreBounded(t *testing.T) {
	l := mustOpen(t, filepath.Join(t.TempDir(), "ledger"))
	for i := range toolapi.MaxPrograms + 20 {
		id := string(rune('a'+i/26)) + string(rune('a'+i%26))
		if _, _, err := l.begin(0, work{id: id, digest: id}, nil); err != nil {
			t.Fatal(err)
		}
		if err := l.leaveProgram(id, time.Now()); err != nil {
			t.Fatal(err)
		}
		if i%20 == 3 {
			continue
		}
		if err := l.endProgram(id, toolapi.Program{State: toolapi.ProgramSucceeded}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all := l.programs()
	if len(all) != toolapi.MaxPrograms || all[0].Call != "ad" {
		t.Errorf("%d programs, the first one is %+v", len(all), all[0])
	}
	if !slices.IsSortedFunc(all, func(a, b toolapi.Program) int { return strings.Compare(a.Call, b.Call) }) {
		t.Errorf("not in their order: %+v", all)
	}
}
