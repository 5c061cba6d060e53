// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package skew_test runs the last release beside this one: clients that take over from each other in the middle of a call, the engine of
// each release with the tool server of the other one, and runs that move between the managers of the two. The last release is built from
// the commit that the file previous names.
//
// The last engine carries runs from their beginning to their end in sandboxes of this release. This engine runs nothing in sandboxes of
// the last one, which filter no system calls: their runs get another sandbox.
//
// Whole managers, controller and engine, share an API server with this release's kinds. Each starts with the policies of its own release,
// for which it waits.
package skew_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/test/printed"
)

const podUID = "pod"

// patience is how long a test waits for a program of its own. It takes milliseconds.
const patience = time.Minute

// release is the programs of one release, and the tree that they were built from.
// manager is the program of testdata, operator the manager itself.
type release struct{ name, tree, server, manager, operator string }

// releases builds the last release and this one.
func releases(t *testing.T) []release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	named, err := os.ReadFile("previous")
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(named))
	if commit == "none" {
		t.Skip("no release can run beside this one: see docs/adr/0048-a-release-that-starts-anew.md")
	}
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("this clone does not have the commit %s, from which test/skew/previous has the last release built: %s\n"+
			"A shallow clone has no history: `git fetch --unshallow` gets it.", commit, bytes.TrimSpace(out))
	}
	tree := t.TempDir()
	pack := exec.Command("sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", root, commit, tree)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the last release: %v\n%s", err, out)
	}
	began := time.Now()
	both := []release{build(t, "last", tree), build(t, "this", root)}
	t.Logf("built in %s", time.Since(began).Round(time.Second))
	return both
}

// build builds the tool server of a tree, and the manager of testdata with that tree's client.
func build(t *testing.T, name, tree string) release {
	t.Helper()
	dir := t.TempDir()
	r := release{name, tree, filepath.Join(dir, "toolserver"), filepath.Join(dir, "manager"), filepath.Join(dir, "operator")}
	source, err := filepath.Abs("testdata/manager/main.go")
	if err != nil {
		t.Fatal(err)
	}
	// The manager is of the tree's module without being in the tree.
	place := filepath.Join(tree, "cmd", "skewmanager", "main.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{place: source}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for program, from := range map[string]string{r.server: "./cmd/toolserver", r.manager: "./cmd/skewmanager", r.operator: "./cmd/manager"} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, from)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s of the %s release: %v\n%s", from, name, err, out)
		}
	}
	return r
}

// sandbox is a tool server that runs.
type sandbox struct {
	t                            *testing.T
	workspace, address, key, pin string
	client                       *toolclient.Client
}

func startSandbox(t *testing.T, r release) *sandbox {
	t.Helper()
	key, err := toolclient.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, workspace: t.TempDir(), address: freeAddress(t), key: base64.StdEncoding.EncodeToString(der), pin: toolclient.PublicKeyPin(key)}
	cmd := exec.Command(r.server, "-listen", s.address)
	cmd.Env = []string{
		"MOTOR_WORKSPACE=" + s.workspace, "MOTOR_STATE=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "MOTOR_POD_UID=" + podUID,
		"MOTOR_MANAGER_KEY=" + s.pin, "PATH=" + os.Getenv("PATH"),
	}
	said := &printed.Text{}
	cmd.Stderr = said
	start(t, cmd, syscall.SIGTERM)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the tool server said:\n%s", said)
		}
	})
	if s.client, err = toolclient.New(toolclient.Config{Address: s.address, PodUID: podUID, ClientCert: cert, Unreachable: patience}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	if _, err := s.client.Hello(t.Context()); err != nil {
		t.Fatalf("the tool server of the %s release does not answer: %v", r.name, err)
	}
	return s
}

// freeAddress is one of the loopback network on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// sandboxAddress is an address of the loopback network on which nothing listens at the port of tool servers, which is always the same.
func sandboxAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		ip := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(256), 1+rand.IntN(250))
		if ln, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(toolapi.Port))); err == nil {
			_ = ln.Close()
			return ip
		}
	}
	t.Fatal("there is no free address for a sandbox")
	return ""
}

// start starts a program and ends it with the test. The kernel ends it if this process is ended first.
func start(t *testing.T, cmd *exec.Cmd, end syscall.Signal) (stop func() error) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: end}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceValue(func() error {
		_ = cmd.Process.Signal(end)
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// manager is the command of a release's manager.
func (s *sandbox) manager(r release, epoch, verb string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, r.manager, s.address, podUID, epoch, verb)
	cmd.Env = []string{"SKEW_KEY=" + s.key, "SKEW_GO=" + filepath.Join(s.workspace, "go")}
	return cmd
}

func TestSkew(t *testing.T) {
	both := releases(t)
	for _, server := range both {
		for _, first := range both {
			for _, second := range both {
				t.Run("server "+server.name+", manager "+first.name+" then "+second.name, func(t *testing.T) {
					t.Parallel()
					takeOver(t, server, first, second)
				})
			}
		}
	}
	t.Run("engine last, server this", func(t *testing.T) { engineWith(t, both[0], both[1]) })
	t.Run("engine this, server last", func(t *testing.T) { engineWith(t, both[1], both[0]) })
	t.Run("runs that move", func(t *testing.T) { moves(t, both[0], both[1]) })
	t.Run("features of the last release", func(t *testing.T) {
		t.Parallel()
		knownFeatures(t, both[0])
	})
}

// takeOver has a manager begin a run, another one go on with it in the middle of a call, and the first one come back.
func takeOver(t *testing.T, server, first, second release) {
	s := startSandbox(t, server)
	begun := s.manager(first, "1", "begin")
	said := &printed.Text{}
	begun.Stderr = said
	stop := start(t, begun, syscall.SIGKILL)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		if _, err := os.Stat(filepath.Join(s.workspace, "begun")); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-late:
			_ = stop()
			t.Fatalf("the first manager did not come to its last call: %s", said)
		}
		if said.String() != "" {
			_ = stop()
			t.Fatalf("the first manager ended: %s", said)
		}
	}
	_ = stop()
	if out, err := s.manager(second, "2", "go on").CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Fatalf("the second manager: %v\n%s", err, out)
	}
	if out, err := s.manager(first, "1", "begin").CombinedOutput(); err == nil || !strings.Contains(string(out), "newer claim") {
		t.Errorf("the first manager came back: %v\n%s", err, out)
	}
}

// knownFeatures has the last release's tool server read every argument and field that this build says it knows.
func knownFeatures(t *testing.T, last release) {
	s := startSandbox(t, last)
	peer := s.client.Peer()
	known := 0
	for _, f := range toolapi.Features() {
		tool, argument, ok := strings.Cut(f, ".")
		if !ok || !peer.HasTool(tool) || strings.ToLower(tool) != tool {
			continue
		}
		r, err := s.client.Call(t.Context(), toolapi.Call{ID: strings.ReplaceAll(f, "_", "-"), Tool: tool, Arguments: json.RawMessage(`{"` + argument + `":{"a":[]}}`)})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		// What it knows it refuses for its type.
		if unknown := strings.Contains(r.Output, "unknown field"); unknown == peer.Knows(f) {
			t.Errorf("%s: this build says that the last release knows it: %t; it says %+v", f, peer.Knows(f), r)
		}
		known++
	}
	if known < 40 {
		t.Errorf("only %d arguments were tried", known)
	}
}
