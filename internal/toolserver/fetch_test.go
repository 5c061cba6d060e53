// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/fetch"
)

func TestFetchText(t *testing.T) {
	pages := map[string]struct{ mediaType, body string }{
		"/text":    {"text/plain; charset=utf-8", "one\r\ntwo\t\x1b[31mred\a\n"},
		"/json":    {"application/problem+json", `{"b":1e400,"a":[1,2,{}],"c":"<&>é"}`},
		"/badjson": {"application/json", `{"b":`},
		"/latin":   {"text/plain; charset=ISO-8859-1", "caf\xe9"},
		"/guessed": {"text/plain", "caf\xe9"},
		"/wrong":   {"text/plain; charset=utf-8", "caf\xe9 \xff\xfe"},
		"/unknown": {"text/plain; charset=klingon", "café"},
		"/utf16":   {"text/plain", "\xff\xfeh\x00i\x00"},
		"/sjis":    {"text/csv; charset=Shift_JIS", "\x93\xfa\x96{"},
		"/octets":  {"application/octet-stream", "plain after all\n"},
	}
	s, in := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/text":
			w.Header().Set("Etag", `"1"`)
			w.Header().Set("X-Other", "not shown")
		case "/empty":
			w.Header()["Content-Type"] = nil
			return
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such thing\n")
			return
		case "/later":
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		page := pages[r.URL.Path]
		w.Header().Set("Content-Type", page.mediaType)
		_, _ = io.WriteString(w, page.body)
	})
	for path, want := range map[string]toolapi.Result{
		"/text":    {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/text\nContent-Type: text/plain; charset=utf-8\nEtag: \"1\"\n\none\r\ntwo\t�[31mred�\n"},
		"/json":    {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/json\nContent-Type: application/problem+json\n\n{\n  \"b\": 1e400,\n  \"a\": [\n    1,\n    2,\n    {}\n  ],\n  \"c\": \"<&>é\"\n}"},
		"/badjson": {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/badjson\nContent-Type: application/json\n\n{\"b\":"},
		"/latin":   {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/latin\nContent-Type: text/plain; charset=ISO-8859-1\n\ncafé"},
		"/guessed": {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/guessed\nContent-Type: text/plain\n\ncafé"},
		"/wrong":   {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/wrong\nContent-Type: text/plain; charset=utf-8\n\ncaf� ��"},
		"/unknown": {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/unknown\nContent-Type: text/plain; charset=klingon\n\ncafé"},
		"/utf16":   {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/utf16\nContent-Type: text/plain\n\nhi"},
		"/sjis":    {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/sjis\nContent-Type: text/csv; charset=Shift_JIS\n\n日本"},
		"/octets":  {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/octets\nContent-Type: application/octet-stream\n\nplain after all\n"},
		"/empty":   {OK: true, Output: "HTTP 200 OK\nURL: http://a.test/empty\n\n[the body is empty]\n"},
		"/missing": {ErrorCode: "http_404", Output: "HTTP 404 Not Found\nURL: http://a.test/missing\nContent-Type: text/plain; charset=utf-8\n\nno such thing\n"},
		"/later":   {ErrorCode: "http_503", Retryable: true, Output: "HTTP 503 Service Unavailable\nURL: http://a.test/later\nRetry-After: 5\n\n[the body is empty]\n"},
	} {
		got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test" + path})
		want.Provenance, got.DurationMs, got.KeptFile, got.NoteBytes = toolapi.ProvenanceWeb, 0, "", 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	in.requests()
}

func TestFetchRequests(t *testing.T) {
	s, in := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		fmt.Fprintf(w, "%s %q\n", r.Method, body)
		for _, name := range []string{"Accept", "Authorization", "Content-Type", "Idempotency-Key", "User-Agent", "X-Api-Key", "Proxy-Authorization"} {
			if value := r.Header.Get(name); value != "" {
				fmt.Fprintf(w, "%s: %s\n", name, value)
			}
		}
	})
	s.write("data/b.json", `{"a":1}`)
	const common = "Accept: */*\n"
	for name, c := range map[string]struct {
		args      toolapi.FetchArgs
		key, want string
	}{
		"GET":       {args: toolapi.FetchArgs{URL: "http://a.test/x?y=1#z"}, want: "GET \"\"\n" + common + "User-Agent: motorcortex-fetch\n"},
		"JSON":      {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "POST", Body: `{"b":2}`}, want: "POST \"{\\\"b\\\":2}\"\n" + common + "Content-Type: application/json\nUser-Agent: motorcortex-fetch\n"},
		"text":      {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "PUT", Body: "b"}, want: "PUT \"b\"\n" + common + "Content-Type: text/plain; charset=utf-8\nUser-Agent: motorcortex-fetch\n"},
		"file":      {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "PATCH", BodyFile: "data/b.json"}, want: "PATCH \"{\\\"a\\\":1}\"\n" + common + "Content-Type: application/json\nUser-Agent: motorcortex-fetch\n"},
		"headers":   {args: toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"x-api-key": "k", "accept": "text/csv", "Authorization": "Bearer mch-abcdefghijklmnopqrstuvwxyz234567", "user-agent": "me"}}, want: "GET \"\"\nAccept: text/csv\nAuthorization: Bearer mch-abcdefghijklmnopqrstuvwxyz234567\nUser-Agent: me\nX-Api-Key: k\n"},
		"key":       {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "DELETE"}, key: "user:7", want: "DELETE \"\"\n" + common + "Idempotency-Key: user:7\nUser-Agent: motorcortex-fetch\n"},
		"its own":   {args: toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"Idempotency-Key": "mine"}}, want: "GET \"\"\n" + common + "Idempotency-Key: mine\nUser-Agent: motorcortex-fetch\n"},
		"over both": {args: toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"Idempotency-Key": "mine"}}, key: "call:8", want: "GET \"\"\n" + common + "Idempotency-Key: call:8\nUser-Agent: motorcortex-fetch\n"},
	} {
		call := newCallOf(t, "", toolapi.ToolFetch, c.args)
		call.IdempotencyKey = c.key
		got := s.runCall(call)
		_, body, _ := strings.Cut(got.Output, "\n\n")
		if !got.OK || body != c.want {
			t.Errorf("%s: %+v\nwant %q", name, got, c.want)
		}
	}
	head := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/", Method: "HEAD"})
	if !head.OK || !strings.HasPrefix(head.Output, "HTTP 200 OK\nURL: http://a.test/\n") || !strings.Contains(head.Output, "\nX-Method: HEAD\n") {
		t.Errorf("HEAD: %+v", head)
	}
	if got := in.requests(); len(got) != 9 {
		t.Errorf("the host saw %q", got)
	}
}

func TestFetchByTLS(t *testing.T) {
	s, in := newStandIn(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "safe") })
	got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "https://example.com/a"})
	if !got.OK || !strings.HasSuffix(got.Output, "\n\nsafe") || got.Provenance != toolapi.ProvenanceWeb {
		t.Errorf("%+v", got)
	}
	if seen := in.requests(); len(seen) != 1 || seen[0] != "GET https://example.com/a" {
		t.Errorf("the host saw %q", seen)
	}
	// A name that the certificate does not have.
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "https://other.test/"})
	if got.OK || got.ErrorCode != toolapi.CodeNetwork || got.Retryable || !strings.Contains(got.Output, "certificate") {
		t.Errorf("a wrong name: %+v", got)
	}
	// A certificate of an unknown authority.
	s.setEgress(toolapi.EgressRequest{Proxy: in.proxy, Token: testToken, TimeoutMs: 10_000})
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "https://example.com/b"})
	if got.OK || got.ErrorCode != toolapi.CodeNetwork || got.Retryable {
		t.Errorf("an unknown certificate: %+v", got)
	}
	if seen := in.requests(); len(seen) != 0 {
		t.Errorf("the host saw %q", seen)
	}
}

func TestFetchToFiles(t *testing.T) {
	var long strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&long, "line %d \x1b\n", i)
	}
	s, _ := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, long.String())
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\x00"))
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>a</p>")
		case "/error":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "short and stout")
		}
	})
	got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/long"})
	clean := strings.ReplaceAll(long.String(), "\x1b", "\uFFFD")
	if !got.OK || len(got.Output) > toolapi.MaxOutputBytes || len(got.Output) < toolapi.MaxOutputBytes-100 || !strings.Contains(got.Output, "\nline 9999 \uFFFD\n[text cut") ||
		!strings.Contains(got.Output, "\n\nline 0 \uFFFD\n") || !strings.Contains(got.Output, "[text cut: all of it is in the workspace file \""+got.OutputFile+"\", text/plain,") || s.content(got.OutputFile) != clean {
		t.Errorf("a long text: %q %.300q", got.OutputFile, got.Output)
	}
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/png"})
	if !got.OK || !strings.HasSuffix(got.OutputFile, ".png") || s.content(got.OutputFile) != "\x89PNG\x00" {
		t.Errorf("a picture: %+v", got)
	}
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/html", SaveTo: "pages/a.html"})
	if !got.OK || s.content("pages/a.html") != "<p>a</p>" || !strings.Contains(got.Output, "[saved to pages/a.html: text/html, 8 bytes, sha256 ") {
		t.Errorf("a page saved: %+v", got)
	}
	got = s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/error", SaveTo: "pages/b"})
	if got.OK || got.ErrorCode != "http_418" || s.content("pages/b") != "" || !strings.Contains(got.Output, "short and stout\n[nothing was saved to pages/b]\n") {
		t.Errorf("an error: %+v", got)
	}
	for path, code := range map[string]string{
		"../x": toolapi.CodeOutsideWorkspace, "pages": toolapi.CodeIsDirectory, "pages/a.html/b": toolapi.CodeNotDirectory, "/etc/x": toolapi.CodeOutsideWorkspace,
	} {
		got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/html", SaveTo: path})
		if got.OK || got.ErrorCode != code || !strings.HasPrefix(got.Output, "HTTP 200 OK\n") || !strings.HasSuffix(got.Output, "The request itself was made and answered.") {
			t.Errorf("saved to %s: %+v", path, got)
		}
	}
}

// A header that stands for another method would have the host do what was not judged, or was not asked about. Some hosts read _ as -.
func TestFetchTakesNoHeaderOfItsOwn(t *testing.T) {
	s, in := newStandIn(t, func(http.ResponseWriter, *http.Request) {})
	for _, name := range []string{
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Host", "Http2-Settings", "Forwarded", "Via",
		"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "Proxy-Authorization", "Proxy-Connection",
	} {
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ToLower(name), strings.ReplaceAll(name, "-", "_"), strings.ToLower(strings.ReplaceAll(name, "-", "_"))} {
			args := toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{spelled: "DELETE"}}
			got := s.run(toolapi.ToolFetch, args)
			if got.OK || got.ErrorCode != toolapi.CodeInvalidArguments || !strings.Contains(got.Output, "cannot be given: it is set by itself") {
				t.Errorf("%s: %+v", spelled, got)
			}
		}
	}
	if r := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"X-HTTP-Method-Overrides": "x", "X_Method": "y"}}); !r.OK {
		t.Errorf("other headers: %+v", r)
	}
	if seen := in.requests(); len(seen) != 1 {
		t.Errorf("the host saw %q", seen)
	}
}

func TestFetchArguments(t *testing.T) {
	s, in := newStandIn(t, func(http.ResponseWriter, *http.Request) {})
	s.write("big", strings.Repeat("x", fetch.MaxBodyFileBytes+1))
	s.write("a/b", "")
	if err := os.Symlink("/etc/passwd", filepath.Join(s.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	many := map[string]string{}
	for i := range fetch.MaxFetchHeaders + 1 {
		many[fmt.Sprint("X-", i)] = "v"
	}
	with := func(name, value string) toolapi.FetchArgs {
		return toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{name: value}}
	}
	for name, c := range map[string]struct {
		args toolapi.FetchArgs
		code string
	}{
		"no address":        {args: toolapi.FetchArgs{}},
		"no scheme":         {args: toolapi.FetchArgs{URL: "a.test/x"}},
		"a file":            {args: toolapi.FetchArgs{URL: "file:///etc/passwd"}},
		"ftp":               {args: toolapi.FetchArgs{URL: "ftp://a.test/"}},
		"no host":           {args: toolapi.FetchArgs{URL: "https:///x"}},
		"opaque":            {args: toolapi.FetchArgs{URL: "https:a.test"}},
		"a user":            {args: toolapi.FetchArgs{URL: "https://u:p@a.test/"}},
		"a port":            {args: toolapi.FetchArgs{URL: "https://a.test:99999/"}},
		"a line break":      {args: toolapi.FetchArgs{URL: "https://a.test/\r\nX: y"}},
		"too long":          {args: toolapi.FetchArgs{URL: "https://a.test/" + strings.Repeat("x", fetch.MaxURLBytes)}},
		"a method":          {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "CONNECT"}},
		"a method in lower": {args: toolapi.FetchArgs{URL: "http://a.test/", Method: "get"}},
		"a negative time":   {args: toolapi.FetchArgs{URL: "http://a.test/", TimeoutSeconds: -1}},
		"a long time":       {args: toolapi.FetchArgs{URL: "http://a.test/", TimeoutSeconds: 121}},
		"two bodies":        {args: toolapi.FetchArgs{URL: "http://a.test/", Body: "b", BodyFile: "a/b"}},
		"saved to a folder": {args: toolapi.FetchArgs{URL: "http://a.test/", SaveTo: "a/"}},
		"Host":              {args: with("hOsT", "b.test")},
		"Connection":        {args: with("Connection", "X-Key")},
		"Transfer-Encoding": {args: with("Transfer-Encoding", "chunked")},
		"Proxy-Anything":    {args: with("proxy-anything", "x")},
		"a header's name":   {args: with("X Y", "z")},
		"a header's value":  {args: with("X", "y\r\nZ: z")},
		"no name":           {args: with("", "z")},
		"many headers":      {args: toolapi.FetchArgs{URL: "http://a.test/", Headers: many}},
		"large headers":     {args: with("X", strings.Repeat("y", fetch.MaxFetchHeaderBytes))},
		"a header twice":    {args: toolapi.FetchArgs{URL: "http://a.test/", Headers: map[string]string{"x-a": "1", "X-A": "2"}}},
		"no such file":      {toolapi.FetchArgs{URL: "http://a.test/", BodyFile: "none"}, toolapi.CodeNotFound},
		"a folder":          {toolapi.FetchArgs{URL: "http://a.test/", BodyFile: "a"}, toolapi.CodeIsDirectory},
		"outside":           {toolapi.FetchArgs{URL: "http://a.test/", BodyFile: "/etc/passwd"}, toolapi.CodeOutsideWorkspace},
		"a link outside":    {toolapi.FetchArgs{URL: "http://a.test/", BodyFile: "link"}, toolapi.CodeOutsideWorkspace},
		"a large file":      {toolapi.FetchArgs{URL: "http://a.test/", BodyFile: "big"}, toolapi.CodeTooLarge},
	} {
		got := s.run(toolapi.ToolFetch, c.args)
		if want := c.code; got.OK || got.ErrorCode != want && (want != "" || got.ErrorCode != toolapi.CodeInvalidArguments) {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.Contains(got.Output, "u:p") {
			t.Errorf("%s: the password is in %q", name, got.Output)
		}
	}
	got := s.runCall(toolapi.Call{ID: "unknown-field", Tool: toolapi.ToolFetch, Arguments: json.RawMessage(`{"url":"http://a.test/","proxy":"x"}`)})
	if got.ErrorCode != toolapi.CodeInvalidArguments {
		t.Errorf("an unknown argument: %+v", got)
	}
	if seen := in.requests(); len(seen) != 0 {
		t.Errorf("the host saw %q", seen)
	}
}

func TestMarkdownGolden(t *testing.T) {
	pages, err := filepath.Glob("fetch/testdata/markdown/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	s, _ := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		content, err := os.ReadFile(filepath.Join("fetch/testdata/markdown", filepath.Base(r.URL.Path)))
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(content)
	})
	for _, page := range pages {
		got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://docs.test/guide/" + filepath.Base(page)})
		golden := strings.TrimSuffix(page, ".html") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got.Output), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got.Output != string(want) || !got.OK {
			t.Errorf("%s differs from %s (%v):\n%s", page, golden, err, got.Output)
		}
	}
	got := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://docs.test/hostile.html", Raw: true})
	if !got.OK || !strings.Contains(got.Output, "<script>") || strings.Contains(got.Output, "Markdown") {
		t.Errorf("raw: %+v", got)
	}
}
