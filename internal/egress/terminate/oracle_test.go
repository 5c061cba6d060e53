// SPDX-License-Identifier: Apache-2.0

package terminate_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/test/printed"
)

// skipHead reads over the head of an answer.
func skipHead(t *testing.T, reader *bufio.Reader) {
	t.Helper()
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// piece reads a chunk of an answer and returns its size, which is 0 at the end and where the answer breaks off.
func piece(t *testing.T, reader *bufio.Reader) int {
	t.Helper()
	line, err := reader.ReadString('\n')
	if err != nil {
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(line, "%x", &n); err != nil {
		t.Fatalf("%q is no size: %v", line, err)
	}
	if _, err := io.CopyN(io.Discard, reader, int64(n)+2); err != nil {
		return 0
	}
	return n
}

// pieces returns the sizes of the chunks of an answer, as the client gets them.
func pieces(t *testing.T, reader *bufio.Reader) []int {
	t.Helper()
	skipHead(t, reader)
	var sizes []int
	for {
		n := piece(t, reader)
		if n == 0 {
			return sizes
		}
		sizes = append(sizes, n)
	}
}

// guesses are as long as each other; the first is the beginning of the value.
var guesses = []string{value[:12], value[:11] + "~", "~" + value[1:12], strings.Repeat("~", 12)}

// The answer comes in the same pieces for every guess, however much of it is right.
func TestPiecesTellNothing(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]http.HandlerFunc{
		"a file": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "512")
			_, _ = io.WriteString(rw, strings.Repeat(".", 500)+r.URL.Query().Get("q"))
		},
		"broken off": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(rw, strings.Repeat(".", 2000)+r.URL.Query().Get("q"))
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		},
		"broken off at once": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(rw, r.URL.Query().Get("q"))
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, serve)
			var first []int
			for i, guess := range guesses {
				conn, reader, err := w.tunnel(nil)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(conn, "GET /?q=%s HTTP/1.1\r\nHost: %s\r\n\r\n", guess, host)
				sizes := pieces(t, reader)
				if i == 0 {
					first = sizes
				} else if !slices.Equal(sizes, first) {
					t.Errorf("guess %d comes in pieces of %v, and not %v", i, sizes, first)
				}
			}
		})
	}
}

// While the host waits, the received bytes do not depend on the guess either.
func TestPausesTellNothing(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, strings.Repeat(".", 1500)+r.URL.Query().Get("q"))
		_ = http.NewResponseController(rw).Flush()
		select {
		case <-next:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(rw, "!")
	})
	first := 0
	for i, guess := range guesses {
		conn, reader, err := w.tunnel(nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /?q=%s HTTP/1.1\r\nHost: %s\r\n\r\n", guess, host)
		skipHead(t, reader)
		n := piece(t, reader)
		next <- struct{}{}
		if i == 0 {
			first = n
		}
		if n == 0 || n != first {
			t.Errorf("of guess %d come %d bytes, and not %d", i, n, first)
		}
	}
}

// Bytes that a host sends beyond its answer are in no log, not even in the process's own, and in no answer.
func TestMoreThanAnAnswer(t *testing.T) {
	var out printed.Text
	log.SetOutput(&out)
	defer log.SetOutput(io.Discard)
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		conn, buf, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		head := map[string]string{
			"/204": "HTTP/1.1 204 No Content\r\n\r\n", "/304": "HTTP/1.1 304 Not Modified\r\n\r\n",
			"/200": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		}[r.URL.Path]
		if head == "" {
			head = "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n"
		}
		fmt.Fprintf(buf, "%syou sent %s", head, r.Header.Get("Authorization"))
		_ = buf.Flush()
		_, _ = io.Copy(io.Discard, conn) // until the proxy ends it
	})
	header := http.Header{"Authorization": {"Bearer " + w.handle(0)}}
	client := w.client()
	for _, tt := range []struct{ method, path string }{{"HEAD", "/"}, {"GET", "/204"}, {"GET", "/304"}, {"GET", "/200"}} {
		if got := w.do(client, tt.method, tt.path, header, nil); strings.Contains(got.body, "you sent") {
			t.Errorf("%s %s gives %q", tt.method, tt.path, got.body)
		}
	}
	if n := len(w.requests()); n != 4 {
		t.Errorf("the host saw %d requests", n)
	}
	if out.String() != "" {
		t.Errorf("the process's log has %d bytes", len(out.String()))
	}
}

// A text whose letters are two bytes each is not looked into, and so not passed on.
func TestWideAlphabets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_ = binary.Write(rw, binary.LittleEndian, utf16.Encode([]rune(value)))
	})
	client := w.client()
	for kind, status := range map[string]int{
		"text/plain; charset=UTF-16LE": 502, "text/html;charset=\"utf-32\"": 502, "text/plain; x=y; charset = utf_7": 502,
		"text/plain; charset=ISO-10646-UCS-2": 502, "text/plain; charset=utf-8": 200, "text/utf-16": 200,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = "type=" + strings.NewReplacer(" ", "%20", ";", "%3B", "\"", "%22").Replace(kind)
		r.Header.Set("Accept-Charset", "utf-16")
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != status || status == 502 && got.Header.Get("Motor-Denied") != "encoding_refused" {
			t.Errorf("%s gives %d", kind, got.StatusCode)
		}
	}
	if saw := strings.Join(w.requests(), ""); strings.Contains(saw, "Accept-Charset") {
		t.Error("the host was asked for an alphabet")
	}
}

// Blanks around a value do not reach the host in a header, so it shows the value without them.
func TestBlanksAroundAValue(t *testing.T) {
	t.Parallel()
	const key = "sk_live_0123456789abcdef"
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, r.Header.Get("Authorization"))
	}, func(w *world, _ *tls.Config) {
		w.grant.Credentials = []grant.Credential{
			credential("run-a", "token", "Bearer", key+" ", host), credential("run-a", "short", "Header X-Key", "1234567 ", host),
		}
	})
	if got := w.do(w.client(), http.MethodGet, "/", http.Header{"Authorization": {"Bearer " + w.handle(0)}}, nil); got.body != "Bearer <credential:token>" {
		t.Errorf("got %q", got.body)
	}
	if got := w.do(w.client(), http.MethodGet, "/", http.Header{"X-Key": {w.handle(1)}}, nil); got.StatusCode != http.StatusForbidden {
		t.Errorf("a value that is too short without its blank gives %d", got.StatusCode)
	}
}

// The user of a pair is often the key, with an empty password.
func TestUserOfAPair(t *testing.T) {
	t.Parallel()
	const key = "sk_live_0123456789abcdef"
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		fmt.Fprintf(rw, `{"user":%q}`, user)
	}, func(w *world, _ *tls.Config) {
		w.grant.Credentials[0] = credential("run-a", "token", "Basic", key+":", host)
	})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.SetBasicAuth(w.handle(0), "")
	if got := w.do(w.client(), http.MethodGet, "/", r.Header, nil); got.body != `{"user":"<credential:token>"}` {
		t.Errorf("got %q", got.body)
	}
}

// The connections of a run share the redactor of its values, which for large ones is large.
func TestMemoryOfConnections(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 30_000)
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "ok") }, func(w *world, _ *tls.Config) {
		w.grant.Credentials[0] = credential("run-a", "token", "Bearer", big, host)
	})
	ask := func() {
		conn, reader, err := w.tunnel(nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // a size
	}
	ask()
	one := used()
	for range 10 {
		ask()
	}
	if more := used() - one; more > 4<<20 {
		t.Errorf("10 more connections take %d KiB", more>>10)
	}
}
