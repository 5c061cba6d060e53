// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// reviews are those of an API server that knows the token "good", and "poor" for an account without the right.
type reviews struct {
	asked atomic.Int32
	// holds, if it is set, holds each of them until it is closed. Each that is held tells came.
	holds, came chan struct{}
	// down has each of them fail.
	down bool
}

func (a *reviews) filter(_ logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		if a.holds != nil {
			a.came <- struct{}{}
			<-a.holds
		}
		switch {
		case a.down:
			http.Error(w, "no API server", http.StatusInternalServerError)
		case r.Header.Get("Sec-Websocket-Protocol") != "":
			http.Error(w, "a token was looked for elsewhere", http.StatusTeapot)
		case bearer(r) == "good":
			next.ServeHTTP(w, r)
		case bearer(r) == "poor":
			http.Error(w, "no", http.StatusForbidden)
		default:
			http.Error(w, "no", http.StatusInternalServerError)
		}
	}), nil
}

// guarded returns metrics whose reviews are counted, and the time that can be changed.
func guarded(t *testing.T, a *reviews) (http.Handler, *atomic.Int64) {
	t.Helper()
	var seconds atomic.Int64
	seconds.Store(1000)
	h, err := around(a.filter, func() time.Time { return time.Unix(seconds.Load(), 0) })(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("metrics"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	return h, &seconds
}

// ask sends a request with an Authorization header from an address, and returns the status.
func ask(h http.Handler, from, authorization string, changes ...func(*http.Request)) int {
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	r.RemoteAddr = from + ":1234"
	r.Header.Set("Authorization", authorization)
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func TestWhatIsNoTokenIsNotReviewed(t *testing.T) {
	t.Parallel()
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, tt := range map[string]struct {
		authorization string
		change        func(*http.Request)
		want          int
		reviewed      int32
	}{
		"a reader":                {"Bearer good", nil, http.StatusOK, 1},
		"another case":            {"bearer good", nil, http.StatusOK, 1},
		"a right is lacking":      {"Bearer poor", nil, http.StatusForbidden, 1},
		"the longest token":       {"Bearer " + strings.Repeat("x", maxToken), nil, http.StatusInternalServerError, 1},
		"a longer one":            {"Bearer " + strings.Repeat("x", maxToken+1), nil, http.StatusRequestHeaderFieldsTooLarge, 0},
		"another header is large": {"Bearer good", with("X", strings.Repeat("x", maxHeaders)), http.StatusRequestHeaderFieldsTooLarge, 0},
		"none":                    {"", nil, http.StatusUnauthorized, 0},
		"a password":              {"Basic good", nil, http.StatusUnauthorized, 0},
		"no word after it":        {"Bearer ", nil, http.StatusUnauthorized, 0},
		"in another header":       {"", with("Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.Z29vZA"), http.StatusUnauthorized, 0},
		"in both":                 {"Bearer poor", with("Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.Z29vZA"), http.StatusForbidden, 1},
		"another method":          {"Bearer good", func(r *http.Request) { r.Method = "PROPFIND" }, http.StatusMethodNotAllowed, 0},
	} {
		a := &reviews{}
		h, _ := guarded(t, a)
		if tt.change == nil {
			tt.change = func(*http.Request) {}
		}
		if got := ask(h, "10.0.0.1", tt.authorization, tt.change); got != tt.want || a.asked.Load() != tt.reviewed {
			t.Errorf("%s: %d after %d reviews, want %d after %d", name, got, a.asked.Load(), tt.want, tt.reviewed)
		}
	}
}

// The connection of a stranger that stays open takes the place of a reader's.
func TestRefusalEndsTheConnection(t *testing.T) {
	t.Parallel()
	h, _ := guarded(t, &reviews{})
	for authorization, want := range map[string]string{"": "close", "Bearer poor": "close", "Bearer good": ""} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Header().Get("Connection") != want {
			t.Errorf("%q is answered %d with the connection %q", authorization, w.Code, w.Header().Get("Connection"))
		}
	}
}

func TestRefusedTokenIsRememberedForSeconds(t *testing.T) {
	t.Parallel()
	a := &reviews{}
	h, seconds := guarded(t, a)
	for range 100 {
		if got := ask(h, "10.0.0.1", "Bearer poor"); got != http.StatusForbidden {
			t.Fatalf("got %d", got)
		}
	}
	if n := a.asked.Load(); n != 1 {
		t.Errorf("%d reviews of one token", n)
	}
	seconds.Add(int64(refusedFor/time.Second) + 1)
	if ask(h, "10.0.0.1", "Bearer poor"); a.asked.Load() != 2 {
		t.Error("an account that gets the right is never reviewed again")
	}
}

// An address has its own bound, all together have one, and a reader that is known is served whatever others send.
func TestUnknownTokensAreReviewedAtARate(t *testing.T) {
	t.Parallel()
	a := &reviews{}
	h, seconds := guarded(t, a)
	if got := ask(h, "10.0.0.1", "Bearer good"); got != http.StatusOK {
		t.Fatalf("got %d", got)
	}
	a.asked.Store(0)
	for i := range 100 {
		ask(h, "10.0.0.2", fmt.Sprint("Bearer one-", i))
	}
	if n := a.asked.Swap(0); n != fromOneAtOnce {
		t.Errorf("%d reviews for one address, want %d", n, fromOneAtOnce)
	}
	if got := ask(h, "10.0.0.2", "Bearer another"); got != http.StatusTooManyRequests {
		t.Errorf("got %d", got)
	}
	seconds.Add(10)
	for i := range 100 {
		ask(h, fmt.Sprint("10.0.1.", i), "Bearer many")
		ask(h, fmt.Sprint("10.0.2.", i), fmt.Sprint("Bearer many-", i))
	}
	if n := a.asked.Load(); n != reviewsAtOnce {
		t.Errorf("%d reviews for all addresses, want %d", n, reviewsAtOnce)
	}
	if got := ask(h, "10.0.0.1", "Bearer good"); got != http.StatusOK {
		t.Errorf("a reader gets %d", got)
	}
}

func TestFewRequestsAreServedAtOnce(t *testing.T) {
	t.Parallel()
	a := &reviews{}
	h, _ := guarded(t, a)
	ask(h, "10.0.0.1", "Bearer good")
	a.holds, a.came = make(chan struct{}), make(chan struct{}, 3*maxInFlight)
	var all sync.WaitGroup
	for i := range maxInFlight {
		all.Go(func() { ask(h, fmt.Sprint("10.0.1.", i), fmt.Sprint("Bearer many-", i)) })
		all.Go(func() { ask(h, "10.0.0.1", "Bearer good") })
	}
	for range 2 * maxInFlight {
		<-a.came
	}
	for _, token := range []string{"Bearer more", "Bearer good"} {
		if got := ask(h, "10.0.0.9", token); got != http.StatusTooManyRequests {
			t.Errorf("%s: one more gets %d", token, got)
		}
	}
	close(a.holds)
	all.Wait()
	if got := ask(h, "10.0.0.1", "Bearer good"); got != http.StatusOK {
		t.Errorf("after that a reader gets %d", got)
	}
}

func TestFailedReviewSaysNothingOfAReader(t *testing.T) {
	t.Parallel()
	a := &reviews{}
	h, _ := guarded(t, a)
	ask(h, "10.0.0.1", "Bearer good")
	a.down = true
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ask(h, "10.0.0.2", "Bearer poor", func(r *http.Request) { *r = *r.WithContext(gone) })
	if got := ask(h, "10.0.0.1", "Bearer good"); got != http.StatusInternalServerError {
		t.Errorf("without an API server a reader gets %d", got)
	}
	a.down = false
	for token, want := range map[string]int{"Bearer good": http.StatusOK, "Bearer poor": http.StatusForbidden} {
		if got := ask(h, "10.0.0.3", token); got != want {
			t.Errorf("%s gets %d once the API server answers, want %d", token, got, want)
		}
	}
}

func TestProviderMakesAFilter(t *testing.T) {
	t.Parallel()
	cfg, to := &rest.Config{Host: "127.0.0.1:1", QPS: -1}, &http.Client{}
	filter, err := Provider(time.Now)(cfg, to)
	if err != nil || filter == nil {
		t.Fatal(err)
	}
	if cfg.RateLimiter != nil || to.Timeout != 0 {
		t.Error("the clients of the rest of the process are bounded too")
	}
	if _, err := Provider(time.Now)(&rest.Config{Host: "://"}, to); err == nil {
		t.Error("an address that is none makes a filter")
	}
}

// The right to change a thing is reviewed although the token was reviewed for reading it.
func TestATokenIsReviewedForEachMethod(t *testing.T) {
	t.Parallel()
	var methods []string
	inner := func(_ logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if methods = append(methods, r.Method); r.Method == http.MethodPut && bearer(r) != "writer" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}
	h, err := around(inner, time.Now, "/level")(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	put := func(path string) func(*http.Request) {
		return func(r *http.Request) { r.Method, r.URL.Path = http.MethodPut, path }
	}
	for _, tt := range []struct {
		token  string
		change func(*http.Request)
		want   int
	}{
		{"reader", func(*http.Request) {}, http.StatusOK},
		{"reader", put("/level"), http.StatusForbidden},
		// The refusal of the one must not be that of the other: a Prometheus would be kept out.
		{"reader", func(*http.Request) {}, http.StatusOK},
		{"writer", put("/level"), http.StatusOK},
		{"writer", put("/metrics"), http.StatusMethodNotAllowed},
		{"writer", func(r *http.Request) { r.Method, r.URL.Path = http.MethodPost, "/level" }, http.StatusMethodNotAllowed},
	} {
		if got := ask(h, "10.0.0.1", "Bearer "+tt.token, tt.change); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.token, got, tt.want)
		}
	}
	if len(methods) != 4 {
		t.Errorf("reviewed were %v", methods)
	}
}
