// SPDX-License-Identifier: Apache-2.0

// Package chaos makes requests to a Kubernetes API fail in the ways in which they fail in production: before they arrive,
// after they were carried out, and, for watches, at any time later. It wraps the transport of a client:
//
//	faults := chaos.New(seed, report)
//	config.Wrap(faults.Wrap)
//	faults.Set(chaos.Settings{Unsent: 0.15, Unanswered: 0.15})
//
// With the same seed and the same order of requests the same requests fail.
package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Settings configure the faults. The zero value lets everything pass.
type Settings struct {
	// Unsent is the share of writes, 0 to 1, that fail before they are sent.
	Unsent float64
	// Unanswered is the share of writes that are carried out and whose answer is lost.
	Unanswered float64
	// Expired is the share of watches that get nothing but the error 410 Gone.
	Expired float64
	// WatchLife is how long a watch stays open; with 0 the server decides.
	WatchLife time.Duration
	// WatchDelay is by how much all events of a watch are delayed, so that a cache is that old.
	WatchDelay time.Duration
	// Away fails every request, and breaks the open watches.
	Away bool
}

// Kind is the kind of fault.
type Kind string

const (
	Unsent     Kind = "unsent"
	Unanswered Kind = "unanswered"
	Expired    Kind = "expired"
	Closed     Kind = "closed"
	Away       Kind = "away"
)

// Report is called for each request with a fault, in the goroutine of the request.
type Report func(kind Kind, r *http.Request)

// Faults decides which requests fail.
type Faults struct {
	report Report

	mu       sync.Mutex
	random   *rand.Rand
	settings Settings
	counts   map[Kind]int
	// broken is closed, and replaced, when the API server goes away.
	broken chan struct{}
}

// New makes Faults that let everything pass until Set is called. report may be nil.
func New(seed uint64, report Report) *Faults {
	return &Faults{
		report: report, random: rand.New(rand.NewPCG(seed, seed)),
		counts: map[Kind]int{}, broken: make(chan struct{}),
	}
}

// Set changes the faults from now on. Open watches retain their lifetime.
func (f *Faults) Set(s Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Away && !f.settings.Away {
		close(f.broken)
		f.broken = make(chan struct{})
	}
	f.settings = s
}

// Count returns how often a fault of that kind occurred.
func (f *Faults) Count(kind Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[kind]
}

// Wrap puts the faults around a transport.
func (f *Faults) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{faults: f, next: next}
}

type transport struct {
	faults *Faults
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that it made.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip applies the decision about the request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f := t.faults
	d := f.decide(r)
	if d.kind != "" {
		f.note(d.kind, r)
	}
	switch d.kind {
	case Away, Unsent:
		closeBody(r)
		if d.asStatus {
			return statusResponse(r, http.StatusInternalServerError, "InternalError", "chaos: etcdserver: leader changed"), nil
		}
		return nil, fmt.Errorf("chaos: %s %s was not sent: %w", r.Method, r.URL.Path, syscall.ECONNREFUSED)
	case Unanswered:
		return t.loseAnswer(r, d.asStatus)
	case Expired:
		closeBody(r)
		return expired(r), nil
	case Closed:
		// Closed is never decided when a watch begins.
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && d.watch && resp.StatusCode == http.StatusOK {
		resp.Body = f.newStream(r, resp.Body, d.life, d.broken)
	}
	return resp, err
}

// loseAnswer carries the request out and reports that its outcome is unknown.
func (t *transport) loseAnswer(r *http.Request, asStatus bool) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if asStatus {
		return statusResponse(r, http.StatusGatewayTimeout, "Timeout", "chaos: request did not complete within the allotted time"), nil
	}
	return nil, fmt.Errorf("chaos: the answer to %s %s was lost: %w", r.Method, r.URL.Path, syscall.ECONNRESET)
}

// decision is the fault of one request; kind is "" if it passes.
type decision struct {
	kind Kind
	// asStatus makes the error an answer of the server and not a broken connection: clients treat them
	// differently, and must treat them alike.
	asStatus bool
	watch    bool
	life     time.Duration
	broken   <-chan struct{}
}

func (f *Faults) decide(r *http.Request) decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.settings
	d := decision{watch: isWatch(r), life: s.WatchLife, broken: f.broken}
	switch {
	case s.Away:
		d.kind = Away
	case d.watch:
		if s.Expired > 0 && f.random.Float64() < s.Expired {
			d.kind = Expired
		}
	case isWrite(r) && s.Unsent+s.Unanswered > 0:
		switch dice := f.random.Float64(); {
		case dice < s.Unsent:
			d.kind = Unsent
		case dice < s.Unsent+s.Unanswered:
			d.kind = Unanswered
		}
		d.asStatus = f.random.IntN(2) == 0
	}
	return d
}

func (f *Faults) note(kind Kind, r *http.Request) {
	f.mu.Lock()
	f.counts[kind]++
	f.mu.Unlock()
	if f.report != nil {
		f.report(kind, r)
	}
}

func (f *Faults) delay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.settings.WatchDelay
}

func isWatch(r *http.Request) bool {
	watch, err := strconv.ParseBool(r.URL.Query().Get("watch"))
	return err == nil && watch
}

func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// closeBody closes the body, as the contract of a RoundTripper demands of one that does not send the request.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

const statusJSON = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`

func statusResponse(r *http.Request, code int, reason, message string) *http.Response {
	return response(r, code, fmt.Sprintf(statusJSON, message, reason, code))
}

// expired is the answer to a watch whose resource version has expired: a stream with one event.
func expired(r *http.Request) *http.Response {
	status := fmt.Sprintf(statusJSON, "chaos: too old resource version", "Expired", http.StatusGone)
	return response(r, http.StatusOK, `{"type":"ERROR","object":`+status+"}\n")
}

func response(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
	}
}
