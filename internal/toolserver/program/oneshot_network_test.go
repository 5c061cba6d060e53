// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// tunnelProxy is a proxy behind which every host answers with that JSON.
func tunnelProxy(t *testing.T, answer string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.RequestURI == toolapi.EgressCheckPath {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") == "" {
			http.Error(w, "no tunnel", http.StatusBadRequest)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		if _, err := http.ReadRequest(bufio.NewReader(buffered)); err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		}
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// Code with domains reaches them by fetch, as it is written for other systems, whichever Node.js the image has. Code without does not know
// of the way out.
func TestOneshotFetches(t *testing.T) {
	s := newSandbox(t)
	const source = "const res = await fetch('http://api.coingecko.test/simple/price');\nconst data = await res.json();\nreturn data.bitcoin.usd;"
	s.setEgress(toolapi.EgressRequest{Proxy: tunnelProxy(t, `{"bitcoin":{"usd":97500}}`), Token: testToken, TimeoutMs: 10_000})
	args := toolapi.OneshotArgs{Language: toolapi.LanguageJavaScript, Source: source, TimeoutMs: 30_000}
	if r := s.run(toolapi.ToolOneshotNetwork, args); !r.OK || !strings.HasPrefix(r.Output, `{"ok":true,"value":97500,`) || strings.Contains(r.Output, "console") {
		t.Errorf("with a network: %+v", r)
	}
	args.TimeoutMs = 5000
	if r := s.run(toolapi.ToolOneshot, args); r.OK {
		t.Errorf("without one: %+v", r)
	}
}
