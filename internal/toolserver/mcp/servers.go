// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package mcp has the MCP servers of a sandbox: programs in it, and servers at a URL that are reached by the way out. It starts and ends
// them, lists and calls their tools, and trusts nothing that they send.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// MaxRequestBytes holds the largest MCPRequest.
	MaxRequestBytes = 1 << 20
	// maxArguments and maxArgument bound a command.
	maxArguments = 32
	maxArgument  = 1 << 10
	// endTimeout is the time within which a server's connection must end in order.
	endTimeout = 300 * time.Millisecond
)

// Servers are the MCP servers of the sandbox. Nothing of theirs is believed: a server that is reached over the network
// belongs to a stranger, and one that is a program runs beside whatever a model had written.
type Servers struct {
	log       *slog.Logger
	workspace *workspace.Workspace
	processes *program.Runner
	egress    *wayout.Egress
	// taint is set with the first server.
	taint *wayout.Taint

	// setting is held by the one request at a time that sets the servers.
	setting chan struct{}
	mu      sync.Mutex
	all     map[string]*server
	// held is why no program may begin now, "" if one may.
	held string
	// started is true if a server's program was started.
	started bool
	// callTimeout is how long a server may take for a call, writeTimeout how long its program may take to read what it is sent.
	callTimeout, writeTimeout time.Duration
	// maxTraffic is the most bytes that a server may send from one request to the next. A server that exceeds it loses its session.
	maxTraffic int64
}

// New has no servers yet. The mark is set with the first one: the output of a server may be in any file.
func New(log *slog.Logger, p *program.Runner, t *wayout.Taint) *Servers {
	return &Servers{
		log: log, workspace: p.Workspace, processes: p, egress: p.Egress, taint: t,
		setting: make(chan struct{}, 1), all: map[string]*server{}, callTimeout: presetCallTimeout, writeTimeout: presetWriteTimeout, maxTraffic: presetTraffic,
	}
}

// Set ends the servers that are not named any more, starts those that are new, and asks all for their tools. valid is asked
// at the last moment.
func (m *Servers) Set(ctx context.Context, req toolapi.MCPRequest, valid func() error) (resp toolapi.MCPResponse, err error) {
	select {
	case m.setting <- struct{}{}:
		defer func() { <-m.setting }()
	case <-ctx.Done():
		return resp, context.Cause(ctx)
	}
	if err := valid(); err != nil {
		return resp, err
	}
	if len(req.Servers) > 0 {
		if err := m.taint.Mark(); err != nil {
			return resp, err
		}
	}
	wanted, ended := m.exchange(req.Servers)
	var group sync.WaitGroup
	for _, srv := range ended {
		group.Go(srv.end)
	}
	group.Wait()

	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMs)*time.Millisecond)
	defer cancel()
	resp.Servers = make([]toolapi.MCPServerState, len(wanted))
	for i, srv := range wanted {
		group.Go(func() { resp.Servers[i] = srv.state(ctx) })
	}
	group.Wait()
	return resp, nil
}

// exchange replaces the set of servers with the named ones. It returns those in their order, and the servers that were removed.
func (m *Servers) exchange(named []toolapi.MCPServer) (wanted, ended []*server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.all
	m.all = make(map[string]*server, len(named))
	for _, words := range named {
		srv := before[words.Name]
		if srv == nil || !srv.says(words) {
			srv = &server{all: m, words: words, busy: make(chan struct{}, 1)}
		} else {
			delete(before, words.Name)
		}
		m.all[words.Name] = srv
		wanted = append(wanted, srv)
	}
	for _, srv := range before {
		ended = append(ended, srv)
	}
	return wanted, ended
}

func (m *Servers) find(name string) *server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name]
}

// IsSet reports whether there are servers.
func (m *Servers) IsSet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all) > 0
}

// Ran reports whether a program of a server was ever started.
func (m *Servers) Ran() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.started
}

func (m *Servers) noteStart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
}

// Close ends all servers. No request and no call runs any more.
func (m *Servers) Close() {
	_, ended := m.exchange(nil)
	var group sync.WaitGroup
	for _, srv := range ended {
		group.Go(srv.end)
	}
	group.Wait()
}

var (
	// The API has the same patterns.
	serverName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)
	toolName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })
	// modelToolName is what model endpoints take as the name of a tool.
	modelToolName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

const maxServerName = 24

// Check returns an error if a request is not valid. No error repeats the content of Authorization.
func Check(req toolapi.MCPRequest) error {
	if len(req.Servers) > toolapi.MaxMCPServers {
		return request.Bad("there may be %d MCP servers", toolapi.MaxMCPServers)
	}
	if req.TimeoutMs < 1 || req.TimeoutMs > toolapi.MaxEgressTimeoutMs {
		return request.Bad("timeoutMs may be 1 to %d", toolapi.MaxEgressTimeoutMs)
	}
	names := map[string]bool{}
	for _, srv := range req.Servers {
		if len(srv.Name) > maxServerName || !serverName.MatchString(srv.Name) || names[srv.Name] {
			return request.Bad("the name %q of an MCP server is malformed or is there twice", plaintext.Bound(srv.Name, 64))
		}
		names[srv.Name] = true
		if err := checkServer(srv); err != nil {
			return request.Bad("MCP server %s: %v", srv.Name, err)
		}
	}
	return nil
}

func checkServer(srv toolapi.MCPServer) error {
	if (srv.URL == "") == (len(srv.Command) == 0) {
		return errors.New("it has either a url or a command")
	}
	if len(srv.Tools) == 0 || len(srv.Tools) > toolapi.MaxMCPTools {
		return fmt.Errorf("it may have 1 to %d tools", toolapi.MaxMCPTools)
	}
	if slices.ContainsFunc(srv.Tools, func(tool string) bool { return !toolName().MatchString(tool) }) {
		return errors.New("the name of a tool is malformed")
	}
	if srv.URL == "" {
		return checkCommand(srv)
	}
	where, err := url.Parse(srv.URL)
	if err != nil || where.Scheme != "https" || where.Host == "" || where.User != nil {
		return errors.New("its url must be of the form https://HOST/PATH")
	}
	invisible := func(c rune) bool { return c < ' ' || c > '~' }
	if len(srv.Authorization) > toolapi.MaxEnvironmentValue || strings.ContainsFunc(srv.Authorization, invisible) {
		return errors.New("authorization is no value of a header")
	}
	return nil
}

func checkCommand(srv toolapi.MCPServer) error {
	if srv.Authorization != "" {
		return errors.New("authorization goes with a url only")
	}
	wrong := func(arg string) bool { return len(arg) > maxArgument || strings.ContainsRune(arg, 0) }
	if len(srv.Command) > maxArguments || srv.Command[0] == "" || slices.ContainsFunc(srv.Command, wrong) {
		return fmt.Errorf("a command has a program and its arguments, at most %d of %d bytes, without NUL", maxArguments, maxArgument)
	}
	return nil
}
