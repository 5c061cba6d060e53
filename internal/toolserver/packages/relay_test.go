// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// proxyTo is the address of a proxy in which all tunnels lead to one host, for clients with the token.
func proxyTo(t *testing.T, host, token string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, got, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); user != toolapi.EgressUser || got != token {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusNoContent) // It is the check of the way.
			return
		}
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", host)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// TestRelay has a client that knows no token reach a host through a proxy that wants one.
func TestRelay(t *testing.T) {
	t.Parallel()
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer host.Close()
	proxy := proxyTo(t, host.Listener.Addr().String(), "abc")
	for token, want := range map[string]string{"abc": "hello", "other": "Proxy Authentication Required"} {
		r, err := startRelay(t.Context(), "http://motor:"+token+"@"+proxy)
		if err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(r.address())
		if err != nil {
			t.Fatal(err)
		}
		transport := host.Client().Transport.(*http.Transport).Clone()
		transport.Proxy = http.ProxyURL(address)
		client := &http.Client{Transport: transport}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := answer(client, req)
		if !strings.Contains(got, want) || strings.Contains(got, token) {
			t.Errorf("with the token %s: %q, want %q", token, got, want)
		}
		transport.CloseIdleConnections()
		r.close() // Returns when no tunnel is left.
	}
}

// answer is the body, or the error.
func answer(client *http.Client, req *http.Request) string {
	res, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// TestRelayRefuses checks that the relay refuses other requests than tunnels, and that the end of its context ends a silent tunnel.
func TestRelayRefuses(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := startRelay(ctx, "http://motor:abc@"+silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n": "405", "nonsense\r\n\r\n": "405"} {
		if got := say(t, r, text); !strings.Contains(got, want) {
			t.Errorf("%q is answered %q, want %s", text, got, want)
		}
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if there, err := silent.Accept(); err != nil {
		t.Error(err)
	} else {
		defer there.Close()
	}
	cancel()
	r.close()
	if _, err := startRelay(t.Context(), "http://motor:abc@ x"); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a bad address gives %v", err)
	}
}

func say(t *testing.T, r *relay, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}
