// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const path = "/v1/chat/completions"

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func serve(t *testing.T, s http.Handler) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + path
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	first  = `{"model":"a.motor","tools":[{"name":"bash"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"do it"}]}`
	second = `{"model":"a.motor","tools":[{"name":"bash"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"do it"},{"role":"tool","content":"done"}]}`
)

func TestAReaderPlaysTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewStandin(dir, time.Minute)
	url := serve(t, s)
	model := filepath.Join(dir, "a.motor")
	put(t, filepath.Join(model, "resp-001.json"), `{"content":null,"tool_calls":[{"name":"bash","arguments":{"command":"ls"}},{"name":"bash","arguments":"{broken"}]}`)
	status, text := post(t, url, first)
	if status != 200 || !strings.Contains(text, `"arguments":"{\"command\":\"ls\"}"`) || !strings.Contains(text, `"arguments":"{broken"`) || !strings.Contains(text, `"tool_calls"`) {
		t.Errorf("%d %s", status, text)
	}
	put(t, filepath.Join(model, "resp-002.json"), `{"content":"the end"}`)
	if status, text = post(t, url, second); status != 200 || !strings.Contains(text, `"content":"the end"`) || !strings.Contains(text, `"stop"`) {
		t.Errorf("%d %s", status, text)
	}
	u := s.Usage("a.motor")
	if u.Requests != 2 || u.Kept() != 1 || u.Cacheable() < 0.3 || u.Cacheable() > 0.6 || u.PromptTokens == 0 || u.CompletionTokens == 0 {
		t.Errorf("%+v: cacheable %f, kept %f", u, u.Cacheable(), u.Kept())
	}
	s.Forget("a.motor")
	if u := s.Usage("a.motor"); u != (Usage{}) {
		t.Errorf("forgotten: %+v", u)
	}
}

func TestARequestThatIsMadeAgainKeepsItsNumber(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewStandin(dir, 50*time.Millisecond)
	url := serve(t, s)
	for range 2 {
		if status, _ := post(t, url, first); status != http.StatusServiceUnavailable {
			t.Errorf("without a reader the status is %d", status)
		}
	}
	put(t, filepath.Join(dir, "a.motor", "resp-001.json"), `{"content":"late"}`)
	if status, text := post(t, url, first); status != 200 || !strings.Contains(text, "late") {
		t.Errorf("%d %s", status, text)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "a.motor", "req-*")); len(found) != 1 {
		t.Errorf("%q", found)
	}
	if u := s.Usage("a.motor"); u.Requests != 1 {
		t.Errorf("requests that were not answered count: %+v", u)
	}
	// The same request after its answer is another one, as of an attempt that begins anew.
	if status, _ := post(t, url, first); status != http.StatusServiceUnavailable {
		t.Errorf("an answer was given twice: %d", status)
	}
}

func TestAReplyThatIsNoneIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := serve(t, NewStandin(dir, 50*time.Millisecond))
	put(t, filepath.Join(dir, "a.motor", "resp-001.json"), `{"content":`)
	if status, text := post(t, url, first); status != http.StatusServiceUnavailable || !strings.Contains(text, "is no reply") {
		t.Errorf("%d %s", status, text)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, NewStandin(t.TempDir(), time.Minute))
	for body, want := range map[string]int{
		`{`: 400, `{"model":"../x","messages":[{}]}`: 400, `{"model":"","messages":[{}]}`: 400, `{"model":"a","messages":[]}`: 400,
	} {
		if status, text := post(t, url, body); status != want {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if status, _ := post(t, strings.Replace(url, "chat", "other", 1), first); status != 404 {
		t.Errorf("another path: %d", status)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewStandin(dir, time.Minute)
	s.Token = "of-this-evaluation"
	put(t, filepath.Join(dir, "a.motor", "resp-001.json"), `{"content":"hello"}`)
	for token, want := range map[string]int{"": 401, "Bearer ": 401, "Bearer other": 401, "of-this-evaluation": 401, "Bearer of-this-evaluation": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(first))
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q gives %d, want %d", token, w.Code, want)
		}
	}
}

func TestNextShowsWhatIsNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	show := func() string {
		var out strings.Builder
		if err := Next(t.Context(), dir, time.Minute, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if err := Next(t.Context(), dir, time.Millisecond, io.Discard); !errors.Is(err, ErrNoRequest) {
		t.Errorf("an empty folder: %v", err)
	}
	put(t, filepath.Join(dir, "req-001.json"), first)
	for range 2 {
		if got := show(); !strings.Contains(got, `"name": "bash"`) || !strings.Contains(got, "--- user: do it") || !strings.Contains(got, "resp-001.json") {
			t.Errorf("the first request, as often as it is asked for: %s", got)
		}
	}
	put(t, filepath.Join(dir, "resp-001.json"), `{}`)
	put(t, filepath.Join(dir, "req-002.json"), second)
	if got := show(); strings.Contains(got, "do it") || !strings.Contains(got, "--- tool: done") || !strings.Contains(got, "first 2 messages") {
		t.Errorf("the second request: %s", got)
	}
	put(t, filepath.Join(dir, "resp-002.json"), `{}`)
	put(t, filepath.Join(dir, "req-003.json"), strings.Replace(second, "do it", "do less", 1))
	if got := show(); !strings.Contains(got, "do less") || !strings.Contains(got, "first 1 messages") {
		t.Errorf("a message that was changed is not shown: %s", got)
	}
}

func TestAModelBehindIt(t *testing.T) {
	t.Parallel()
	var got, auth string
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, auth = string(body), r.Header.Get("Authorization")
		if strings.Contains(got, "do less") {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3}}\n\ndata: [DONE]\n")
	}))
	t.Cleanup(behind.Close)
	s, err := NewUpstream(behind.URL+"/v1", "some/Model", "a-key")
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	status, text := post(t, url, first)
	if status != 200 || !strings.HasSuffix(text, "[DONE]\n") || !strings.Contains(got, `"model":"some/Model"`) || auth != "Bearer a-key" {
		t.Errorf("%d %s, asked %s with %s", status, text, got, auth)
	}
	if status, _ = post(t, url, strings.Replace(first, "do it", "do less", 1)); status != http.StatusTooManyRequests {
		t.Errorf("a refusal comes as %d", status)
	}
	if u := s.Usage("a.motor"); u.Requests != 1 || u.PromptTokens != 11 || u.CompletionTokens != 3 {
		t.Errorf("%+v", u)
	}
	for _, bad := range []string{"", "ftp://x", "http://"} {
		if _, err := NewUpstream(bad, "m", ""); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
	if _, err := NewUpstream("http://x", "", ""); err == nil {
		t.Error("no model is a model")
	}
}

func TestASummaryBetweenTurnsHidesNothing(t *testing.T) {
	t.Parallel()
	var p prefixes
	p.add([]byte("tools system a"))
	p.add([]byte("sum up"))
	if common, before := p.add([]byte("tools system a b")); common != 14 || before != 14 {
		t.Errorf("%d of %d", common, before)
	}
}
