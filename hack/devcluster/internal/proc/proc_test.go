// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	cases := map[string]struct {
		stat  string
		start uint64
		bad   bool
	}{
		"plain":                     {stat: "12 (etcd)" + tail, start: 4711},
		"a name with brackets":      {stat: "12 (a) S 1 (b)" + tail, start: 4711},
		"a name with spaces":        {stat: "12 (kube proxy x)" + tail, start: 4711},
		"no name":                   {stat: "12 etcd S", bad: true},
		"cut short":                 {stat: "12 (etcd) S 1 2", bad: true},
		"a start that is no number": {stat: "12 (etcd) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(tc.stat)
			if (err != nil) != tc.bad || got.start != tc.start || !tc.bad && (got.state != 'S' || got.threads != 17) {
				t.Errorf("parseStat() = %+v, %v", got, err)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		change func(*Identity)
		alive  bool
	}{
		"this process":                         {change: func(*Identity) {}, alive: true},
		"the same id, started at another time": {change: func(id *Identity) { id.Start++ }},
		"the same id, in another boot":         {change: func(id *Identity) { id.Boot = "another" }},
		"an id that nobody can have":           {change: func(id *Identity) { id.PID = 1 << 30 }},
		"nothing recorded":                     {change: func(id *Identity) { *id = Identity{} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id := self
			tc.change(&id)
			if id.Alive() != tc.alive {
				t.Errorf("Alive() = %t", !tc.alive)
			}
			// Signal 0 is delivered to nobody.
			if err := id.Signal(0); (err == nil) != tc.alive {
				t.Errorf("Signal() = %v", err)
			}
		})
	}
}

func TestSignalEndsExactlyThatProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports the signal
	if id.Alive() {
		t.Error("it is still alive")
	}
	if err := id.Signal(unix.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("Signal() after its end = %v, want ErrGone", err)
	}
}

func TestSweepEndsMarkedProcessesOnly(t *testing.T) {
	marked, spared := exec.Command("sleep", "600"), exec.Command("sleep", "600")
	for _, cmd := range []*exec.Cmd{marked, spared} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() { _ = marked.Wait(); close(ended) }()
	count, err := Sweep(t.Context(), 2*time.Minute, func(pid int) bool { return pid == marked.Process.Pid })
	if err != nil || count != 1 {
		t.Errorf("Sweep() = %d, %v", count, err)
	}
	<-ended
	if id, err := Identify(spared.Process.Pid); err != nil || !id.Alive() {
		t.Errorf("another process was ended: %v", err)
	}
	_ = spared.Process.Kill()
	_ = spared.Wait()
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[int]string{1: "three", 2: "two\nthree", 9: "one\ntwo\nthree"}
	for lines, want := range cases {
		if got := Tail(file, lines); got != want {
			t.Errorf("Tail(%d) = %q, want %q", lines, got, want)
		}
	}
	if got := Tail(file+".none", 3); got != "" {
		t.Errorf("Tail() of no file = %q", got)
	}
}
