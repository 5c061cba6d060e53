// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// traffic counts the requests of a manager about objects of namespaces, as "GET secrets" or "PATCH motorruns/status". Watches and everything about Leases
// do not count: there are as many without runs.
type traffic struct {
	mu     sync.Mutex
	byName map[string]int
}

// Wrap puts the count around a transport.
func (c *traffic) Wrap(next http.RoundTripper) http.RoundTripper {
	return countingTransport{c, next}
}

type countingTransport struct {
	counts *traffic
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that it made.
func (t countingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.counts.note(r)
	return t.next.RoundTrip(r)
}

func (c *traffic) note(r *http.Request) {
	of := resourceOf(r.URL.Path)
	query := r.URL.Query()
	watches := query.Get("watch") == "true" || query.Get("watch") == "1"
	if of == "" || of == "leases" || watches {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]int{}
	}
	c.byName[r.Method+" "+of]++
}

// resourceOf returns the resource of a path, with its subresource, "" for none: /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/SUBRESOURCE.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	i := slices.Index(parts, "namespaces")
	if i < 0 || len(parts) < i+3 {
		return ""
	}
	parts = parts[i+2:]
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}

// reset forgets the requests so far.
func (c *traffic) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byName)
}

// of returns how many requests there were of those names.
func (c *traffic) of(names ...string) (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		count += c.byName[name]
	}
	return count
}

// beyondSteps returns the writes of all but steps, and the reads.
func (c *traffic) beyondSteps() (writes, reads int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.byName {
		method, of, _ := strings.Cut(name, " ")
		switch {
		case method == http.MethodGet:
			reads += n
		case !strings.HasPrefix(of, "motorsteps"):
			writes += n
		}
	}
	return writes, reads
}

// String lists the requests, "" for none.
func (c *traffic) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		list = append(list, fmt.Sprintf("%d %s", c.byName[name], name))
	}
	return strings.Join(list, ", ")
}

// cached is a client of the manager whose reads are those of its cache, so that they do not count.
type cached struct{ client.Client }

// Get implements client.Reader.
func (cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return manager.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (cached) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return manager.List(ctx, list, opts...)
}

// count has the requests of the reconciler counted from now on, as they are in a manager, where it reads from a cache.
func (r *rig) count() *traffic {
	r.t.Helper()
	counts := &traffic{}
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	cfg.Wrap(counts.Wrap)
	live, err := client.New(cfg, client.Options{Scheme: scheme})
	must(r.t, err)
	r.rec.Client, r.rec.Live, r.rec.Models.Cortex, r.rec.Models.Secrets = cached{live}, live, manager, live
	return counts
}

// passFor has the reconciler make the passes that it asks for within a time, one a minute at least.
func (r *rig) passFor(duration time.Duration) {
	r.t.Helper()
	for end := r.now.Add(duration); r.now.Before(end); {
		wait := time.Minute
		if res := r.once(); res.RequeueAfter > 0 {
			wait = min(wait, res.RequeueAfter)
		}
		r.now = r.now.Add(wait)
	}
}
