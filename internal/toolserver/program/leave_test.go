// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

// recordHook is the file of a ledger that calls before with a record before it writes the record.
type recordHook struct {
	ledger.File
	before func(record string)
}

func (f *recordHook) WriteAt(p []byte, at int64) (int, error) {
	f.before(string(p))
	return f.File.WriteAt(p, at)
}

// The end of the programs waits until their ends are recorded, so that the answer has them.
func TestEndOfAProgramIsRecordedBeforeItIsNoted(t *testing.T) {
	s := newSandbox(t)
	noted := make(chan bool, 1)
	s.ledger.Wrap(func(f ledger.File) ledger.File {
		return &recordHook{f, func(record string) {
			if strings.Contains(record, `"kind":"ended"`) {
				b := &s.programs.background
				b.mu.Lock()
				defer b.mu.Unlock()
				noted <- proc.IsOver(b.jobs[0].noted)
			}
		}}
	})
	started(t, s.background("sleep 1000"))
	if err := s.programs.StopBackground(testContext(t), toolapi.StoppedSuspended); err != nil {
		t.Fatal(err)
	}
	select {
	case before := <-noted:
		if before {
			t.Error("the end was noted before its record was written")
		}
	default:
		t.Error("the end was not recorded")
	}
}
