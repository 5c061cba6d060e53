// SPDX-License-Identifier: Apache-2.0

// Package tty is a terminal for tests: a pseudo-terminal whose other end draws what is written to it.
package tty

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience bounds a wait. A machine that is ten times slower keeps it.
const patience = 30 * time.Second

// Screen is what a person sees of a program that has TTY as its terminal.
type Screen struct {
	// TTY is the program's side.
	TTY *os.File

	t      testing.TB
	master *os.File
	mu     sync.Mutex
	drawn  *vt.Emulator
	// changed is closed and replaced when something was drawn.
	changed chan struct{}
}

// New opens a terminal of a size.
func New(t testing.TB, width, height int) *Screen {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{TTY: tty, t: t, master: master, drawn: vt.NewEmulator(width, height), changed: make(chan struct{})}
	s.setSize(width, height)
	var ends sync.WaitGroup
	ends.Go(s.draw)
	// Programs ask terminals what they can do, and wait for the answer.
	ends.Go(func() { _, _ = io.Copy(master, s.drawn) })
	t.Cleanup(func() {
		// Closing the emulator itself would race with the goroutine that reads its answers.
		if answers, ok := s.drawn.InputPipe().(io.Closer); ok {
			_ = answers.Close() // A pipe in memory.
		}
		if err := errors.Join(tty.Close(), master.Close()); err != nil {
			t.Error(err)
		}
		ends.Wait()
	})
	return s
}

func (s *Screen) draw() {
	b := make([]byte, 4096)
	for {
		n, err := s.master.Read(b)
		if err != nil {
			return
		}
		s.mu.Lock()
		_, _ = s.drawn.Write(b[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
	}
}

// Types sends keys, as a keyboard does.
func (s *Screen) Types(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// Resize changes the size, and tells this process of it.
func (s *Screen) Resize(width, height int) {
	s.t.Helper()
	s.mu.Lock()
	s.drawn.Resize(width, height)
	s.mu.Unlock()
	s.setSize(width, height)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Screen) setSize(width, height int) {
	s.t.Helper()
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		s.t.Fatal(err)
	}
}

// Text is what is drawn at present, without the empty rows at the end.
func (s *Screen) Text() string {
	text, _ := s.look()
	return text
}

func (s *Screen) look() (text string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := strings.Split(s.drawn.String(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \r")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n") + "\n", s.changed
}

// Shows waits until all of these texts are drawn, and returns what is.
func (s *Screen) Shows(texts ...string) string {
	s.t.Helper()
	return s.awaits(func(text string) bool {
		for _, t := range texts {
			if !strings.Contains(text, t) {
				return false
			}
		}
		return true
	}, texts)
}

// ShowsNot waits until a text is not drawn any more.
func (s *Screen) ShowsNot(text string) string {
	s.t.Helper()
	return s.awaits(func(drawn string) bool { return !strings.Contains(drawn, text) }, "no "+text)
}

func (s *Screen) awaits(done func(string) bool, what any) string {
	s.t.Helper()
	over := time.After(patience)
	for {
		text, changed := s.look()
		if done(text) {
			return text
		}
		select {
		case <-changed:
		case <-over:
			s.t.Fatalf("the screen does not show %q, but\n%s", what, text)
		}
	}
}
