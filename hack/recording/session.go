// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"

	"motorcortex.dev/motorcortex/test/tutorial"
)

const (
	// word is how long typing a word takes, and look how long a reader looks at what a command printed.
	word, look = 120 * time.Millisecond, 1500 * time.Millisecond
	// longest is how long the recording waits for output at most: a slow machine makes no slow recording.
	longest = time.Second
	// together is how close output comes that is one event.
	together = 40 * time.Millisecond
	// patience is how long a command may take.
	patience = 5 * time.Minute

	prompt, further = "\x1b[1;92m$\x1b[0m ", "\x1b[92m>\x1b[0m "
)

// event is what a terminal is sent at an instant of the recording.
type event struct {
	at   time.Duration
	text string
}

// session is what was seen in a terminal.
type session struct {
	title         string
	width, height int

	events []event
	now    time.Duration
}

// shows adds what the terminal is sent after a time.
func (s *session) shows(after time.Duration, text string) {
	if n := len(s.events); n > 0 && after < together {
		s.events[n-1].text += text
		return
	}
	s.now += after.Round(10 * time.Millisecond)
	s.events = append(s.events, event{s.now, text})
}

// types shows a command as a person types it.
func (s *session) types(text string) {
	for i, line := range strings.Split(text, "\n") {
		mark := further
		if i == 0 {
			mark = prompt
		}
		s.shows(word, mark)
		for part := range strings.SplitAfterSeq(line, " ") {
			s.shows(word, part)
		}
		s.shows(0, "\r\n")
	}
}

// carryOut shows a command and what it prints.
func (s *session) carryOut(ctx context.Context, c *tutorial.Command) error {
	s.types(c.Text)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", c.Text)
	cmd.Env = append(cmd.Environ(), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(s.height), Cols: uint16(s.width)}) //nolint:gosec // Both are sizes of a terminal.
	if err != nil {
		return fmt.Errorf("line %d: %w", c.Line, err)
	}
	printed := s.reads(terminal)
	_ = terminal.Close() // The command has closed its side.
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != c.Exit {
		return fmt.Errorf("line %d: %s\nended with %d, not %d (%w):\n%s", c.Line, c.Text, code, c.Exit, err, printed)
	}
	s.now += look
	return nil
}

// reads shows what a command prints, until it ends.
func (s *session) reads(terminal io.Reader) (printed string) {
	var all, rest []byte
	buffer := make([]byte, 4096)
	for last := time.Now(); ; {
		n, err := terminal.Read(buffer)
		now := time.Now()
		rest = append(rest, buffer[:n]...)
		whole := len(rest)
		// A character can come in two parts.
		for i := 1; i < utf8.UTFMax && i <= len(rest); i++ {
			if b := rest[len(rest)-i:]; utf8.RuneStart(b[0]) && !utf8.FullRune(b) {
				whole = len(rest) - i
				break
			}
		}
		if whole > 0 {
			s.shows(min(now.Sub(last), longest), string(rest[:whole]))
			all = append(all, rest[:whole]...)
			rest = bytes.Clone(rest[whole:])
			last = now
		}
		// A terminal whose programs have ended has no end, but an error.
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
				all = append(all, err.Error()...)
			}
			return string(all)
		}
	}
}

// cast is the recording as an asciicast of version 2.
func (s *session) cast() []byte {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	_ = lines.Encode(map[string]any{"version": 2, "width": s.width, "height": s.height, "title": s.title}) //nolint:errchkjson // Texts and numbers have a JSON form.
	for _, e := range s.events {
		_ = lines.Encode([]any{json.Number(strconv.FormatFloat(e.at.Seconds(), 'f', 2, 64)), "o", e.text}) //nolint:errchkjson // So have these.
	}
	return b.Bytes()
}
