// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The program of an MCP server lives between its calls. It is ended with the programs in the background, and begun again when it is
// needed next:
//
//	program lives ──end──► ended ──next call, next MCPRequest──► another program, and its next result says so
//	      │                  ▲
//	      └─ in a call ──────┘ when the call has its result

// errHeld means that no program of an MCP server may start for the time being.
var errHeld = errors.New("programs of MCP servers were ended, and none is begun until the next call")

// EndPrograms ends the programs of all MCP servers, and lets none start until Thaw. The program of a server in a call ends with the call.
// It returns when the others have ended.
func (m *Servers) EndPrograms(ctx context.Context, reason string) error {
	m.mu.Lock()
	m.held = reason
	var programs []*server
	for _, srv := range m.all {
		if srv.isProgram() {
			programs = append(programs, srv)
		}
	}
	m.mu.Unlock()
	errs := make([]error, len(programs))
	var group sync.WaitGroup
	for i, srv := range programs {
		group.Go(func() { errs[i] = srv.rest(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Thaw lets programs of MCP servers begin.
func (m *Servers) Thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = ""
}

// heldFor is why the program of a server must not run now, "" if it may. A call that was begun keeps it.
func (m *Servers) heldFor(s *server) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.isProgram() || s.calls > 0 {
		return ""
	}
	return m.held
}

// enter counts a call of the server until leave.
func (m *Servers) enter(s *server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.calls++
}

// leave ends the program if it was to end in the middle of the call.
func (m *Servers) leave(ctx context.Context, s *server) {
	m.mu.Lock()
	s.calls--
	held := m.held != ""
	m.mu.Unlock()
	if held {
		_ = s.rest(context.WithoutCancel(ctx)) // The time of the call may be over, and nothing else ends it.
	}
}

// isProgram reports whether the server is a program of the sandbox.
func (s *server) isProgram() bool { return s.words.URL == "" }

// rest ends the program of the server, unless it may run by now.
func (s *server) rest(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return fmt.Errorf("the MCP server %s does not end: %w", s.words.Name, err)
	}
	defer s.unlock()
	if reason := s.all.heldFor(s); reason != "" && s.session != nil {
		s.drop()
		s.stopped = reason
		s.all.log.Info("the program of an MCP server was ended", "server", s.words.Name, "reason", reason)
	}
	return nil
}

// stoppedWhen tells the model when a program was ended; it is "" if that does not matter to the model: another attempt has another
// conversation.
func stoppedWhen(reason string) string {
	switch reason {
	case toolapi.StoppedSuspended:
		return "when the run was suspended"
	case toolapi.StoppedAwaitingInput:
		return "because the run waited long for a person"
	}
	return ""
}

// takeNote returns, once, the note for the model that goes with the next result of the server.
func (s *server) takeNote(ctx context.Context) string {
	if s.lock(ctx) != nil {
		return ""
	}
	defer s.unlock()
	when := stoppedWhen(s.stopped)
	s.stopped = ""
	if when == "" {
		return ""
	}
	return fmt.Sprintf("[the program of the MCP server %s was ended %s, and begun again: what it had in memory is lost]\n", s.words.Name, when)
}
