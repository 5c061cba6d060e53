// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const testToken = "abcDEF-._~0123"

// TestMain makes the test binary the first program of every process.
func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	os.Exit(m.Run())
}

// sandbox is the folders of a sandbox and, while it is started, the runner of its programs.
type sandbox struct {
	t         *testing.T
	workspace string
	state     string
	temp      string
	path      string // search path of the tools
	keyring   string // of apt
	packages  string

	programs *program.Runner
	egress   *wayout.Egress
	stop     func()
}

// stoppedSandbox makes a sandbox. A runner of programs ends every process below the test that belongs to no call of it: tests that start
// one must not be parallel.
func stoppedSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, workspace: dir + "/workspace", state: dir + "/motor", temp: dir + "/tmp"}
	for _, d := range []string{s.workspace, s.state, s.temp} {
		s.ok(os.Mkdir(d, 0o755))
	}
	return s
}

func (s *sandbox) start() {
	s.t.Helper()
	log := slog.New(slog.DiscardHandler)
	ws, err := workspace.Open(s.workspace)
	s.ok(err)
	led, err := ledger.Open(s.state+"/ledger", 4096, 64<<20)
	s.ok(err)
	marks, err := wayout.OpenTaint(s.state)
	s.ok(err)
	s.egress, err = wayout.New(log, s.temp, "/etc/ssl/certs/ca-certificates.crt", marks)
	s.ok(err)
	s.programs, err = program.New(program.Config{
		Log: log, State: s.state, Temp: s.temp, SearchPath: s.path, Packages: s.packages, Address: netip.MustParseAddr("127.0.0.1"), Ledger: led,
	}, ws, s.egress)
	s.ok(err)
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		s.programs.Close()
		s.ok(errors.Join(led.Close(), s.egress.Close(), ws.Close()))
	}
	s.t.Cleanup(s.stop)
}

func (s *sandbox) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

var lastCall atomic.Int32

// call makes a call of a tool.
func (s *sandbox) call(ctx context.Context, name string, args any) toolapi.Result {
	s.t.Helper()
	tools := s.programs.Tools()
	maps.Copy(tools, NewInstaller(s.programs, cmp.Or(s.keyring, "/usr/share/keyrings/debian-archive-keyring.gpg")).Tools())
	encoded, err := json.Marshal(args)
	s.ok(err)
	t := tools[name]
	s.programs.Thaw()
	ctx, leave := s.programs.Disk.Enter(ctx)
	defer leave()
	return t.Run(ctx, tool.Job{ID: fmt.Sprintf("call-%d", lastCall.Add(1)), Args: encoded, Limit: t.Limit})
}

func (s *sandbox) run(name string, args any) toolapi.Result {
	s.t.Helper()
	return s.call(testContext(s.t), name, args)
}

func (s *sandbox) bash(command string) toolapi.Result {
	s.t.Helper()
	return s.run(toolapi.ToolBash, toolapi.BashArgs{Command: command})
}

// setEgress sets the way out, without a look whether it is open.
func (s *sandbox) setEgress(req toolapi.EgressRequest) {
	s.t.Helper()
	s.ok(s.egress.Set(req, func() error { return nil }))
}

// content is the content of a file in the workspace, "" if there is none.
func (s *sandbox) content(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(content)
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// await returns when the condition holds, and fails the test if that takes too long.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after 2 minutes", what)
		}
	}
}

// marked returns the processes whose command line contains the mark.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), mark) {
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// installing makes a sandbox whose programs are those of this machine.
func installing(t *testing.T) *sandbox {
	t.Helper()
	s := stoppedSandbox(t)
	s.path = os.Getenv("PATH") + ":/usr/bin:/bin"
	return s
}
