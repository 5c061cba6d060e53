// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/fetch"
)

func TestFetchRefusals(t *testing.T) {
	s, in := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	for url, want := range map[string]struct {
		code      string
		retryable bool
		text      string
	}{
		"http://evil.example/":                             {toolapi.CodeEgressDenied, false, `"message":"No. Call request_domain`},
		"https://evil.example/":                            {toolapi.CodeEgressDenied, false, `"error":"domain_not_allowed","domain":"evil.example"`},
		"http://127.0.0.1:1/":                              {toolapi.CodeEgressDenied, false, "127.0.0.1"},
		"http://localhost/":                                {toolapi.CodeEgressDenied, false, "localhost"},
		"http://gone.test/":                                {toolapi.CodeNetwork, true, "dns_failed"},
		"https://gone.test/":                               {toolapi.CodeNetwork, true, "dns_failed"},
		"https://busy.test/":                               {toolapi.CodeEgressDenied, true, "rate_limited"},
		"http://a.test/?to=https://evil.example/x?y":       {toolapi.CodeEgressDenied, false, "to the request for https://evil.example/x?y.\n{"},
		"http://a.test/?to=file:///etc/passwd":             {"http_302", false, "was not followed: the address file:///etc/passwd of the redirect cannot be used"},
		"http://a.test/?to=http://u:p@a.test/":             {"http_302", false, "was not followed"},
		"http://a.test/?to=http://169.254.169.254/latest/": {toolapi.CodeEgressDenied, false, "169.254.169.254"},
	} {
		got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: url})
		if got.OK || got.ErrorCode != want.code || got.Retryable != want.retryable || !strings.Contains(got.Output, want.text) {
			t.Errorf("%s: %+v", url, got)
		}
		// The proxy's answer to a tunnel is its own. A server's answer, and the target of its redirect, may be anything.
		if own := strings.HasPrefix(url, "https://"); got.NotesOnly() != own || (got.Provenance == toolapi.ProvenanceInternal) != own {
			t.Errorf("%s: %+v", url, got)
		}
		if strings.Contains(got.Output, testToken) {
			t.Errorf("%s: the token is in %q", url, got.Output)
		}
	}
	in.requests()
	s.setEgress(toolapi.EgressRequest{})
	got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://" + in.proxy + "/"})
	if got.OK || got.ErrorCode != toolapi.CodeEgressDenied || got.Retryable || !strings.Contains(got.Output, "no way out") {
		t.Errorf("without a way out: %+v", got)
	}
	s.setEgress(toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 1})
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "https://a.test/", Method: "POST"})
	if got.OK || got.ErrorCode != toolapi.CodeNetwork || !got.Retryable || !strings.HasSuffix(got.Output, "connection refused.") || strings.Contains(got.Output, testToken) {
		t.Errorf("without a proxy: %+v", got)
	}
	if seen := in.requests(); len(seen) != 0 {
		t.Errorf("the host saw %q", seen)
	}
}

func TestFetchRedirects(t *testing.T) {
	var sent sync.Map
	s, in := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent.Store(r.Host+r.URL.Path, fmt.Sprintf("%q %s %s %s %s", body, r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.Header.Get("Accept"), r.Header.Get("Content-Type")))
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/to/%d", &status); err == nil {
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(status)
		}
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://b.test/back", http.StatusTemporaryRedirect)
		case "/back":
			http.Redirect(w, r, "http://a.test/end", http.StatusTemporaryRedirect)
		}
	})
	args := func(method, url string) toolapi.FetchArgs {
		a := toolapi.FetchArgs{URL: url, Method: method, Headers: map[string]string{"Authorization": "Bearer x", "X-Key": "k", "Accept": "text/plain"}}
		if method == "POST" || method == "PUT" {
			a.Body = "b"
		}
		return a
	}
	const kept, dropped = " Bearer x k text/plain ", "   text/plain "
	for name, c := range map[string]struct {
		method, url, at string
		want            string
	}{
		"301 of POST":        {"POST", "http://a.test/to/301?to=/end", "GET http://a.test/end", `""` + kept},
		"302 of POST":        {"POST", "http://a.test/to/302?to=/end", "GET http://a.test/end", `""` + kept},
		"302 of PUT":         {"PUT", "http://a.test/to/302?to=/end", "PUT http://a.test/to/302?to=/end", ""},
		"303 of PUT":         {"PUT", "http://a.test/to/303?to=/end", "GET http://a.test/end", `""` + kept},
		"303 of HEAD":        {"HEAD", "http://a.test/to/303?to=/end", "HEAD http://a.test/end", `""` + kept},
		"307 of POST":        {"POST", "http://a.test/to/307?to=/end", "POST http://a.test/to/307?to=/end", ""},
		"308 of POST":        {"POST", "http://a.test/to/308?to=end", "POST http://a.test/to/308?to=end", ""},
		"another host":       {"GET", "http://a.test/to/302?to=http://b.test/end", "GET http://b.test/end", `""` + dropped},
		"another port":       {"GET", "http://a.test/to/302?to=//a.test:8080/end", "GET http://a.test:8080/end", `""` + dropped},
		"a host below":       {"GET", "http://a.test/to/302?to=//x.a.test/end", "GET http://x.a.test/end", `""` + dropped},
		"there and back":     {"GET", "http://a.test/away", "GET http://a.test/end", `""` + dropped},
		"no redirect at all": {"GET", "http://a.test/to/304?to=/end", "GET http://a.test/to/304?to=/end", `""` + kept},
	} {
		sent.Clear()
		got := s.run(toolapi.ToolFetch, args(c.method, c.url))
		seen := in.requests()
		// A request that does more than read stays where it was sent, and the model is informed.
		stays := strings.Contains(c.at, "/to/30") && !strings.Contains(c.at, "/to/304")
		if got.OK == stays || seen[len(seen)-1] != c.at || stays != strings.Contains(got.Output, "was not followed") {
			t.Errorf("%s: %q %+v", name, seen, got)
			continue
		}
		at := strings.TrimPrefix(strings.Fields(c.at)[1], "http://")
		at, _, _ = strings.Cut(at, "?")
		if what, _ := sent.Load(at); c.want != "" && what != c.want {
			t.Errorf("%s: sent %q, want %q", name, what, c.want)
		}
	}
	got := s.run(toolapi.ToolFetch, args("GET", "http://a.test/away"))
	if !strings.HasPrefix(got.Output, "HTTP 200 OK\nURL: http://a.test/end (after 2 redirects)\n") {
		t.Errorf("the final address: %+v", got)
	}
	in.requests()
	got = s.run(toolapi.ToolFetch, args("GET", "http://a.test/loop"))
	if seen := in.requests(); got.OK || got.ErrorCode != "http_302" || len(seen) != 1+fetch.MaxRedirects || !strings.Contains(got.Output, "more than 10 times") {
		t.Errorf("a loop: %d requests, %+v", len(seen), got)
	}
	if got := s.run(toolapi.ToolFetch, args("GET", "http://a.test/nowhere")); !got.OK || !strings.HasPrefix(got.Output, "HTTP 302 Found\n") {
		t.Errorf("nowhere: %+v", got)
	}
}

func gzipped(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(content)
	_ = w.Close()
	return out.Bytes()
}

func TestFetchHostileBodies(t *testing.T) {
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	bomb := gzipped(make([]byte, 64<<20))
	s, _ := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		flush := w.(http.Flusher).Flush
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped([]byte("packed")))
		case "/deflate":
			w.Header().Set("Content-Encoding", "deflate")
			z := zlib.NewWriter(w)
			_, _ = z.Write([]byte("packed"))
			_ = z.Close()
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case "/doublebomb":
			w.Header().Set("Content-Encoding", "gzip, gzip")
			_, _ = w.Write(gzipped(bomb))
		case "/nogzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "not packed")
		case "/cutgzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb[:len(bomb)/4])
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write([]byte("\x0b\x02\x80\x03"))
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/claims":
			w.Header().Set("Content-Length", "99999999999")
			flush()
		case "/slow":
			_, _ = io.WriteString(w, "begun")
			flush()
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		case "/silent":
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		case "/breaks":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			flush()
			panic(http.ErrAbortHandler)
		case "/hugeheader":
			w.Header().Set("X-Huge", strings.Repeat("h", 200<<10))
		case "/manyheaders":
			for i := range 500 {
				w.Header().Add(fmt.Sprint("X-", i), "v")
			}
		case "/nul":
			_, _ = w.Write([]byte("text\x00\x01\x02"))
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n\x00\x00\xff"))
		case "/fakepng":
			w.Header().Set("Content-Type", "image/png; charset")
			_, _ = w.Write([]byte("\xff\xfe"))
		case "/deepjson":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Repeat("[", 9000)+strings.Repeat("1,", 1<<20)+"1"+strings.Repeat("]", 9000))
		}
	})
	for path, want := range map[string]struct{ code, text string }{
		"/gzip":        {"", "\n\npacked"},
		"/deflate":     {"", "\n\npacked"},
		"/bomb":        {toolapi.CodeTooLarge, "more than 16 MiB"},
		"/doublebomb":  {"", "in the Content-Encoding gzip, gzip\n[the body is no text"},
		"/nogzip":      {toolapi.CodeNetwork, "cannot be unpacked"},
		"/cutgzip":     {toolapi.CodeNetwork, "cannot be unpacked"},
		"/br":          {"", "application/octet-stream, 4 bytes"},
		"/endless":     {toolapi.CodeTooLarge, "more than 16 MiB"},
		"/claims":      {toolapi.CodeTooLarge, "more than 16 MiB"},
		"/slow":        {toolapi.CodeTimeout, "within 1 seconds"},
		"/silent":      {toolapi.CodeTimeout, "timeoutSeconds (at most 120)"},
		"/breaks":      {toolapi.CodeNetwork, "the connection broke"},
		"/hugeheader":  {toolapi.CodeNetwork, "gave no answer"},
		"/manyheaders": {"", "[the body is empty]"},
		"/nul":         {"", "[the body is no text: application/octet-stream, 7 bytes, sha256 "},
		"/png":         {"", "[the body is no text: image/png, 11 bytes, sha256 "},
		"/fakepng":     {"", "[the body is no text: text/plain, 2 bytes, sha256 "},
		"/deepjson":    {"", "[text cut: all of it is in"},
	} {
		args := toolapi.FetchArgs{URL: "http://a.test" + path}
		if path == "/slow" || path == "/silent" {
			args.TimeoutSeconds = 1
		}
		began := time.Now()
		got := s.run(toolapi.ToolFetch, args)
		if got.OK != (want.code == "") || got.ErrorCode != want.code || !strings.Contains(got.Output, want.text) || len(got.Output) > toolapi.MaxOutputBytes {
			t.Errorf("%s: %.600q %+v", path, got.Output, got.ErrorCode)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: after %v", path, took)
		}
	}
	got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/breaks", Method: "POST"})
	if got.ErrorCode != toolapi.CodeNetwork || got.Retryable {
		t.Errorf("a broken answer to what has effects: %+v", got)
	}
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/hugeheader", Method: "PUT"})
	if got.ErrorCode != toolapi.CodeNetwork || got.Retryable || !strings.HasSuffix(got.Output, "find out before you send it again.") {
		t.Errorf("no answer to what has effects: %+v", got)
	}
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/manyheaders", Method: "HEAD"})
	if !got.OK || len(got.Output) > fetch.MaxHeaderText+200 {
		t.Errorf("many headers: %d bytes", len(got.Output))
	}
}

func TestFetchKeepsSecrets(t *testing.T) {
	s, in := newStandIn(t, func(http.ResponseWriter, *http.Request) {})
	key := "AKIA" + "Q3EGTEXWN5ZK2PQR"
	s.write("notes.txt", "a\nb\n"+key+"\n")
	for name, c := range map[string]struct {
		args toolapi.FetchArgs
		want string
	}{
		"the body":    {toolapi.FetchArgs{URL: "http://a.test/", Method: "POST", Body: "x\n" + key}, "the body looks as if it had a secret in it (rule aws-access-token, line 2)"},
		"a file":      {toolapi.FetchArgs{URL: "http://a.test/", Method: "PUT", BodyFile: "notes.txt"}, "notes.txt looks as if it had a secret in it (rule aws-access-token, line 3)"},
		"a header":    {toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"X-Note": key}}, "the header X-Note looks"},
		"the query":   {toolapi.FetchArgs{URL: "http://a.test/?q=" + key}, "the query of the url looks"},
		"the escaped": {toolapi.FetchArgs{URL: "http://a.test/?q=%41" + key[1:]}, "the query of the url looks"},
	} {
		got := s.run(toolapi.ToolFetch, c.args)
		if got.OK || got.ErrorCode != toolapi.CodeSecretFound || !strings.Contains(got.Output, c.want) || strings.Contains(got.Output, key) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if seen := in.requests(); len(seen) != 0 {
		t.Errorf("the host saw %q", seen)
	}
	for name, args := range map[string]toolapi.FetchArgs{
		"a page token": {URL: "http://a.test/?page_token=CAUSDAi9kP3uBhCAw4nBAxoUMTIzNDU2Nzg5MDEyMzQ1"},
		"a handle":     {URL: "http://a.test/", Method: "POST", Body: `{"api_key": "mch-abcdefghijklmnopqrstuvwxyz234567"}`},
		"its own key":  {URL: "http://a.test/", Method: "POST", Body: "b", Headers: map[string]string{"Idempotency-Key": "7f9c2ba4-e88f-4d2a-b5f1-0d3c6a9e8b17"}},
	} {
		if got := s.run(toolapi.ToolFetch, args); !got.OK {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
