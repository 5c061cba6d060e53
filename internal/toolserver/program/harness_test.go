// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const testToken = "abcDEF-._~0123"

// TestMain makes the test binary what the tool server's own binary is: the first program of every process, and what looks through commits.
func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	if len(os.Args) == 2 && os.Args[1] == ScanStagedVerb {
		os.Exit(ScanStaged(context.Background(), os.Stderr))
	}
	for _, name := range []string{"bash", "python3", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			fmt.Fprintf(os.Stderr, "these tests need %s on PATH, as the sandbox image has it: %v\n", name, err)
			os.Exit(1)
		}
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
	packages  string

	programs *Runner
	egress   *wayout.Egress
	ledger   *ledger.Ledger
	stop     func()
}

// newSandbox makes a sandbox that is started. A runner of programs ends every process below the test that belongs to no call of it: these
// tests must not be parallel.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	s := stoppedSandbox(t)
	s.start()
	return s
}

func stoppedSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, workspace: dir + "/workspace", state: dir + "/motor", temp: dir + "/tmp", path: "/usr/bin:/bin:" + os.Getenv("PATH")}
	for _, d := range []string{s.workspace, s.state, s.temp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *sandbox) start() {
	s.t.Helper()
	log := slog.New(slog.DiscardHandler)
	ws, err := workspace.Open(s.workspace)
	s.ok(err)
	s.ledger, err = ledger.Open(s.state+"/ledger", 4096, 64<<20)
	s.ok(err)
	marks, err := wayout.OpenTaint(s.state)
	s.ok(err)
	s.egress, err = wayout.New(log, s.temp, "/etc/ssl/certs/ca-certificates.crt", marks)
	s.ok(err)
	s.programs, err = New(Config{
		Log: log, State: s.state, Temp: s.temp, SearchPath: s.path, Packages: s.packages, Address: netip.MustParseAddr("127.0.0.1"), Ledger: s.ledger,
	}, ws, s.egress)
	s.ok(err)
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		s.programs.Close()
		s.ok(errors.Join(s.ledger.Close(), s.egress.Close(), ws.Close()))
	}
	s.t.Cleanup(s.stop)
}

func (s *sandbox) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// restart stops the runner of programs and starts it again on the same folders.
func (s *sandbox) restart() {
	s.t.Helper()
	s.stop()
	s.start()
}

// program runs a program of the test itself beside the sandbox, and returns all that it printed.
func (s *sandbox) program(cmd *exec.Cmd) ([]byte, error) {
	var out []byte
	var err error
	s.programs.WhileHeld(func() { out, err = cmd.CombinedOutput() })
	return out, err
}

// setEgress sets the way out, without a look whether it is open.
func (s *sandbox) setEgress(req toolapi.EgressRequest) {
	s.t.Helper()
	s.ok(s.egress.Set(req, func() error { return nil }))
}

// run makes a call with a new id.
func (s *sandbox) run(tool string, args any) toolapi.Result {
	s.t.Helper()
	return s.runCall(newCallOf(s.t, "", tool, args))
}

// runCall makes a call in the way of the tool server: alone, recorded, watched, and with a result in bounds.
func (s *sandbox) runCall(call toolapi.Call) (result toolapi.Result) {
	p, t := s.programs, s.programs.Tools()[call.Tool]
	base, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c, _, err := s.ledger.Begin(1, ledger.Work{ID: call.ID, Digest: "d", Tool: call.Tool}, cancel)
	if err != nil {
		s.t.Error(err)
		return result
	}
	p.Lane <- struct{}{}
	defer func() { <-p.Lane }()
	p.Thaw()
	limit := t.Limit
	if call.MaxOutputBytes > 0 {
		limit = min(limit, int(call.MaxOutputBytes))
	}
	began := time.Now()
	ctx, leave := p.Disk.Enter(base)
	result = t.Run(ctx, tool.Job{ID: call.ID, Args: call.Arguments, Limit: limit})
	if output.Keeps(call.Tool, t) {
		p.Outputs.Keep(call.ID, &result, limit)
	}
	leave()
	p.Disk.Judge(ctx, &result, limit)
	data, notes := result.Parts()
	notes = plaintext.Bound(notes, limit)
	result.SetParts(plaintext.Bound(data, limit-len(notes)), notes)
	result.DurationMs = time.Since(began).Milliseconds()
	if err := s.ledger.Finish(c, result); err != nil {
		s.t.Error(err)
	}
	return result
}

// cancel ends a call that runs, and waits for its end.
func (s *sandbox) cancel(id string) {
	c := s.ledger.Find(id)
	c.Cancel(tool.ErrCancelled)
	<-c.Done
}

func (s *sandbox) bash(command string) toolapi.Result {
	s.t.Helper()
	return s.run(toolapi.ToolBash, toolapi.BashArgs{Command: command})
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

func (s *sandbox) write(name, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(s.workspace, name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.workspace, name), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

var lastCall atomic.Int32

// newCallOf makes a call; an empty id is replaced by one that was not used before.
func newCallOf(t *testing.T, id, tool string, args any) toolapi.Call {
	t.Helper()
	if id == "" {
		id = fmt.Sprintf("call-%d", lastCall.Add(1))
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return toolapi.Call{ID: id, Tool: tool, Arguments: encoded}
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

func (s *sandbox) background(command string) toolapi.Result {
	s.t.Helper()
	return s.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, Background: true})
}

var startedLine = regexp.MustCompile(`^\[process (\d+) runs in the background; its output goes to the workspace file "(\.motor/output/[^ ]+\.txt)"; to end it: kill (\d+)\]\n`)

// started returns the process number and the file of a command that runs in the background.
func started(t *testing.T, r toolapi.Result) (pid, file string) {
	t.Helper()
	m := startedLine.FindStringSubmatch(r.Output)
	if !r.OK || m == nil || m[1] != m[3] || r.OutputFile != "" || !r.NotesOnly() {
		t.Fatalf("%+v", r)
	}
	return m[1], m[2]
}

// gitSandbox is a sandbox with a repository in its workspace.
func gitSandbox(t *testing.T) *sandbox {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here: ", err)
	}
	s := newSandbox(t)
	s.must("git init -q")
	return s
}

func (s *sandbox) must(command string) string {
	s.t.Helper()
	r := s.bash(command)
	if !r.OK {
		s.t.Fatalf("%s: %+v", command, r)
	}
	return r.Output
}

func (s *sandbox) commits() string {
	s.t.Helper()
	return s.must("git log --format='%an <%ae> %s' || true")
}

var stagedKey = "AKIA" + "Q3EGTEXWN5ZK2PQR"
