// SPDX-License-Identifier: Apache-2.0

// Package guard serves metrics to accounts that may read them, and bounds what all others cost. The API server is asked about each token, and any Pod
// that reaches the port can send tokens.
package guard

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// maxToken and maxHeaders bound, in bytes, what is sent to the API server and held for a minute. Tokens of service accounts have 1 to 2 KiB.
	maxToken   = 8 << 10
	maxHeaders = 16 << 10
	// maxInFlight is how many requests of known readers are served at once, and how many of others.
	maxInFlight = 8
	// reviewsPerSecond and reviewsAtOnce bound the tokens that are reviewed, of all addresses; fromOne and fromOneAtOnce those of one address. One Pod
	// that sends tokens must not keep a Prometheus with a new token out.
	reviewsPerSecond, reviewsAtOnce = 10, 20
	fromOne, fromOneAtOnce          = 1, 5
	// maxRemembered is how many refused tokens, readers and addresses are remembered, each by a few bytes.
	maxRemembered = 1024
	// refusedFor is for how long the answer to a refused token is remembered. An account that gets the right waits for so long at most.
	refusedFor = 10 * time.Second
	// readsFor is for how long a token that was once reviewed need not compete with unknown ones. It is reviewed all the same.
	readsFor = time.Hour
	// apiTimeout is for a request to the API server.
	apiTimeout = 10 * time.Second
	// logPause is between two lines of the log.
	logPause = time.Minute
)

// clock is what the memories of the guard are told the time by.
type clock func() time.Time

func (c clock) Now() time.Time { return c() }

// Provider returns what makes the filter of a metrics server. It asks the API server with a rate of its own, so that the rest of the process has its
// own share of requests. A path of writable takes PUT beside GET; each method is a right of its own.
func Provider(now func() time.Time, writable ...string) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(cfg *rest.Config, to *http.Client) (metricsserver.Filter, error) {
		bounded, timed := rest.CopyConfig(cfg), *to
		bounded.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(2*reviewsPerSecond, 2*reviewsAtOnce)
		timed.Timeout = apiTimeout
		inner, err := filters.WithAuthenticationAndAuthorization(bounded, &timed)
		if err != nil {
			return nil, fmt.Errorf("make the filter of the metrics: %w", err)
		}
		return around(inner, now, writable...), nil
	}
}

// around returns a filter that bounds what gets to the inner one.
func around(inner metricsserver.Filter, now func() time.Time, writable ...string) metricsserver.Filter {
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		g := &guard{
			now: now, writable: writable, known: make(chan struct{}, maxInFlight), unknown: make(chan struct{}, maxInFlight),
			refused:   lru.NewLRUExpireCacheWithClock(maxRemembered, clock(now)),
			readers:   lru.NewLRUExpireCacheWithClock(maxRemembered, clock(now)),
			addresses: lru.NewLRUExpireCacheWithClock(maxRemembered, clock(now)),
			all:       rate.NewLimiter(reviewsPerSecond, reviewsAtOnce),
		}
		var err error
		g.inner, err = inner(seldom(log, now), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if a, ok := w.(*answer); ok {
				a.admitted, w = true, a.ResponseWriter
			}
			next.ServeHTTP(w, r)
		}))
		return g, err
	}
}

// guard is a handler that lets few requests at once and in each second through to the reviews.
type guard struct {
	inner          http.Handler
	now            func() time.Time
	writable       []string
	known, unknown chan struct{}
	// refused has the status that was answered to a method and token, by their digest, and readers the digests of those that may.
	refused, readers *lru.LRUExpireCache
	// addresses has a *rate.Limiter for each of those that sent unknown tokens.
	addresses *lru.LRUExpireCache
	all       *rate.Limiter
}

// ServeHTTP serves a request whose token may read, and refuses any other one.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bearer(r)
	switch {
	case r.Method != http.MethodGet && (r.Method != http.MethodPut || !slices.Contains(g.writable, r.URL.Path)):
		// Each method would be a right of its own to review.
		refuse(w, http.StatusMethodNotAllowed)
		return
	case len(token) > maxToken || size(r.Header) > maxHeaders:
		refuse(w, http.StatusRequestHeaderFieldsTooLarge)
		return
	case token == "":
		refuse(w, http.StatusUnauthorized)
		return
	}
	// A token that may read need not be one that may write.
	digest := sha256.Sum256([]byte(r.Method + " " + token))
	if status, ok := g.refused.Get(digest); ok {
		refuse(w, status.(int))
		return
	}
	lane := g.known
	_, reads := g.readers.Get(digest)
	if !reads {
		if lane = g.unknown; !g.mayAsk(r.RemoteAddr) {
			refuse(w, http.StatusTooManyRequests)
			return
		}
	}
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	default:
		refuse(w, http.StatusTooManyRequests)
		return
	}
	// A token may come in this header too, past all that is above.
	r.Header.Del("Sec-Websocket-Protocol")
	a := &answer{ResponseWriter: w}
	g.inner.ServeHTTP(a, r)
	switch {
	case a.admitted:
		g.readers.Add(digest, true, readsFor)
	case r.Context().Err() != nil, reads && a.status >= http.StatusInternalServerError:
		// The client has gone, or the API server does not answer: that says nothing of the token.
	default:
		g.readers.Remove(digest)
		g.refused.Add(digest, a.status, refusedFor)
	}
}

// mayAsk reports whether one more unknown token of an address may be reviewed now.
func (g *guard) mayAsk(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	of, ok := g.addresses.Get(host)
	if !ok {
		of = rate.NewLimiter(fromOne, fromOneAtOnce)
	}
	// After this time its limiter is as a new one.
	g.addresses.Add(host, of, 2*time.Second*fromOneAtOnce/fromOne)
	now := g.now()
	return of.(*rate.Limiter).AllowN(now, 1) && g.all.AllowN(now, 1)
}

// refuse answers, and ends the connection: one of a stranger that stays open would take the place of a reader's.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(status), status)
}

// bearer returns the token of a request as the authenticator of the API machinery reads it, "" if it has none.
func bearer(r *http.Request) string {
	parts := strings.SplitN(strings.TrimSpace(r.Header.Get("Authorization")), " ", 3)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "bearer") {
		return ""
	}
	return parts[1]
}

func size(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// answer knows whether a request came to the metrics, and what it was answered otherwise.
type answer struct {
	http.ResponseWriter
	admitted bool
	status   int
}

// WriteHeader notes the status of a refusal, which ends the connection.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.Header().Set("Connection", "close")
	a.ResponseWriter.WriteHeader(status)
}
