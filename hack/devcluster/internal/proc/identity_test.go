// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// becomesSleep has the test's own program become another one, from a thread that is not its first.
const becomesSleep = "PROC_TEST_BECOMES_SLEEP"

func TestMain(m *testing.M) {
	if os.Getenv(becomesSleep) != "" {
		done := make(chan error)
		runtime.LockOSThread() // The first thread stays here.
		go func() { done <- unix.Exec("/bin/sleep", []string{"sleep", "60"}, nil) }()
		panic(<-done)
	}
	os.Exit(m.Run())
}

// A program that becomes another one from a thread of its own has a first thread that has ended, for a moment.
func TestAProcessThatBecomesAnotherProgramRuns(t *testing.T) {
	for range 100 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = []string{becomesSleep + "=1"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for became := false; !became; {
			if _, err := Identify(cmd.Process.Pid); err != nil {
				t.Errorf("a process that runs: %v", err)
				break
			}
			name, _ := os.ReadFile(procPath(cmd.Process.Pid, "comm"))
			became = string(name) == "sleep\n"
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			return
		}
	}
}
