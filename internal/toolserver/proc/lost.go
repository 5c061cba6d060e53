// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// KillLost ends the supervisors that a launcher started and did not report before its end, with everything below them. Otherwise they would
// live on, without an owner, until the next call ends.
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

// isPart reports whether a process has the name of a supervisor, or is becoming one: before it executes, it has the launcher's name.
// Another program with such a name is no loss.
func isPart(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := bytes.Cut(line, []byte{0})
	return err == nil && (string(name) == SupervisorName || string(name) == launcherName)
}
