// SPDX-License-Identifier: Apache-2.0

// Package page is a web page on which people answer runs and look at them: its files, and the HTTP API that they use. Each request acts with the client
// of the person who made it, so the API server decides what a person sees and does. Who lets a request through is for the server: see package gate.
package page

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/page/assets"
	"motorcortex.dev/motorcortex/internal/page/live"
)

const (
	// maxBody is the most bytes of a request: an answer has 16 KiB, and JSON may take six bytes for one; with it go files of 256 KiB, in base64.
	maxBody = 512 << 10
	// patience is how long the cluster may take for a request.
	patience = 30 * time.Second
)

// Person is who made a request.
type Person struct {
	// Key tells persons apart. Windows of the same share watches.
	Key string
	// Client has the rights of the person.
	Client client.WithWatch
	// Namespace is the one that the page begins with, "*" for all.
	Namespace string
	// Logout is the path that ends the login of the person with a POST, "" if there is none.
	Logout string
}

// Bounds are what a page may use.
type Bounds struct {
	// Live bounds the windows that are told of changes.
	Live live.Limits
	// Inbox bounds what is read for an inbox. What is left out is said.
	Inbox lookup.Bounds
}

// Own returns the bounds of a page that one person has for themselves.
func Own() Bounds {
	return Bounds{Live: live.Limits{Pages: 32, PagesOf: 32, Feeds: 16, FeedsOf: 16}}
}

// Access returns who made a request.
type Access func(*http.Request) (Person, error)

// Page serves the page. Close ends its watches.
type Page struct {
	access Access
	bounds Bounds
	hub    *live.Hub
	mux    *http.ServeMux
	now    func() time.Time
	// beat is how often a quiet stream of changes says that it is there.
	beat time.Duration
}

// New returns a page with these bounds.
func New(access Access, bounds Bounds) *Page {
	p := &Page{access: access, bounds: bounds, hub: live.New(words, bounds.Live), mux: http.NewServeMux(), now: time.Now, beat: 15 * time.Second}
	p.mux.Handle("GET /", assets.Handler())
	p.handle("GET /api/me", me)
	p.handle("GET /api/namespaces", namespaces)
	p.handle("GET /api/inbox", inbox)
	p.handle("GET /api/runs", runs)
	p.handle("GET /api/runs/{namespace}/{name}", run)
	p.handle("GET /api/runs/{namespace}/{name}/steps/{step}", step)
	p.handle("POST /api/runs/{namespace}/{name}/asks/{id}", decide)
	p.handle("GET /api/waiting-skills", waitingSkills)
	p.handle("GET /api/skills", skills)
	p.handle("GET /api/skills/{namespace}/{name}", oneSkill)
	p.handle("GET /api/skills/{namespace}/{name}/diff", skillDiff)
	p.handle("POST /api/skills/{namespace}/{name}/approve", approveSkill)
	p.handle("POST /api/skills/{namespace}/{name}/reject", rejectSkill)
	p.mux.HandleFunc("GET /api/events", p.events)
	return p
}

// ServeHTTP serves a request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Close ends the watches. Streams of changes that are open end with their requests.
func (p *Page) Close() { p.hub.Close() }

// query is one request to the API of the page.
type query struct {
	*http.Request
	Person

	now    time.Time
	bounds Bounds
}

// namespace is the one of the path, or else of the query: "" is for all of them.
func (q *query) namespace() string {
	if ns := q.PathValue("namespace"); ns != "" {
		return ns
	}
	return q.URL.Query().Get("namespace")
}

// key is the object that the path names.
func (q *query) key() client.ObjectKey {
	return client.ObjectKey{Namespace: q.PathValue("namespace"), Name: q.PathValue("name")}
}

// read decodes the body.
func (q *query) read(into any) error {
	d := json.NewDecoder(q.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("there is more behind it")
	}
	if err == nil {
		return nil
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return problem{http.StatusRequestEntityTooLarge, "What you wrote is too long."}
	}
	return problem{http.StatusBadRequest, "The page sent what its server does not understand. Reload it: " + err.Error()}
}

// handle has a function answer requests with JSON.
func (p *Page) handle(pattern string, answer func(context.Context, *query) (any, error)) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		value, err := func() (any, error) {
			person, err := p.access(r)
			if err != nil {
				return nil, err
			}
			return answer(ctx, &query{Request: r, Person: person, now: p.now(), bounds: p.bounds})
		}()
		if err != nil {
			send(w, statusOf(err), map[string]string{"error": words(err)})
			return
		}
		send(w, http.StatusOK, value)
	})
}

func send(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // A browser that left needs no answer.
}
