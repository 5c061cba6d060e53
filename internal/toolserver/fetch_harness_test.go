// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

var update = flag.Bool("update", false, "write the golden files anew")

// standIn is the Internet of a test behind a proxy: every host that ends in .test, with one handler for all.
type standIn struct {
	t       *testing.T
	handler http.HandlerFunc
	proxy   string
	secure  *httptest.Server

	mu sync.Mutex
	// seen are the requests that came through, as method, host and path.
	seen []string
}

// newStandIn connects a sandbox with a stand-in as its way out.
func newStandIn(t *testing.T, handler http.HandlerFunc) (*sandbox, *standIn) {
	t.Helper()
	in := &standIn{t: t, handler: handler}
	in.secure = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { in.serve(w, r, "https") }))
	in.secure.Config.ErrorLog = log.New(io.Discard, "", 0) // Some cases are about handshakes that fail.
	in.secure.StartTLS()
	t.Cleanup(in.secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(in.proxied))
	t.Cleanup(proxy.Close)
	in.proxy = strings.TrimPrefix(proxy.URL, "http://")

	s := newSandbox(t)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: in.secure.Certificate().Raw}))
	if got := s.setEgress(toolapi.EgressRequest{Proxy: in.proxy, Token: testToken, CA: ca, TimeoutMs: 10_000}); !got.Ready {
		t.Fatalf("the way out: %+v", got)
	}
	return s, in
}

// proxied does what the egress proxy does, as far as a client sees it.
func (in *standIn) proxied(w http.ResponseWriter, r *http.Request) {
	user, token, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	host := r.URL.Hostname()
	if r.Method == http.MethodConnect {
		host, _, _ = net.SplitHostPort(r.RequestURI)
	}
	switch {
	case user != toolapi.EgressUser || token != testToken:
		deny(w, http.StatusProxyAuthRequired, "unknown_token", host)
	case r.RequestURI == toolapi.EgressCheckPath:
		w.WriteHeader(http.StatusNoContent)
	case host == "gone.test":
		deny(w, http.StatusBadGateway, "dns_failed", host)
	case host == "busy.test":
		deny(w, http.StatusTooManyRequests, "rate_limited", host)
	case !strings.HasSuffix(host, ".test") && host != "example.com": // The certificate of httptest is for the latter.
		deny(w, http.StatusForbidden, "domain_not_allowed", host)
	case r.Method == http.MethodConnect:
		in.tunnel(w)
	default:
		if r.Header.Get("Proxy-Connection") != "" {
			in.t.Error("Proxy-Connection was sent")
		}
		r.Header.Del("Proxy-Authorization")
		in.serve(w, r, "http")
	}
}

func deny(w http.ResponseWriter, status int, reason, host string) {
	w.Header().Set("Motor-Denied", reason)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"domain":%q,"message":"No. Call request_domain with this domain if the task needs it."}`+"\n", reason, host)
}

func (in *standIn) tunnel(w http.ResponseWriter) {
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		in.t.Error(err)
		return
	}
	defer client.Close()
	server, err := net.Dial("tcp", in.secure.Listener.Addr().String())
	if err != nil {
		in.t.Error(err)
		return
	}
	defer server.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (in *standIn) serve(w http.ResponseWriter, r *http.Request, scheme string) {
	in.mu.Lock()
	in.seen = append(in.seen, r.Method+" "+scheme+"://"+r.Host+r.URL.RequestURI())
	in.mu.Unlock()
	in.handler(w, r)
}

// requests returns the requests that came through since the last call.
func (in *standIn) requests() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	seen := in.seen
	in.seen = nil
	return seen
}
