// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Exec becomes a command inside the cluster's network, with kubectl and its like at hand. It returns
// only if it fails. The command sees the machine's files as they are.
func (c *Cluster) Exec(command []string) error {
	if err := needRoot(); err != nil {
		return err
	}
	if !c.namespace().Exists() {
		return ErrNotRunning
	}
	if len(command) == 0 {
		return errors.New("no command given: exec -- COMMAND…")
	}
	if err := os.Setenv("PATH", c.bin+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := join(c.namespace().Path(), unix.CLONE_NEWNET); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", program, unix.Exec(program, command, c.execEnv(os.Environ())))
}

// execEnv points clients at the cluster; a proxy that is set for the world outside would keep them
// from it.
func (c *Cluster) execEnv(environ []string) []string {
	var env []string
	for _, setting := range environ {
		name, _, _ := strings.Cut(setting, "=")
		switch strings.ToUpper(name) {
		case "KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
			continue
		}
		env = append(env, setting)
	}
	return append(env, "KUBECONFIG="+c.insideKubeconfig())
}
