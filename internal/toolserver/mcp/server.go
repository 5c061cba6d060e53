// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

// server is one MCP server: its configuration from the manager, the known state of its tools, and the session with it, if there is one. A
// session that has ended is opened again when it is needed next.
type server struct {
	all   *Servers
	words toolapi.MCPServer

	// busy is held by the one that begins a session or asks for tools.
	busy    chan struct{}
	session *session
	// told is the digest of the tools as the manager knows them, "" while it knows of none.
	told string
	// problem is why there are none.
	problem string
	// changed is true if the server describes its tools differently by now.
	changed bool
	ended   bool
	// stopped is why the program was ended from outside, until the model is informed.
	stopped string
	// calls counts the calls that run. It is guarded by the mutex of all.
	calls int
}

var (
	errEnded   = errors.New("the server was ended")
	errChanged = errors.New("the server describes its tools otherwise than before")
)

// unusable is the error for a server whose tools are unknown to the manager, with the reason.
type unusable struct{ problem string }

func (u *unusable) Error() string { return u.problem }

// says reports whether the words are those of this server.
func (s *server) says(words toolapi.MCPServer) bool {
	return s.words.URL == words.URL && slices.Equal(s.words.Command, words.Command) && slices.Equal(s.words.Tools, words.Tools) &&
		s.words.Authorization == words.Authorization
}

// lock waits for its turn at the server.
func (s *server) lock(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) unlock() { <-s.busy }

// state asks the server for its tools, which are from then on those that the manager knows of.
func (s *server) state(ctx context.Context) (state toolapi.MCPServerState) {
	state.Name = s.words.Name
	defer func() {
		if p := recover(); p != nil {
			s.all.log.Error("asking an MCP server for its tools panicked", "server", s.words.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			state = toolapi.MCPServerState{Name: s.words.Name, Error: "its answer could not be understood"}
		}
	}()
	if err := s.lock(ctx); err != nil {
		state.Error = "its time to answer is over"
		return state
	}
	defer s.unlock()
	s.told, s.changed = "", false
	list, err := s.list(ctx)
	if err != nil && s.session != nil && ctx.Err() == nil {
		// It may be the session that is no good any more.
		s.drop()
		list, err = s.list(ctx)
	}
	if err != nil {
		s.drop()
		s.problem = oneLine(s.reason(ctx, err))
		s.all.log.Warn("an MCP server cannot be used", "server", s.words.Name, "error", s.problem)
		state.Error = s.problem
		return state
	}
	s.told, s.problem = list.digest(), ""
	state.Tools, state.Omitted = list.tools, oneLine(strings.Join(list.omitted, "; "))
	return state
}

// ready returns a session in which the server still offers the tools that the manager knows. It costs one look, unless the session has to
// be opened again or the server has announced changed tools.
func (s *server) ready(ctx context.Context) (*session, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	switch {
	case s.told == "":
		return nil, &unusable{s.problem}
	case s.changed:
		return nil, errChanged
	case s.session.usable() && !s.session.toolsChanged.Swap(false):
		return s.session, nil
	}
	list, err := s.list(ctx)
	if err != nil {
		s.drop()
		return nil, err
	}
	if list.digest() != s.told {
		s.changed = true
		return nil, errChanged
	}
	return s.session, nil
}

// list asks for the tools, in a new session if there is none that can be used.
func (s *server) list(ctx context.Context) (*offer, error) {
	if s.ended {
		return nil, errEnded
	}
	if s.all.heldFor(s) != "" {
		return nil, errHeld
	}
	if !s.session.usable() {
		s.drop()
		session, err := s.all.begin(ctx, s.words)
		if err != nil {
			return nil, err
		}
		s.session = session
	}
	s.session.toolsChanged.Store(false)
	return s.session.list(ctx, s.words)
}

// drop ends the session.
func (s *server) drop() {
	if s.session != nil {
		s.session.end()
		s.session = nil
	}
}

// forget ends the session, if it still is the server's.
func (s *server) forget(session *session) {
	s.busy <- struct{}{}
	defer s.unlock()
	if s.session == session {
		s.drop()
	}
}

// end ends the server for good.
func (s *server) end() {
	s.busy <- struct{}{}
	defer s.unlock()
	s.ended = true
	s.drop()
}

// reason describes why a server cannot be used.
func (s *server) reason(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, wayout.ErrNone):
		return "the sandbox has no way out, so nothing at a url can be reached"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "it did not answer in time"
	}
	if refused, ok := errors.AsType[*wayout.ProxyRefusal](err); ok {
		return refused.Error()
	}
	text := err.Error()
	if token := s.all.egress.Current().Token; token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	return text
}

// oneLine turns a text that may come from a server into one line for people.
func oneLine(text string) string {
	return plaintext.Bound(strings.Join(strings.Fields(plaintext.Clean(text)), " "), toolapi.MaxMCPProblem)
}
