// SPDX-License-Identifier: Apache-2.0

package ui_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// No t.Parallel: a signal is for all verbs of the process.
func TestTheEndOfTheTerminalLeavesNoFile(t *testing.T) {
	for _, signal := range []unix.Signal{unix.SIGHUP, unix.SIGTERM} {
		s := start(t, true, nil)
		path := <-s.opened
		if err := unix.Kill(os.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		if code := <-s.ended; code != verb.ExitOK {
			t.Errorf("%s: it ended with %d: %s", signal, code, s.errs)
		}
		if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
			t.Errorf("%s: the file stays: %v", signal, err)
		}
	}
}
