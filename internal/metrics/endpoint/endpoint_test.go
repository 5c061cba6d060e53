// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	certutil "k8s.io/client-go/util/cert"
)

// serve serves metrics on the loopback, and returns their address.
func serve(t *testing.T, o Options, change func(*Bounds)) string {
	t.Helper()
	o.Address, o.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	b := Default
	if change != nil {
		change(&b)
	}
	server, _, err := New(t.Context(), o, b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return server.Listener.Addr().String()
}

// client returns one that trusts any certificate.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // The server makes its certificate itself.
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, url string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

func TestMetricsAndOtherPathsAreBehindTheFilter(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "shown"}))
	at := serve(t, Options{
		Secure: true, Gatherer: registry,
		Others: map[string]http.Handler{"/more": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "more") })},
		Filter: withToken,
	}, nil)
	for path, want := range map[string]string{"/metrics": "shown 0", "/more": "more"} {
		if status, body := get(t, "https://"+at+path, nil); status != http.StatusUnauthorized || strings.Contains(body, want) {
			t.Errorf("%s without a token: %d %s", path, status, body)
		}
		status, body := get(t, "https://"+at+path, func(r *http.Request) { r.Header.Set("Authorization", "Bearer t") })
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, _, err := New(t.Context(), Options{Others: map[string]http.Handler{Path: http.NotFoundHandler()}, Gatherer: registry, Logger: slog.New(slog.DiscardHandler)}, Default); err == nil {
		t.Error("another handler has the path of the metrics")
	}
}

// A client that is slow, in the handshake, in the headers or between two requests, is let go.
func TestSlowClientsAreLetGo(t *testing.T) {
	t.Parallel()
	short := func(b *Bounds) { b.Header, b.Idle, b.Read = 50*time.Millisecond, 50*time.Millisecond, time.Hour }
	for name, tt := range map[string]struct {
		secure bool
		sends  string
	}{
		"no handshake": {true, ""}, "no request": {false, ""}, "half a request": {false, "GET /metrics HTTP/1.1\r\nHost: a\r\n"},
		"no second request": {false, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialFrom(t, "127.0.0.1", serve(t, Options{Secure: tt.secure}, short))
			if _, err := io.WriteString(c, tt.sends); err != nil {
				t.Fatal(err)
			}
			if !closedByServer(t, c) {
				t.Error("the connection is open after a minute")
			}
		})
	}
}

// Strangers who hold all places keep no reader out, from however many addresses they come, and a reader keeps its connection.
func TestManyConnectionsKeepNoReaderOut(t *testing.T) {
	t.Parallel()
	const places = 8
	at := serve(t, Options{Filter: withToken}, func(b *Bounds) { b.Connections = places })
	reader := dialFrom(t, "127.0.0.1", at)
	reads := func(when string) {
		t.Helper()
		if err := reader.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(reader, "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n"); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(reader), nil)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", when, answer.StatusCode, err)
		}
		_ = answer.Body.Close()
	}
	reads("before the strangers")
	for n := range 4 * places {
		// Each of them has or had a place once the server has answered.
		c := dialFrom(t, fmt.Sprintf("127.0.1.%d", 1+n), at)
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
	}
	reads("after the strangers")
	if status, _ := get(t, "http://"+at+Path, func(r *http.Request) { r.Header.Set("Authorization", "Bearer t") }); status != http.StatusOK {
		t.Errorf("another reader gets %d", status)
	}
}

// withToken lets requests with a token through.
func withToken(_ logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// dialFrom connects from an address of the loopback.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closedByServer waits until the server has closed a connection, and reports whether it has.
func closedByServer(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	at := serve(t, Options{}, nil)
	status, _ := get(t, "http://"+at+Path, func(r *http.Request) { r.Header.Set("X-Large", strings.Repeat("x", 64<<10)) })
	if status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("64 KiB of headers: %d", status)
	}
}

// The files of the folder are used if they are there. One that cannot be read is an error, not a reason for another certificate.
func TestTheCertificateIsThatOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("metrics.example", []net.IP{net.IPv4(127, 0, 0, 1)}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := serve(t, Options{Secure: true, CertDir: dir}, nil)
	c, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", at) //nolint:gosec // The names are looked at below.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if state := c.(*tls.Conn).ConnectionState(); state.PeerCertificates[0].VerifyHostname("metrics.example") != nil || state.NegotiatedProtocol == "h2" {
		t.Errorf("the certificate is for %v, the protocol %q", state.PeerCertificates[0].DNSNames, state.NegotiatedProtocol)
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.key"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(t.Context(), Options{Address: "127.0.0.1:0", Secure: true, CertDir: dir, Gatherer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)}, Default); err == nil {
		t.Error("a key that is none is no error")
	}
}
