// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"net"
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
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

const podUID = "11111111-2222-3333-4444-555555555555"

// TestMain makes the test binary what the tool server's own binary is: the first program of every tool process.
func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	if len(os.Args) == 2 && os.Args[1] == program.ScanStagedVerb {
		os.Exit(program.ScanStaged(context.Background(), os.Stderr))
	}
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], mcpserver.Program) {
		mcpserver.Serve(os.Args[2])
		os.Exit(0)
	}
	for _, name := range []string{"bash", "python3", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			fmt.Fprintf(os.Stderr, "these tests need %s on PATH, as the sandbox image has it: %v\n", name, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// sandbox is the folders of a sandbox and, while it is started, its server.
type sandbox struct {
	t         *testing.T
	workspace string
	state     string
	temp      string
	key       *ecdsa.PrivateKey
	path      string // search path of the tools
	maxCalls  int
	systemCAs string
	keyring   string // of apt
	packages  string
	netTables string

	server  *Server
	address string
	stop    func()
}

// newSandbox makes a sandbox with a running server. A server ends every process below its own that belongs to no call of it, and all
// servers of these tests are one process. A test that starts programs must not be parallel: another test's server would end them.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	s := stoppedSandbox(t)
	s.start()
	return s
}

// program runs a program of the test itself beside the server, and returns all that it printed. The server collects every child of this
// process that has ended and is not its own: without the lock a test would not learn how its program ended.
func (s *sandbox) program(cmd *exec.Cmd) ([]byte, error) {
	var out []byte
	var err error
	s.server.processes.WhileHeld(func() { out, err = cmd.CombinedOutput() })
	return out, err
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
	if s.key, err = toolclient.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sandbox) config() Config {
	keys, err := ParseManagerKeys(toolclient.PublicKeyPin(s.key))
	if err != nil {
		s.t.Fatal(err)
	}
	return Config{
		Workspace: s.workspace, State: s.state, TempDir: s.temp, SearchPath: s.path,
		PodUID: podUID, ManagerKeys: keys, MaxCalls: s.maxCalls, SystemCAs: s.systemCAs,
		AptKeyring: s.keyring, Packages: s.packages, Address: netip.MustParseAddr("127.0.0.1"), NetTables: s.netTables,
	}
}

func (s *sandbox) start() {
	s.t.Helper()
	server, err := New(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, ln) }()
	s.server, s.address = server, ln.Addr().String()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("Serve: %v", err)
		}
		if err := server.Close(); err != nil {
			s.t.Errorf("Close: %v", err)
		}
	}
	s.t.Cleanup(s.stop)
}

// restart stops the server and starts another one on the same folders.
func (s *sandbox) restart() {
	s.t.Helper()
	s.stop()
	s.start()
}

func (s *sandbox) client(epoch int64) *toolclient.Client {
	s.t.Helper()
	cert, err := toolclient.ClientCertificate(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := toolclient.New(toolclient.Config{Address: s.address, PodUID: podUID, ClientCert: cert, Epoch: epoch})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// run makes a call by a client of epoch 1, with a new id.
func (s *sandbox) run(tool string, args any) toolapi.Result {
	s.t.Helper()
	return s.runCall(newCallOf(s.t, "", tool, args))
}

func (s *sandbox) runCall(call toolapi.Call) toolapi.Result {
	s.t.Helper()
	result, err := s.client(1).Call(testContext(s.t), call)
	if err != nil {
		s.t.Fatalf("call %s: %v", call.Tool, err)
	}
	return result
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

// installing makes a sandbox whose programs are those of this machine.
func installing(t *testing.T) *sandbox {
	t.Helper()
	s := stoppedSandbox(t)
	s.path = os.Getenv("PATH") + ":/usr/bin:/bin"
	return s
}
