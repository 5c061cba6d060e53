// SPDX-License-Identifier: Apache-2.0

package component

import (
	"os/exec"
	"syscall"
	"time"
)

// KillGroup makes the end of a command's context end its children too: "go build" runs compilers,
// and those would go on for minutes after an interrupt.
func KillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
}
