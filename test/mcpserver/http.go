// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Token is what Proxy wants to be told.
const Token = "abcDEF-._~0123"

// Proxy is an egress proxy that knows one host: its CONNECT leads to the server, any other is refused.
func Proxy(t *testing.T, host string, to *httptest.Server) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, token, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		switch {
		case user != toolapi.EgressUser || token != Token:
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.RequestURI == toolapi.EgressCheckPath:
			w.WriteHeader(http.StatusNoContent)
		case r.Method != http.MethodConnect || r.RequestURI != host+":443":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 403 Domain %s is not allowed\r\nContent-Length: 0\r\n\r\n", r.URL.Hostname())
				conn.Close()
			}
		default:
			tunnel(r.Context(), t, w, to)
		}
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func tunnel(ctx context.Context, t *testing.T, w http.ResponseWriter, to *httptest.Server) {
	dialed, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.Listener.Addr().String())
	if err != nil {
		t.Errorf("the proxy cannot reach the server: %v", err)
		return
	}
	defer dialed.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Errorf("the proxy cannot take the connection over: %v", err)
		return
	}
	defer here.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(dialed, buffered); dialed.Close() })
	both.Go(func() { _, _ = io.Copy(here, dialed); here.Close() })
	both.Wait()
}

// Answer is how a hostile server at a URL answers a method.
type Answer func(w http.ResponseWriter, id json.RawMessage)

// HTTP is a server at a URL that begins a session and answers tools/call as it is told.
func HTTP(t *testing.T, call Answer) *httptest.Server {
	t.Helper()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		reply := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
		}
		switch req.Method {
		case "initialize":
			reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case "tools/list":
			reply(`{"tools":[{"name":"call","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			call(w, req.ID)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}
