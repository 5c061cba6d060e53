// SPDX-License-Identifier: Apache-2.0

// Package live tells pages what changed in the cluster. Pages of one person share their watches, which see names alone: a page reads what it shows.
package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/serving/shares"
)

// maxPending is how many changes a slow page is told one by one.
const maxPending = 256

// Limits are how many pages are told at once, and how many watches there are for them.
type Limits struct {
	// Pages is for all persons together, and PagesOf for one.
	Pages, PagesOf int
	// Feeds is how many persons and namespaces are watched at once, and FeedsOf how many namespaces for one person.
	Feeds, FeedsOf int
}

var (
	// ErrFull is why a page is not told.
	ErrFull = errors.New("too many windows are open: close some of them")
	// ErrClosed is why a page is told nothing more.
	ErrClosed = errors.New("the server is about to end")
)

// Kinds of changes.
const (
	// KindAll: anything may have changed.
	KindAll = "all"
	// KindRun: a run or one of its steps changed.
	KindRun = "run"
	// KindSkill: a skill changed.
	KindSkill = "skill"
	// KindTrouble: something cannot be watched, and Text says why, or can be again, and it is "".
	KindTrouble = "trouble"
)

// Change is something that a page may have to read again.
type Change struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Text      string `json:"text,omitempty"`
}

// Hub has the watches.
type Hub struct {
	explain func(error) string
	limits  Limits

	mu    sync.Mutex
	feeds map[feedKey]*feed
	// pages has those of each person, and of all.
	pages  *shares.Shares
	closed bool
	done   chan struct{}
	wg     sync.WaitGroup
}

type feedKey struct{ who, namespace string }

// New returns a hub. explain puts into words why something cannot be watched.
func New(explain func(error) string, limits Limits) *Hub {
	return &Hub{explain: explain, limits: limits, pages: shares.New(int64(limits.Pages), int64(limits.PagesOf)), feeds: map[feedKey]*feed{}, done: make(chan struct{})}
}

// Subscription is one page.
type Subscription struct {
	feed *feed
	hub  *Hub

	mu      sync.Mutex
	pending map[Change]bool
	wake    chan struct{}
}

// Subscribe has a page told of a namespace, of all if it is "". Close ends it. who tells persons apart: those with the same share the client of the
// first of them.
func (h *Hub) Subscribe(who string, c client.WithWatch, namespace string) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := feedKey{who, namespace}
	f := h.feeds[key]
	if h.closed || f == nil && h.feedsFull(who) || !h.pages.Take(who, 1) {
		return nil, ErrFull
	}
	if f == nil {
		// The feed ends with its last page, and not with the request that began it.
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{client: c, namespace: namespace, explain: h.explain, end: cancel, key: key, pages: map[*Subscription]bool{}, trouble: map[string]string{}}
		h.feeds[key] = f
		for _, k := range kinds {
			h.wg.Go(func() { f.watch(ctx, k) })
		}
	}
	s := &Subscription{feed: f, hub: h, pending: map[Change]bool{}, wake: make(chan struct{}, 1)}
	f.add(s)
	return s, nil
}

// feedsFull reports whether a person can have no further namespace watched. The lock is held.
func (h *Hub) feedsFull(who string) bool {
	of := 0
	for key := range h.feeds {
		if key.who == who {
			of++
		}
	}
	return of >= h.limits.FeedsOf || len(h.feeds) >= h.limits.Feeds
}

// Close ends the subscription, and with the last one of a feed its watches. It may be called once.
func (s *Subscription) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages.Give(s.feed.key.who, 1)
	if s.feed.remove(s) == 0 {
		s.feed.end()
		delete(h.feeds, s.feed.key)
	}
}

// Close ends all watches and subscriptions, and waits for the watches. No subscription begins after it.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		close(h.done)
	}
	h.closed = true
	for _, f := range h.feeds {
		f.end()
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// Next waits for changes, and returns all that there are, each once. It returns ErrClosed when the hub is closed.
func (s *Subscription) Next(ctx context.Context) ([]Change, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.hub.done:
			return nil, ErrClosed
		case <-s.wake:
		}
		if changes := s.take(); len(changes) > 0 {
			return changes, nil
		}
	}
}

func (s *Subscription) take() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := make([]Change, 0, len(s.pending))
	for c := range s.pending {
		changes = append(changes, c)
	}
	clear(s.pending)
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text))
	})
	return changes
}

// tell adds a change. A page that does not keep up is told that anything may have changed, and no list grows.
func (s *Subscription) tell(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Kind == KindTrouble {
		// Only how it stands now is worth telling.
		for p := range s.pending {
			if p.Kind == KindTrouble && p.Name == c.Name {
				delete(s.pending, p)
			}
		}
	}
	if len(s.pending) >= maxPending && c.Kind != KindTrouble {
		c = Change{Kind: KindAll}
	}
	if c.Kind == KindAll {
		for p := range s.pending {
			if p.Kind != KindTrouble {
				delete(s.pending, p)
			}
		}
	}
	if c.Kind == KindTrouble || !s.pending[Change{Kind: KindAll}] {
		s.pending[c] = true
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
