// SPDX-License-Identifier: Apache-2.0

package terminate_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/egress/terminate"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/test/printed"
)

const (
	host  = "api.example.org"
	value = "s3cr3t/Value+of:the=run"
)

// world is a proxy with one run, and one host on the other side of it.
type world struct {
	t       testing.TB
	grants  *egress.Grants
	grant   *grant.Grant
	token   string
	ca      *authority
	proxy   string
	origin  *httptest.Server
	denials chan egress.Denial
	log     *printed.Text

	mu sync.Mutex
	// saw is every request as the host has it, decrypted. taps are all bytes that came to it.
	saw  []string
	taps bytes.Buffer
}

type fixedResolver struct{}

func (fixedResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

type reporter chan egress.Denial

func (r reporter) Denied(_ *grant.Grant, d egress.Denial) { r <- d }

// setting changes a world before it begins.
type setting func(*world, *tls.Config)

// credentials adds to the run one credential for each slot, all with their own handle and value.
func credentials(slots ...string) setting {
	return func(w *world, _ *tls.Config) {
		w.grant.Credentials = nil
		for i, slot := range slots {
			w.grant.Credentials = append(w.grant.Credentials, credential(w.grant.RunUID, fmt.Sprintf("c%d", i), slot, value+fmt.Sprint(i), host))
		}
	}
}

func credential(runUID, name, slot, value, hosts string) grant.Credential {
	return grant.Credential{
		Name: name, Handle: grant.Handle([]byte("key"), runUID, "pod", name), Hosts: []string{hosts}, Slot: slot,
		Value: secret.New([]byte(value)),
	}
}

// certificate returns the host another one.
func certificate(c tls.Certificate) setting {
	return func(_ *world, cfg *tls.Config) { cfg.Certificates = []tls.Certificate{c} }
}

func newWorld(t testing.TB, serve http.HandlerFunc, settings ...setting) *world {
	t.Helper()
	w := &world{t: t, ca: newAuthority(t), denials: make(chan egress.Denial, 100), log: &printed.Text{}}
	w.token = grant.Token([]byte("key"), "run-a", "pod", 1)
	w.grant = &grant.Grant{
		RunUID: "run-a", Namespace: "ns", Run: "a", PodName: "a-motor-sandbox", PodUID: "pod", Attempt: 1,
		PodIPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, TokenHash: grant.HashToken(w.token),
		Domains: []string{host, "sink.example.org"}, ExpiresAt: time.Now().Add(time.Hour),
		CA: &grant.CA{Cert: w.ca.cert, Key: secret.New(w.ca.key)},
	}
	w.grant.Credentials = []grant.Credential{credential("run-a", "token", "Bearer", value, host)}
	outside := newAuthority(t)
	serverTLS := &tls.Config{Certificates: []tls.Certificate{outside.leaf(t, host, "sink.example.org")}}
	for _, set := range settings {
		set(w, serverTLS)
	}
	w.origin = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, false)
		w.mu.Lock()
		w.saw = append(w.saw, string(dump))
		w.mu.Unlock()
		serve(rw, r)
	}))
	w.origin.TLS = serverTLS
	w.origin.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	w.origin.StartTLS()
	t.Cleanup(w.origin.Close)

	w.grants = egress.NewGrants(nil)
	if err := w.grants.Set(w.grant); err != nil {
		t.Fatal(err)
	}
	server, err := egress.New(egress.Config{
		Grants: w.grants, ForbiddenPrefixes: func() []netip.Prefix { return []netip.Prefix{} }, Resolver: fixedResolver{},
		Dial:       w.dial,
		Terminator: terminate.New(terminate.Config{RootCAs: outside.pool()}),
		Reporter:   reporter(w.denials), Logger: slog.New(slog.NewJSONHandler(w.log, nil)),
		Timeouts: egress.Timeouts{Grace: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the proxy ended with %v", err)
		}
		if text := w.log.String(); contains(text, w.values()) {
			t.Error("a value is in the log")
		}
	})
	return w
}

// dial connects with the host, whatever its address, and records the bytes that are sent there.
func (w *world) dial(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.origin.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: conn, w: w}, nil
}

type tapped struct {
	net.Conn
	w *world
}

func (c *tapped) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	c.w.taps.Write(p)
	c.w.mu.Unlock()
	return c.Conn.Write(p)
}

func (w *world) handle(i int) string { return w.grant.Credentials[i].Handle }

func (w *world) values() []string {
	var all []string
	for _, c := range w.grant.Credentials {
		all = append(all, string(c.Value.Reveal()))
	}
	return all
}

// requests are the requests that the host has seen.
func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.saw...)
}

// client is a client as a tool in the sandbox would use it.
func (w *world) client() *http.Client {
	transport := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword(grant.User, w.token), Host: w.proxy}),
		TLSClientConfig:    &tls.Config{RootCAs: w.ca.pool()},
		DisableCompression: true, ExpectContinueTimeout: 2 * time.Minute,
	}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
}

// do sends a request. It fails the test if any value is in the answer.
func (w *world) do(client *http.Client, method, path string, header http.Header, body io.Reader) answer {
	w.t.Helper()
	return w.doAt(client, host, method, path, header, body)
}

// doAt is do for another host, or another port of it.
func (w *world) doAt(client *http.Client, at, method, path string, header http.Header, body io.Reader) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "https://"+at+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("read the answer: %v", err)
	}
	w.mustHide(resp, string(content))
	return answer{resp, string(content)}
}

func (w *world) mustHide(resp *http.Response, body string) {
	w.t.Helper()
	if contains(fmt.Sprint(resp.Status, resp.Header, resp.Trailer)+body, w.values()) {
		w.t.Errorf("a value came back:\n%v %v\n%s", resp.Header, resp.Trailer, body)
	}
}

// contains looks for values in their usual spellings.
func contains(text string, values []string) bool {
	for _, v := range values {
		for _, spelling := range []string{
			v, url.QueryEscape(v), url.PathEscape(v), base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
			hex.EncodeToString([]byte(v)),
		} {
			if strings.Contains(text, spelling) {
				return true
			}
		}
	}
	return false
}

// denied returns the refusal that was reported to people. The report comes before the answer to the client, so it is there already.
func (w *world) denied() egress.Denial {
	w.t.Helper()
	select {
	case d := <-w.denials:
		return d
	default:
		w.t.Fatal("people were not told of the refusal")
		return egress.Denial{}
	}
}

// tunnel opens a connection through the proxy and speaks TLS over it, for requests that no client would send.
func (w *world) tunnel(cfg *tls.Config) (*tls.Conn, *bufio.Reader, error) {
	w.t.Helper()
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", w.proxy)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\nProxy-Authorization: Basic %s\r\n\r\n", host, host,
		base64.StdEncoding.EncodeToString([]byte(grant.User+":"+w.token)))
	line, err := readHead(conn)
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
		w.t.Fatalf("CONNECT gives %q, %v", line, err)
	}
	if cfg == nil {
		cfg = &tls.Config{RootCAs: w.ca.pool(), ServerName: host}
	}
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(w.t.Context()); err != nil {
		return nil, nil, err
	}
	return secure, bufio.NewReader(secure), nil
}

// readHead reads byte by byte, so that it consumes none of the following bytes.
func readHead(conn net.Conn) (string, error) {
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			return string(head), err
		}
		head = append(head, b[0])
	}
	return string(head), nil
}

// raw sends bytes and reads as many answers as are asked for.
func (w *world) raw(text string, answers int) []answer {
	w.t.Helper()
	conn, reader, err := w.tunnel(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	var all []answer
	for range answers {
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			w.t.Fatalf("read answer %d: %v", len(all), err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		resp.Body.Close()
		w.mustHide(resp, string(body))
		all = append(all, answer{resp, string(body)})
	}
	return all
}
