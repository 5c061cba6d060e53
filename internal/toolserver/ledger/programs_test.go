// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

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
		if _, _, err := l.Begin(0, Work{ID: id, Digest: id}, nil); err != nil {
			t.Fatal(err)
		}
		if err := l.LeaveProgram(id, time.Now()); err != nil {
			t.Fatal(err)
		}
		if i%20 == 3 {
			continue
		}
		if err := l.EndProgram(id, toolapi.Program{State: toolapi.ProgramSucceeded}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all := l.Programs()
	if len(all) != toolapi.MaxPrograms || all[0].Call != "ad" {
		t.Errorf("%d programs, the first one is %+v", len(all), all[0])
	}
	if !slices.IsSortedFunc(all, func(a, b toolapi.Program) int { return strings.Compare(a.Call, b.Call) }) {
		t.Errorf("not in their order: %+v", all)
	}
}
