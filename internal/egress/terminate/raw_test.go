// SPDX-License-Identifier: Apache-2.0

package terminate_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Requests that no ordinary client sends. HANDLE stands for the handle.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	const lines = "Host: " + host + "\r\nAuthorization: Bearer HANDLE\r\n"
	tests := map[string]struct {
		text   string
		status int
		reason string
	}{
		"another Host":        {"GET / HTTP/1.1\r\nHost: sink.example.org\r\nAuthorization: Bearer HANDLE\r\n\r\n", 421, "host_mismatch"},
		"another port":        {"GET / HTTP/1.1\r\nHost: " + host + ":8443\r\n\r\n", 421, "host_mismatch"},
		"a dot at the end":    {"GET / HTTP/1.1\r\nHost: " + host + ".\r\n\r\n", 421, "host_mismatch"},
		"no Host":             {"GET / HTTP/1.0\r\n\r\n", 421, "host_mismatch"},
		"two Hosts":           {"GET / HTTP/1.1\r\nHost: " + host + "\r\nHost: sink.example.org\r\n\r\n", 400, ""},
		"absolute form":       {"GET https://sink.example.org/ HTTP/1.1\r\n" + lines + "\r\n", 400, "bad_request"},
		"absolute form, same": {"GET https://" + host + "/ HTTP/1.1\r\n" + lines + "\r\n", 400, "bad_request"},
		"asterisk":            {"OPTIONS * HTTP/1.1\r\n" + lines + "\r\n", 400, "bad_request"},
		"CONNECT":             {"CONNECT sink.example.org:443 HTTP/1.1\r\nHost: sink.example.org:443\r\n\r\n", 405, "method_not_allowed"},
		"TRACE":               {"TRACE / HTTP/1.1\r\n" + lines + "\r\n", 405, "method_not_allowed"},
		"Upgrade":             {"GET / HTTP/1.1\r\n" + lines + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 403, "upgrade_not_allowed"},
		"upgrade by token":    {"GET / HTTP/1.1\r\n" + lines + "Connection: keep-alive, UPGRADE\r\n\r\n", 403, "upgrade_not_allowed"},
		"two lengths":         {"POST / HTTP/1.1\r\n" + lines + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", 400, ""},
		"odd coding":          {"POST / HTTP/1.1\r\n" + lines + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501, ""},
		"folded header":       {"GET / HTTP/1.1\r\n" + lines + "X Y: 1\r\n\r\n", 400, ""},
		"large head":          {"GET / HTTP/1.1\r\n" + lines + "X: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, ""},
		"HTTP/2":              {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad_request"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, echo)
			got := w.raw(strings.ReplaceAll(tt.text, "HANDLE", w.handle(0)), 1)[0]
			if got.StatusCode != tt.status || !strings.Contains(got.body, tt.reason) {
				t.Errorf("got %d %s, want %d %s", got.StatusCode, got.body, tt.status, tt.reason)
			}
			if saw := w.requests(); len(saw) != 0 {
				t.Errorf("the host saw %q", saw)
			}
		})
	}
}

// Requests that come at once are answered one after the other, each by itself.
func TestPipelining(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "POST /%d HTTP/1.1\r\nHost: %s:443\r\nAuthorization: Bearer %s\r\nContent-Length: 4\r\n\r\nbody", i, host, w.handle(0))
	}
	for i, got := range w.raw(text.String(), 5) {
		if !strings.HasPrefix(got.body, fmt.Sprintf("POST /%d ", i)) || !strings.HasSuffix(got.body, "body") {
			t.Errorf("answer %d is %q", i, got.body)
		}
	}
	for i, saw := range w.requests() {
		if !strings.HasPrefix(saw, fmt.Sprintf("POST /%d HTTP/1.1\r\nHost: %s\r\n", i, host)) {
			t.Errorf("request %d is %q", i, saw)
		}
	}
}

// The host sees the requests that the proxy saw, and no other, whatever framing the client claims.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	inner := "GET /smuggled HTTP/1.1\r\nHost: sink.example.org\r\n\r\n"
	body := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner)
	got := w.raw(fmt.Sprintf("POST /outer HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n%s", host, body), 1)[0]
	saw := w.requests()
	if got.StatusCode != http.StatusOK || !strings.HasSuffix(got.body, inner) || len(saw) != 1 || strings.Contains(saw[0], "Content-Length") {
		t.Errorf("got %d %q; the host saw %q", got.StatusCode, got.body, saw)
	}
}

// A client cannot have the value's header taken out again, nor keep its own by calling it the connection's.
func TestConnectionHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	w.raw(fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: Basic eA==\r\nRange: bytes=0-3\r\nAccept-Encoding: gzip, br\r\n\r\n", host, w.handle(0)), 1)
	saw := w.requests()
	if len(saw) != 1 || !strings.Contains(saw[0], "Accept-Encoding: identity\r\n") || !strings.Contains(saw[0], "Bearer "+value) {
		t.Fatalf("the host saw %q", saw)
	}
	for _, gone := range []string{"X-Hop", "Keep-Alive", "Te:", "Proxy-", "Range", "gzip"} {
		if strings.Contains(saw[0], gone) {
			t.Errorf("the host saw %s: %q", gone, saw[0])
		}
	}
}

// A client that waits for 100 Continue gets it when the host sends it, and not at all if the host refuses.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	header := http.Header{"Expect": {"100-continue"}}
	if got := w.do(w.client(), http.MethodPut, "/taken", header, strings.NewReader("the body")); got.body != "the body" {
		t.Errorf("got %d %q", got.StatusCode, got.body)
	}
	sent := false
	got := w.do(w.client(), http.MethodPut, "/refused", header, io.MultiReader(readerFunc(func([]byte) (int, error) {
		sent = true
		return 0, io.EOF
	}), strings.NewReader("the body")))
	if got.StatusCode != http.StatusRequestEntityTooLarge || sent {
		t.Errorf("got %d; the body was sent: %t", got.StatusCode, sent)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
