// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a time that only a test moves.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.passed.Load()) }
func (c *clock) advance(d time.Duration) { c.passed.Add(int64(d)) }

// mortal is a program that ends only if it is killed.
func mortal(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// finds finds a program so many times, and then waits for its end.
func finds(cmd *exec.Cmd, times int, found func()) func() ([]int, bool) {
	return func() ([]int, bool) {
		if times--; times >= 0 {
			found()
			return []int{cmd.Process.Pid}, true
		}
		_ = cmd.Wait() // It fails because the program was killed.
		return nil, true
	}
}

// A count of the disk holds the lock for longer than killTimeout.
func TestKillWaitsForTheLock(t *testing.T) {
	var c clock
	asked := make(chan struct{}, 1000)
	r := &Reaper{now: func() time.Time {
		defer func() { asked <- struct{}{} }()
		return c.now()
	}}
	r.mu.Lock()
	left := make(chan int)
	cmd := mortal(t)
	go func() { left <- r.kill(finds(cmd, 2, func() {})) }()
	<-asked // The clock has begun.
	<-asked // kill waits for the lock, or is about to.
	c.advance(2 * killTimeout)
	r.mu.Unlock()
	if n := <-left; n != 0 {
		t.Errorf("%d were left", n)
	}
}

func TestKillOutlastsASlowLook(t *testing.T) {
	var c clock
	r := &Reaper{now: c.now}
	if n := r.kill(finds(mortal(t), 1, func() { c.advance(2 * killTimeout) })); n != 0 {
		t.Errorf("%d were left", n)
	}
}

// A process that cannot be killed does not keep the server.
func TestKillGivesUp(t *testing.T) {
	const nonexistent = 1 << 30
	var c clock
	r := &Reaper{now: c.now}
	looks := 0
	n := r.kill(func() ([]int, bool) {
		looks++
		c.advance(time.Second)
		return []int{nonexistent}, true
	})
	if n != 1 || looks != int(killTimeout/time.Second)+1 {
		t.Errorf("%d were left after %d looks", n, looks)
	}
}
