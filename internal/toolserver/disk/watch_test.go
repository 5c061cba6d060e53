// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// watched is a Watch of one volume of 8 MB, and its actions.
type watched struct {
	*Watch
	dir           string
	pauses, kills atomic.Int32
	filled        chan Full
}

func newWatched(t *testing.T) *watched {
	w := &watched{dir: t.TempDir(), filled: make(chan Full, 100)}
	w.Watch = New(slog.New(slog.DiscardHandler), Hooks{
		Pause: func(look func(bool) bool) {
			w.pauses.Add(1)
			if look(true) {
				w.kills.Add(1)
			}
		},
		Full:  func(f Full) { w.filled <- f },
		Spare: func(pid int) bool { return parentOf(pid) != os.Getpid() }, // Other processes of the test machine.
		End:   func(int, Reason) {},
	}, Volume{Name: "unbounded", Dir: "/"}, Volume{Name: "small", Dir: w.dir, Bytes: 8 * megabyte, Inodes: 100})
	t.Cleanup(w.Close)
	return w
}

func (w *watched) wantFull(t *testing.T) {
	t.Helper()
	select {
	case f := <-w.filled:
		if f.Volume.Name != "small" || w.Full() == nil || w.kills.Load() == 0 {
			t.Errorf("%+v, %v", f, w.Full())
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was found")
	}
}

func TestWatch(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, dir string){
		"bytes": func(t *testing.T, dir string) { write(t, dir+"/a", 9*megabyte) },
		"inodes": func(t *testing.T, dir string) {
			for i := range 101 {
				write(t, dir+"/"+strconv.Itoa(i), 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			leave := w.Enter()
			if w.Full() != nil {
				t.Fatal("an empty volume is full")
			}
			fill(t, w.dir)
			w.wantFull(t)
			leave()
			leave() // It does nothing.
			w.Enter()()
			if f := w.Full(); f == nil || f.Free() == (Usage{}) {
				t.Errorf("without room: %+v", f)
			}
			entries, _ := os.ReadDir(w.dir)
			for _, e := range entries {
				must(t, os.Remove(w.dir+"/"+e.Name()))
			}
			w.Enter()()
			if f := w.Full(); f != nil {
				t.Errorf("with room: %+v", f)
			}
		})
	}
}

// A call that is over before the watch looks is seen when it ends, or when the next one begins.
func TestWatchSeesShortCalls(t *testing.T) {
	w := newWatched(t)
	for i := 0; w.Full() == nil; i++ {
		if i > 20 {
			t.Fatal("nothing was found")
		}
		leave := w.Enter()
		write(t, w.dir+"/"+strconv.Itoa(i), megabyte)
		leave()
	}
}

// Only a count with everything stopped sees the content of a closed folder, so a regular count asks for one.
func TestWatchLooksIntoClosedFolders(t *testing.T) {
	if asOther(t) {
		return
	}
	w := newWatched(t)
	defer w.Enter()()
	write(t, w.dir+"/a/b", 5*megabyte)
	must(t, os.Chmod(w.dir+"/a", 0))
	defer func() { must(t, os.Chmod(w.dir+"/a", 0o700)) }()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		w.mu.Lock()
		used := w.volumes[0].used
		w.mu.Unlock()
		if used.Bytes > 5*megabyte {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d stops it is known that there are %d bytes", w.pauses.Load(), used.Bytes)
		}
	}
}

// A count while programs run may miss files that they move. Such a count does not raise their allowance.
func TestACountWhileProgramsRunGivesNoRoom(t *testing.T) {
	w := newWatched(t)
	write(t, w.dir+"/a", 5*megabyte)
	defer w.Enter()()
	must(t, os.Rename(w.dir+"/a", w.dir+"/../elsewhere"))
	stops := w.pauses.Load()
	w.mu.Lock()
	_, _, err := w.count(w.falls, false)
	for deadline := time.Now().Add(time.Minute); errors.Is(err, errHurry) && time.Now().Before(deadline); {
		// Others wrote to the same filesystem during the count, so it is given up.
		_, _, err = w.count(w.falls, false)
	}
	used := w.volumes[0].used
	w.mu.Unlock()
	must(t, err)
	if used.Bytes < 5*megabyte || stops == 0 {
		t.Errorf("after %d stops it is known that there are %d bytes", stops, used.Bytes)
	}
}

func TestFullFree(t *testing.T) {
	v := Volume{Bytes: 1600, Inodes: 160}
	if got := (Full{v, Usage{1700, 100}}).Free(); got != (Usage{200, 0}) {
		t.Errorf("%+v", got)
	}
}

// Files that have no name any more count as long as they are open.
func TestWatchCountsFilesWithoutAName(t *testing.T) {
	for name, program := range map[string]string{
		"bytes":  `f = open("a", "wb"); os.unlink("a"); f.write(bytes(9 << 20)); f.flush()`,
		"inodes": `files = [(open(str(i), "wb"), os.unlink(str(i))) for i in range(101)]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			cmd := exec.Command("python3", "-c", "import os\n"+program+"\nprint(\"up\", flush=True)\ninput()")
			cmd.Dir = w.dir
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			defer func() { _ = in.Close(); _ = cmd.Wait() }()
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, over, err := w.count(nil, true); err != nil || over == nil {
				t.Errorf("%+v %v", over, err)
			}
		})
	}
}

// A volume that was full has room again only when a sixteenth of it is free: a program would fill it at once otherwise.
func TestRoomIsASixteenth(t *testing.T) {
	w := newWatched(t)
	leave := w.Enter()
	write(t, w.dir+"/most", 7*megabyte+3*megabyte/4)
	write(t, w.dir+"/rest", megabyte)
	w.wantFull(t)
	leave()
	must(t, os.Remove(w.dir+"/rest"))
	w.Enter()()
	if w.Full() == nil {
		t.Error("a quarter of a megabyte is room")
	}
	must(t, os.Truncate(w.dir+"/most", 7*megabyte))
	w.Enter()()
	if f := w.Full(); f != nil {
		t.Errorf("a megabyte is no room: %+v", f)
	}
}

// Writes of others to the filesystem while nothing ran here stop nothing.
func TestWatchForgetsOthers(t *testing.T) {
	dir, pauses := t.TempDir(), 0
	const size = 1 << 40
	w := New(slog.New(slog.DiscardHandler), Hooks{
		Pause: func(look func(bool) bool) { pauses++; look(true) }, Full: func(Full) {}, Spare: func(int) bool { return false },
	}, Volume{Name: "large", Dir: dir, Bytes: size, Inodes: 1 << 40})
	defer w.Close()
	w.Enter()() // The first time, everything is counted.
	w.mu.Lock()
	before, v := pauses, w.volumes[0]
	v.then.free, v.left.free = v.then.free+2*size, v.left.free+2*size
	w.mu.Unlock()
	w.Enter()()
	if w.mu.Lock(); pauses != before {
		t.Errorf("everything was stopped %d times", pauses-before)
	}
	w.mu.Unlock()
}
