// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/secret"
)

const theKey = "key-0123456789"

// provider is a stand-in whose answers are made by a function of the number of the request, from 1.
func provider(t *testing.T, kind Type, answer func(n int32, w http.ResponseWriter, r *http.Request)) (Provider, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(n.Add(1), w, r) }))
	t.Cleanup(s.Close)
	return Provider{Type: kind, URL: s.URL + "/sub/", APIKey: secret.New(theKey)}, &n
}

func TestSearXNG(t *testing.T) {
	t.Parallel()
	p, n := provider(t, SearXNG, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/sub/search" || r.URL.Query().Get("q") != "a & b" || r.URL.Query().Get("format") != "json" {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		if r.Header.Get("Authorization") != "Bearer "+theKey || r.Header.Get("X-Subscription-Token") != "" {
			t.Errorf("headers %v", r.Header)
		}
		fmt.Fprint(w, `{"query":"a & b","results":[
			{"title":"One","url":"https://one.example.org/","content":"first"},
			{"title":"Two","url":"https://two.example.org/","content":"second","engine":"x"},
			{"title":"Three","url":"https://three.example.org/","content":"third"}]}`)
	})
	got, err := p.Search(t.Context(), "a & b", 2)
	want := []Result{{"One", "https://one.example.org/", "first"}, {"Two", "https://two.example.org/", "second"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || n.Load() != 1 {
		t.Errorf("%v, asked %d times (-want +got):\n%s", err, n.Load(), diff)
	}
}

func TestBrave(t *testing.T) {
	t.Parallel()
	p, _ := provider(t, Brave, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sub/res/v1/web/search" || r.URL.Query().Get("q") != "ä?" || r.URL.Query().Get("count") != "20" {
			t.Errorf("asked %s", r.URL)
		}
		if r.Header.Get("X-Subscription-Token") != theKey || r.Header.Get("Authorization") != "" {
			t.Errorf("headers %v", r.Header)
		}
		fmt.Fprint(w, `{"type":"search","web":{"results":[{"title":"One &amp; only","url":"https://one.example.org/?a=b&c","description":"the <strong>fir</strong>st"}]}}`)
	})
	got, err := p.Search(t.Context(), "ä?", 20)
	if diff := cmp.Diff([]Result{{"One & only", "https://one.example.org/?a=b&c", "the first"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := (Provider{Type: Brave}).base(); got != "https://api.search.brave.com" {
		t.Errorf("Brave's own is at %s", got)
	}
}

func status(code int, header ...string) func(int32, http.ResponseWriter, *http.Request) {
	return func(_ int32, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "you sent %s", theKey)
	}
}

func says(body string) func(int32, http.ResponseWriter, *http.Request) {
	return func(_ int32, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

// Every failure is described in a sentence without the key, and no request is sent more than twice.
func TestTrouble(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request was sent elsewhere") }))
	t.Cleanup(elsewhere.Close)
	tests := map[string]struct {
		kind   Type
		answer func(int32, http.ResponseWriter, *http.Request)
		want   string
		asked  int32
		passes bool
	}{
		"too many":                 {SearXNG, status(429, "Retry-After", "0"), "says that there were too many searches (status 429).", 2, true},
		"too many for long":        {Brave, status(429, "Retry-After", "6"), "says that there were too many searches (status 429).", 1, true},
		"too many until a date":    {Brave, status(429, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), "says that there were too many searches (status 429).", 1, true},
		"too many since a date":    {Brave, status(429, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"), "says that there were too many searches (status 429).", 2, true},
		"too many, in odd words":   {Brave, status(429, "Retry-After", "-1"), "says that there were too many searches (status 429).", 1, true},
		"broken":                   {SearXNG, status(502, "Retry-After", "0"), "failed (status 502).", 2, true},
		"no key":                   {Brave, status(401), "refused (status 401): check the API key.", 1, false},
		"a bad key":                {Brave, status(422), "refused (status 422): check the API key.", 1, false},
		"no JSON there":            {SearXNG, status(403), "refused (status 403): search.formats in its settings must have json, or it wants an API key.", 1, false},
		"no search there":          {SearXNG, status(404), "has no search there (status 404): check spec.search.url of the MotorCortex.", 1, false},
		"an odd status":            {SearXNG, status(204), "answered with the status 204.", 1, false},
		"HTML":                     {SearXNG, says("<html>" + theKey), "answered with something else than JSON of its kind.", 1, false},
		"other JSON":               {SearXNG, says(`{"answer":42}`), "answered with JSON that has no results: check spec.search of the MotorCortex.", 1, false},
		"JSON of other types":      {Brave, says(`{"web":{"results":"none"}}`), "answered with something else than JSON of its kind.", 1, false},
		"endless":                  {SearXNG, says(`{"results":[{"title":"` + strings.Repeat("x", maxBody)), "answered more than 1048576 bytes.", 1, false},
		"endless headers":          {SearXNG, status(200, "X", strings.Repeat("x", 2*maxHeaders)), "cannot be reached: net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted.", 1, true},
		"a redirect elsewhere":     {SearXNG, status(302, "Location", elsewhere.URL+"/search"), "cannot be asked, because it redirects to another host.", 1, false},
		"redirects without an end": {SearXNG, status(302, "Location", "/search"), "cannot be reached: it redirects too often.", maxRedirects + 1, true},
		"a broken connection": {SearXNG, func(int32, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"cannot be reached: EOF.", 1, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, n := provider(t, tt.kind, tt.answer)
			got, err := p.Search(t.Context(), "q", 5)
			want := "The search provider " + p.String() + " " + tt.want
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Message != want || e.Passes != tt.passes || got != nil {
				t.Errorf("got %v, %+v\nwant %s", got, err, want)
			}
			if n.Load() != tt.asked {
				t.Errorf("asked %d times, want %d", n.Load(), tt.asked)
			}
		})
	}
}

func TestSecondTry(t *testing.T) {
	t.Parallel()
	p, n := provider(t, SearXNG, func(n int32, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			status(503, "Retry-After", "0")(n, w, r)
			return
		}
		says(`{"results":[]}`)(n, w, r)
	})
	if got, err := p.Search(t.Context(), "q", 5); err != nil || len(got) != 0 || n.Load() != 2 {
		t.Errorf("got %v, %v after %d tries", got, err, n.Load())
	}
}

func TestRedirectWithinTheHost(t *testing.T) {
	t.Parallel()
	p, _ := provider(t, SearXNG, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/new" {
			http.Redirect(w, r, "/new?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		fmt.Fprintf(w, `{"results":[{"title":%q,"url":"https://example.org"}]}`, r.URL.Query().Get("q"))
	})
	got, err := p.Search(t.Context(), "q", 5)
	if diff := cmp.Diff([]Result{{Title: "q", URL: "https://example.org"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	_, err := Provider{Type: SearXNG, URL: s.URL, APIKey: secret.New(theKey)}.Search(t.Context(), "secret words", 5)
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.NoAnswer || !e.Passes || !strings.Contains(e.Message, "cannot be reached: dial tcp") || strings.Contains(e.Message, "secret") {
		t.Errorf("got %v", err)
	}
}

// A caller that stops waiting gets that as the error, while the provider is slow before its answer, in it, or between tries.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(int32, http.ResponseWriter, *http.Request){
		"before": func(_ int32, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within": func(_ int32, w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"results":[`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"between": status(503, "Retry-After", "5"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			p, _ := provider(t, SearXNG, func(n int32, w http.ResponseWriter, r *http.Request) {
				time.AfterFunc(20*time.Millisecond, cancel)
				answer(n, w, r)
			})
			if _, err := p.Search(ctx, "q", 5); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnusableProvider(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Provider{
		"no URL":        {Type: SearXNG},
		"another way":   {Type: SearXNG, URL: "ftp://example.org"},
		"a user":        {Type: SearXNG, URL: "http://u:p@example.org"},
		"a query":       {Type: SearXNG, URL: "http://example.org/?"},
		"no URL at all": {Type: Brave, URL: "http://%zz"},
		"an odd key":    {Type: Brave, URL: "http://example.org", APIKey: secret.New(theKey + "\n")},
	} {
		_, err := p.Search(t.Context(), "q", 5)
		if e, ok := errors.AsType[*Error](err); !ok || e.Passes || e.NoAnswer || strings.Contains(e.Message, theKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProviderHidesItsKey(t *testing.T) {
	t.Parallel()
	p := Provider{Type: Brave, APIKey: secret.New(theKey)}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "p", p)
	for _, s := range []string{fmt.Sprint(p), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", p), log.String()} {
		if strings.Contains(s, theKey) || !strings.Contains(s, "Brave") {
			t.Errorf("it prints as %s", s)
		}
	}
}
