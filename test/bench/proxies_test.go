// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	ours = "egress proxy"
	// proxyRole is the variable that makes this program the egress proxy; its value is where the host is.
	proxyRole = "MOTOR_BENCH_PROXY"
	runUID    = "bench"
	// denied is a host that no proxy allows.
	denied   = "denied.example.net:443"
	patience = 30 * time.Second
	// nobody is who the proxies run as, if that can be chosen: what the kernel grants root alone would flatter them.
	nobody = 65534
)

var public = netip.MustParseAddr("93.184.216.34")

// way is a way to the host.
type way struct {
	name string
	up   *upstream
	// proxy is where the proxy listens, "" if there is none.
	proxy string
	// target is what the proxy is asked for, with headers.
	target, headers string
	pid             int
}

func direct(up *upstream) *way { return &way{name: "direct", up: up} }

func token() string {
	return grant.Token([]byte("the key of a benchmark, no secret"), runUID, "pod", 1)
}

// serveProxy is the egress proxy as cmd/egressproxy makes it, with audit lines that nobody reads and limits that are not
// reached. Any name leads to the upstream. It ends with its standard input.
func serveProxy(upstream string, in io.Reader, out io.Writer) error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	grants := egress.NewGrants(time.Now)
	if err := grants.Set(&grant.Grant{
		RunUID: runUID, Namespace: "bench", Run: "bench", PodName: "bench", PodUID: "pod", TokenHash: grant.HashToken(token()),
		PodIPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Domains: []string{host}, ExpiresAt: time.Now().Add(24 * time.Hour),
	}); err != nil {
		return err
	}
	server, err := egress.New(egress.Config{
		Grants: grants, ForbiddenPrefixes: func() []netip.Prefix { return []netip.Prefix{} }, Resolver: answers{},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", upstream)
		},
		Logger: slog.New(slog.NewJSONHandler(null, nil)), Registerer: prometheus.NewRegistry(),
		Limits:   egress.Limits{Connections: 1 << 20, Requests: 1 << 40, Bytes: 1 << 60},
		Timeouts: egress.Timeouts{Grace: time.Millisecond},
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	fmt.Fprintln(out, ln.Addr())
	return server.Serve(ctx, ln)
}

type answers struct{}

func (answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{public}, nil
}

func startOurs(t *testing.T, up *upstream) *way {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), proxyRole+"="+up.addr)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the egress proxy did not start: %v", err)
	}
	return &way{
		name: ours, up: up, proxy: strings.TrimSpace(line), target: host + ":443", pid: cmd.Process.Pid,
		headers: "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(grant.User+":"+token())) + "\r\n",
	}
}

func startTinyproxy(t *testing.T, up *upstream) *way {
	t.Helper()
	ip, port, _ := net.SplitHostPort(up.addr)
	dir, listen := folder(t), freePort(t)
	write(t, filepath.Join(dir, "allowed"), "^"+strings.ReplaceAll(ip, ".", `\.`)+"$\n")
	conf := write(t, filepath.Join(dir, "tinyproxy.conf"), fmt.Sprintf(`Listen 127.0.0.1
Port %s
Allow 127.0.0.1
ConnectPort %s
ConnectPort 443
Filter "%s/allowed"
FilterExtended On
FilterDefaultDeny Yes
MaxClients 4096
Timeout 600
LogLevel Critical
LogFile "/dev/null"
`, listen, port, dir))
	return startOther(t, up, listen, "tinyproxy", "-d", "-c", conf)
}

func startSquid(t *testing.T, up *upstream) *way {
	t.Helper()
	ip, port, _ := net.SplitHostPort(up.addr)
	dir, listen := folder(t), freePort(t)
	conf := write(t, filepath.Join(dir, "squid.conf"), fmt.Sprintf(`http_port 127.0.0.1:%s
acl allowed dstdomain -n %s
acl port port %s
acl CONNECT method CONNECT
http_access allow CONNECT allowed port
http_access deny all
cache deny all
access_log none
cache_log /dev/null
cache_store_log none
netdb_filename none
pid_filename none
pinger_enable off
coredump_dir %s
visible_hostname bench
max_filedescriptors 16384
shutdown_lifetime 0 seconds
`, listen, ip, port, dir))
	return startOther(t, up, listen, "squid", "-N", "-f", conf)
}

// startOther starts a proxy that is not ours, and waits until it listens.
func startOther(t *testing.T, up *upstream, port, program string, args ...string) *way {
	t.Helper()
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ended := start(t, cmd)
	w := &way{name: program, up: up, proxy: net.JoinHostPort("127.0.0.1", port), target: up.addr, pid: cmd.Process.Pid}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-late:
			t.Fatalf("%s did not listen within %s", program, patience)
		case <-tick.C:
		}
		if conn, err := net.Dial("tcp", w.proxy); err == nil {
			_ = conn.Close()
			return w
		}
	}
}

// start starts a program that ends with the test. The kernel ends it if this process is ended first.
func start(t *testing.T, cmd *exec.Cmd) (ended <-chan struct{}) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 && *egressFlag {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-done
	})
	return done
}

// folder is one that nobody, too, can read.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "motor-bench-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// open opens a connection to the host, and gives it when the host has answered.
func (w *way) open() (net.Conn, error) {
	to := w.up.addr
	if w.proxy != "" {
		to = w.proxy
	}
	conn, err := net.Dial("tcp", to)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := w.greet(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	return conn, nil
}

func (w *way) greet(conn net.Conn) error {
	if w.proxy != "" {
		if _, err := io.WriteString(conn, w.connect(w.target)); err != nil {
			return err
		}
		head := make([]byte, 0, 1024)
		// The host says nothing yet: what is read is the head alone.
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			n, err := conn.Read(head[len(head):cap(head)])
			if err != nil {
				return err
			}
			head = head[:len(head)+n]
		}
		if status := strings.Fields(string(head)); len(status) < 2 || status[1] != "200" {
			return fmt.Errorf("answer to CONNECT: %s", head)
		}
	}
	if _, err := conn.Write(w.up.hello); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

func (w *way) connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + w.headers + "\r\n"
}

// refused asks for a host that is not allowed, over a connection of its own, and reads the answer.
func (w *way) refused() error {
	conn, err := net.Dial("tcp", w.proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, w.connect(denied)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	if resp.StatusCode != http.StatusForbidden {
		return fmt.Errorf("%s: a host that is not allowed: %s", w.name, resp.Status)
	}
	return nil
}
