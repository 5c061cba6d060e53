// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

// userID is used by no other process on the machine, so that a limit of processes counts those of one test only.
const userID = 61234

// TestMain lets the test binary be a Pod, and the tool server's first program of every tool process.
func TestMain(m *testing.M) {
	switch {
	case proc.IsChild():
		os.Exit(proc.RunChild())
	case os.Getenv("TEST_POD") != "":
		if err := becomePod(); err != nil {
			fmt.Fprintln(os.Stderr, "make a Pod (these tests need root and the right to make namespaces):", err)
			os.Exit(1)
		}
		os.Exit(serve(halt))
	default:
		os.Exit(m.Run())
	}
}

// halt stops a call for good at the point that the environment names, and records that in the file "halted".
func halt(point toolserver.FaultPoint, id string) {
	if string(point) != os.Getenv("TEST_HALT") || !strings.HasPrefix(id, "halted") {
		return
	}
	if err := os.WriteFile(os.Getenv("TMPDIR")+"/halted", nil, 0o600); err != nil {
		panic(err)
	}
	select {}
}

// becomePod makes this process, which is the first of new process and mount namespaces, what a sandbox container is:
// an unprivileged user that sees its own processes only, and a small workspace.
func becomePod() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if size := os.Getenv("TEST_WORKSPACE_SIZE"); size != "" {
		options := fmt.Sprintf("size=%s,uid=%d", size, userID)
		if err := syscall.Mount("tmpfs", os.Getenv("MOTOR_WORKSPACE"), "tmpfs", 0, options); err != nil {
			return err
		}
	}
	if most, err := strconv.ParseUint(os.Getenv("TEST_PROCESSES"), 10, 64); err == nil {
		const rlimitNproc = 6
		if err := syscall.Setrlimit(rlimitNproc, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(userID), syscall.Setuid(userID))
}

// pod is a running tool server as process 1 of a container.
type pod struct {
	t    testing.TB
	dir  string
	env  []string
	cert toolclient.Config
	cmd  *exec.Cmd
	// listen is the address to listen on, the same after a restart.
	listen string
}

func newPod(t testing.TB, env ...string) *pod {
	t.Helper()
	key, err := toolclient.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{
		t: t, dir: t.TempDir(), env: env, listen: "127.0.0.1:0",
		cert: toolclient.Config{PodUID: "uid", ClientCert: cert, Epoch: 1},
	}
	if err := os.Chmod(filepath.Dir(p.dir), 0o755); err != nil { // The unprivileged user has to get in.
		t.Fatal(err)
	}
	for _, name := range []string{"workspace", "motor", "tmp"} {
		dir := filepath.Join(p.dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, userID, userID)); err != nil {
			t.Fatal(err)
		}
	}
	copyBinary(t, p.dir+"/toolserver")
	p.env = append(p.env, "TEST_POD=1", "GORACE=atexit_sleep_ms=0", "MOTOR_POD_UID=uid", "MOTOR_POD_IP=127.0.0.1", "MOTOR_MANAGER_KEY="+toolclient.PublicKeyPin(key),
		"MOTOR_WORKSPACE="+p.dir+"/workspace", "MOTOR_STATE="+p.dir+"/motor", "TMPDIR="+p.dir+"/tmp", "PATH=/usr/bin:/bin:"+os.Getenv("PATH"))
	p.start()
	return p
}

// copyBinary puts the test binary where the unprivileged user may execute it.
func copyBinary(t testing.TB, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *pod) start() {
	p.t.Helper()
	p.cmd = &exec.Cmd{
		Path:        p.dir + "/toolserver",
		Args:        []string{"toolserver", "-listen", p.listen},
		Env:         p.env,
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS},
	}
	logs, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := p.cmd
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill() // With process 1, its namespace ends.
		_ = cmd.Wait()
	})
	reader := bufio.NewReader(logs)
	for p.cert.Address = ""; p.cert.Address == ""; {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("the tool server did not start: %s %v", line, err)
		}
		var entry struct{ Address string }
		if json.Unmarshal(line, &entry) != nil {
			p.t.Fatalf("the tool server says: %s", line)
		}
		p.cert.Address = entry.Address
	}
	p.listen = p.cert.Address
	go func() { _, _ = io.Copy(io.Discard, reader) }()
}

// kill kills the tool server, and with it everything in its container.
func (p *pod) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // It was killed.
}

func (p *pod) client() *toolclient.Client {
	p.t.Helper()
	c, err := toolclient.New(p.cert)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var lastCall int

func call(t testing.TB, tool string, args any) toolapi.Call {
	t.Helper()
	lastCall++
	encoded, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return toolapi.Call{ID: fmt.Sprintf("call-%d", lastCall), Tool: tool, Arguments: encoded}
}

func (p *pod) run(tool string, args any) toolapi.Result {
	p.t.Helper()
	r, err := p.client().Call(testContext(p.t), call(p.t, tool, args))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *pod) bash(command string) toolapi.Result {
	p.t.Helper()
	return p.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, TimeoutSeconds: 60})
}
