// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package toolserver is the process that runs tool calls in a sandbox Pod.
//
// The programs that it starts are hostile: a model wrote them, and they have the same user id as the server. The server therefore trusts
// nothing that comes from its child processes, bounds everything that it reads from them, and stores its own state where the kernel lets no
// tool process in (see package proc). Requests of the manager arrive over mutual TLS with pinned keys.
//
// A call goes this way:
//
//	request ─► epoch ─► ledger "started" (fsync) ─► lane ─► tool ─► ledger "finished" (fsync) ─► answer
//	             │          │                                                        ▲
//	             │          └─ same id again: wait for the same execution, or ───────┘
//	             └─ lower than the highest seen: refused
//
// A process has one Server at a time and starts no child processes by other means: the server kills and collects every
// process below its own.
package toolserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/changes"
	"motorcortex.dev/motorcortex/internal/toolserver/connections"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
	"motorcortex.dev/motorcortex/internal/toolserver/fetch"
	"motorcortex.dev/motorcortex/internal/toolserver/files"
	"motorcortex.dev/motorcortex/internal/toolserver/harvest"
	"motorcortex.dev/motorcortex/internal/toolserver/inventory"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/mcp"
	"motorcortex.dev/motorcortex/internal/toolserver/packages"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// DefaultMaxCalls is how many calls one sandbox serves.
	DefaultMaxCalls = 4096
	// DefaultMaxLedgerBytes bounds the ledger on disk.
	DefaultMaxLedgerBytes = 64 << 20
	// DefaultSystemCAs is where Debian has them.
	DefaultSystemCAs = "/etc/ssl/certs/ca-certificates.crt"
	// DefaultAptKeyring is where Debian has it.
	DefaultAptKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

	readHeaderTimeout = 5 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10

	// Together these stay below the second that a Pod has to end.
	stopCallsTimeout   = 500 * time.Millisecond
	stopAnswersTimeout = 300 * time.Millisecond
)

// Config configures where a Server works and which manager it serves.
type Config struct {
	// Workspace is the folder that the tools work in.
	Workspace string
	// State is the folder of the ledger and the server's key. No tool process may open a file in it.
	State string
	// TempDir is the folder for temporary files of tool processes.
	TempDir string
	// SystemCAs is the file with the certificates that programs trust by themselves; "" means DefaultSystemCAs.
	SystemCAs string
	// AptKeyring is the file with the keys that packages of the distribution are signed with; "" means DefaultAptKeyring.
	AptKeyring string
	// Packages is the folder with the packages of the run's skill, "" if it has none.
	Packages string
	// SearchPath is PATH for tool processes, and where bash, node and python3 are looked for.
	SearchPath string
	// NetTables is the folder with the kernel's tables of the network namespace; "" means connections.DefaultTables.
	NetTables string
	// Disk has the sizes of the volumes; the zero value bounds nothing.
	Disk disk.Sizes
	// PodUID is reported to clients in Hello.
	PodUID string
	// Address is the Pod's own. Programs get sockets of its family; without an address they get none of IP.
	Address netip.Addr
	// ManagerKeys are the DER encoded public keys of the clients that are let in; see ParseManagerKeys.
	ManagerKeys [][]byte
	// Logger gets one line per call, without arguments and output; nil discards.
	Logger *slog.Logger
	// MaxCalls and MaxLedgerBytes bound the ledger; 0 means the defaults.
	MaxCalls       int
	MaxLedgerBytes int64
	// Fault is for tests: it is called at each FaultPoint of a call, with the call's id. Nil does nothing.
	Fault func(point FaultPoint, id string)
}

// FaultPoint is a moment of a call at which the end of the server means something of its own.
type FaultPoint string

const (
	// FaultBeforeStart: the call came, and nothing is recorded.
	FaultBeforeStart FaultPoint = "BeforeStart"
	// FaultAfterStart: the start is recorded, and nothing was done.
	FaultAfterStart FaultPoint = "AfterStart"
	// FaultBeforeFinish: everything was done, and the result is not recorded.
	FaultBeforeFinish FaultPoint = "BeforeFinish"
	// FaultAfterFinish: the result is recorded, and no client has received it.
	FaultAfterFinish FaultPoint = "AfterFinish"
)

// Server serves the tool API of one sandbox.
type Server struct {
	podUID    string
	log       *slog.Logger
	workspace *workspace.Workspace
	ledger    *ledger.Ledger
	processes *program.Runner
	egress    *wayout.Egress
	taint     *wayout.Taint
	fetcher   *fetch.Fetcher
	artifacts *harvest.Artifacts
	first     *harvest.FirstCommit
	given     *changes.Baseline
	mcp       *mcp.Servers
	tls       *tls.Config
	tools     map[string]tool.Tool
	fault     func(FaultPoint, string)
	netTables string
	// environment reads it once.
	environment func() *toolapi.Environment
	// listen is the address, a string, that Serve listens on.
	listen atomic.Value

	// comparing is held by the one request at a time that makes a diff of the workspace.
	comparing chan struct{}
	// lane is held by the one call at a time that may start processes or change files.
	lane chan struct{}
	// thawing is held while programs are let start, or stopped from it.
	thawing sync.Mutex
	// base is the context of all calls; a client that goes away does not end its call.
	base context.Context //nolint:containedctx // it lives as long as the server, and stop ends it
	stop context.CancelCauseFunc
	// running counts the calls between "started" and "finished"; none is added once stopping is set.
	running  sync.WaitGroup
	mu       sync.Mutex
	stopping bool
	// address is the Pod's own, and listening where this server is.
	address   netip.Addr
	listening string
	// blocked are the probes in a row that reached nothing.
	blocked blockedProbes
}

// New opens the workspace and the state folder, reads the ledger and makes the server's key if there is none yet.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	ws, err := workspace.Open(cfg.Workspace)
	if err != nil {
		return nil, err
	}
	if err := ws.RemoveLeftovers(); err != nil {
		cfg.Logger.Warn("what a former process of the tool server left in the workspace stays there", "error", err)
	}
	led, err := ledger.Open(filepath.Join(cfg.State, "ledger"), cfg.MaxCalls, cfg.MaxLedgerBytes)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	tlsConfig, err := serverTLS(cfg.State, cfg.ManagerKeys)
	if err != nil {
		return nil, errors.Join(err, led.Close(), ws.Close())
	}
	marks, err := wayout.OpenTaint(cfg.State)
	if err != nil {
		return nil, errors.Join(err, led.Close(), ws.Close())
	}
	way, err := wayout.New(cfg.Logger, cfg.TempDir, cfg.SystemCAs, marks)
	if err != nil {
		return nil, errors.Join(err, led.Close(), ws.Close())
	}
	kept, err := harvest.OpenArtifacts(ws, cfg.State, marks.Marked)
	if err != nil {
		return nil, errors.Join(err, way.Close(), led.Close(), ws.Close())
	}
	given, err := changes.OpenBaseline(filepath.Join(cfg.State, givenFolder), durable.Write)
	if err != nil {
		return nil, errors.Join(err, way.Close(), led.Close(), ws.Close())
	}
	first, err := harvest.OpenFirstCommit(cfg.Logger, cfg.State, ws, led.Used())
	if err != nil {
		return nil, errors.Join(err, way.Close(), led.Close(), ws.Close())
	}
	procs, err := program.New(program.Config{
		Log: cfg.Logger, State: cfg.State, Temp: cfg.TempDir, SearchPath: cfg.SearchPath, Packages: cfg.Packages,
		Address: cfg.Address, Disk: cfg.Disk, Ledger: led,
	}, ws, way)
	if err != nil {
		return nil, errors.Join(err, way.Close(), led.Close(), ws.Close())
	}
	s := &Server{
		podUID:    cfg.PodUID,
		address:   cfg.Address,
		log:       cfg.Logger,
		workspace: ws,
		ledger:    led,
		processes: procs,
		egress:    way,
		taint:     marks,
		fetcher:   fetch.New(ws, procs.Outputs, way, marks),
		artifacts: kept,
		first:     first,
		given:     given,
		comparing: make(chan struct{}, 1),
		tls:       tlsConfig,
		fault:     cfg.Fault,
		netTables: cfg.NetTables,
		lane:      procs.Lane,
		environment: sync.OnceValue(func() *toolapi.Environment {
			e := inventory.Read("/", cfg.SearchPath)
			e.WorkspaceBytes = cfg.Disk.Workspace
			return e
		}),
	}
	s.mcp = mcp.New(cfg.Logger, procs, s.taint)
	s.tools = s.allTools(packages.NewInstaller(procs, cfg.AptKeyring))
	s.base, s.stop = context.WithCancelCause(context.Background())
	return s, nil
}

// complete checks the configuration and fills in the defaults.
func (c Config) complete() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Fault == nil {
		c.Fault = func(FaultPoint, string) {}
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = DefaultMaxCalls
	}
	if c.MaxLedgerBytes <= 0 {
		c.MaxLedgerBytes = DefaultMaxLedgerBytes
	}
	if c.NetTables == "" {
		c.NetTables = connections.DefaultTables
	}
	if c.AptKeyring == "" {
		c.AptKeyring = DefaultAptKeyring
	}
	if c.SystemCAs == "" {
		c.SystemCAs = DefaultSystemCAs
	}
	if c.PodUID == "" {
		return c, errors.New("the Pod's UID is missing: clients could not tell this sandbox from another one")
	}
	if len(c.ManagerKeys) == 0 {
		return c, errors.New("no manager key: no manager could connect")
	}
	for _, dir := range []*string{&c.Workspace, &c.State, &c.TempDir} {
		resolved, err := filepath.EvalSymlinks(*dir)
		if err == nil {
			resolved, err = filepath.Abs(resolved)
		}
		if err != nil {
			return c, fmt.Errorf("folder %q: %w", *dir, err)
		}
		*dir = resolved
	}
	for _, open := range []string{c.Workspace, c.TempDir} {
		if workspace.Within(open, c.State) || workspace.Within(c.State, open) {
			return c, fmt.Errorf("the state folder %s and %s must lie apart: tools may not reach the state", c.State, open)
		}
	}
	return c, nil
}

// ServerKey is the pin of the server's public key, as clients see it.
func (s *Server) ServerKey() string { return pinOf(s.tls.Certificates[0].Leaf.RawSubjectPublicKeyInfo) }

// Serve answers requests on ln until ctx ends or the ledger cannot be kept any more, then kills what still runs, records
// it, and returns within a second.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.listen.Store(ln.Addr().String())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:           s.handler(),
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Tool processes can reach the port; failed handshakes at the usual level would let them fill the log.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.mu.Lock()
	s.listening = ln.Addr().String()
	s.mu.Unlock()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(tls.NewListener(ln, s.tls)) }()

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	case <-s.ledger.Damaged():
		err = ledger.ErrDamaged // Only another start can read the content of the file.
	}
	s.stopCalls()
	s.waitForCalls(stopCallsTimeout)
	// A context of its own: the caller's has ended, and the last answers still need their time.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopAnswersTimeout)
	defer cancel()
	if srv.Shutdown(last) != nil {
		_ = srv.Close() // A client that still waits sees a broken connection and retries elsewhere or later.
	}
	return err
}

// stopCalls lets no more calls start and ends those that run.
func (s *Server) stopCalls() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.stop(tool.ErrStopped)
}

func (s *Server) waitForCalls(limit time.Duration) {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		s.log.Warn("calls still run while the tool server stops; their outcome will be unknown")
	}
}

// Close ends what still runs and closes the files. It is called after Serve has returned.
func (s *Server) Close() error {
	s.stopCalls()
	s.running.Wait()
	s.mcp.Close()
	s.processes.Close()
	return errors.Join(s.ledger.Close(), s.egress.Close(), s.workspace.Close())
}

func (s *Server) allTools(install *packages.Installer) map[string]tool.Tool {
	all := map[string]tool.Tool{toolapi.ToolFetch: {Alone: true, Limit: toolapi.MaxOutputBytes, Run: s.fetcher.Fetch}}
	for _, tools := range []map[string]tool.Tool{files.Tools(s.workspace), s.processes.Tools(), install.Tools(), s.artifacts.Tools()} {
		maps.Copy(all, tools)
	}
	return all
}
