// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// KillLost ends the supervisors that a launcher started and did not tell of before its end, with everything below them. Else
// they would live on, as nobody's, until the next call ends.
func (r *Reaper) KillLost() {
	for _, pid := range r.adoptLost() {
		r.KillTree(pid)
		collected := make(chan struct{})
		go func() {
			defer close(collected)
			r.AwaitZombie(pid, nil)
			r.Wait(pid)
		}()
		select {
		case <-collected:
		case <-time.After(StopTimeout):
			r.log.Error("a process that a launcher has left could not be killed", "pid", pid)
		}
	}
}

// adoptLost puts the children that a launcher has left on the list, as supervisors.
func (r *Reaper) adoptLost() (lost []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	table, _ := r.table()
	for pid, parent := range table {
		if _, own := r.own[pid]; own || parent != os.Getpid() || pid == r.launch.pid() || !isPart(pid) {
			continue
		}
		r.own[pid] = Supervisor
		lost = append(lost, pid)
	}
	return lost
}

// isPart reports whether a process calls itself a supervisor, or what becomes one: what was not executed yet shows the
// launcher's name. Another program that does so is no loss.
func isPart(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := bytes.Cut(line, []byte{0})
	return err == nil && (string(name) == SupervisorName || string(name) == launcherName)
}
