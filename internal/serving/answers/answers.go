// SPDX-License-Identifier: Apache-2.0

// Package answers bounds what a server for many people or programs reads of the API server, so that a namespace full of large objects does not take its
// memory.
package answers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// Max is the most bytes of an answer of the API server. An object has up to 1.5 MiB, and a list has many: it is asked for in parts that fit. A longer
	// answer ends with *http.MaxBytesError.
	Max = 8 << 20
	// Small is the most bytes of an answer that needs no turn.
	Small = 512 << 10
)

// Turns are the turns of the users of a server.
type Turns struct{ all *semaphore.Weighted }

// NewTurns returns turns of which so many are taken at once. Each takes some times the bytes of its largest answer.
func NewTurns(most int64) *Turns { return &Turns{semaphore.NewWeighted(most)} }

// Free reports whether so many turns can be taken now.
func (t *Turns) Free(count int64) bool {
	free := t.all.TryAcquire(count)
	if free {
		t.all.Release(count)
	}
	return free
}

// NewOwn returns what one user has at once: one turn.
func NewOwn() *semaphore.Weighted { return semaphore.NewWeighted(1) }

// Begin returns the turn of a request. Its user must be named before anything is read.
func (t *Turns) Begin() *Turn { return &Turn{all: t.all} }

// BeginBrief returns the turn of a request that can go on for long and keeps nothing of what it reads. The turn is given back some time after each answer.
func (t *Turns) BeginBrief() *Turn { return &Turn{all: t.all, brief: brief} }

// brief is how long an answer that was read may take to be decoded and summed up.
const brief = 2 * time.Second

// Turn is what a request holds while it has large answers in memory: the only one of its user, and one of all. It is taken with the first such answer, and
// given back with the end of the request.
type Turn struct {
	all *semaphore.Weighted
	// brief is how long it is held after an answer was read, 0 until its end.
	brief time.Duration

	mu    sync.Mutex
	own   *semaphore.Weighted
	taken bool
	// answers counts those that were read with it.
	answers int
}

type key struct{}

// With returns a context whose requests are those of the turn.
func (t *Turn) With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, t) }

// Of returns the turn that a request belongs to, nil if it needs none.
func Of(ctx context.Context) *Turn {
	t, _ := ctx.Value(key{}).(*Turn)
	return t
}

// For names the user of the request by what NewOwn returned for them.
func (t *Turn) For(own *semaphore.Weighted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own = own
}

// take waits for the turn, unless the request has it.
func (t *Turn) take(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers++
	if t.taken {
		return nil
	}
	if err := t.own.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := t.all.Acquire(ctx, 1); err != nil {
		t.own.Release(1)
		return err
	}
	t.taken = true
	return nil
}

// End returns the turn.
func (t *Turn) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// wasRead is called when an answer was read.
func (t *Turn) wasRead() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if count := t.answers; t.taken && t.brief > 0 {
		time.AfterFunc(t.brief, func() { t.endAfter(count) })
	}
}

// endAfter ends the turn unless another answer was begun meanwhile.
func (t *Turn) endAfter(count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers == count {
		t.end()
	}
}

// end returns what is taken. The caller holds mu.
func (t *Turn) end() {
	if t.taken {
		t.own.Release(1)
		t.all.Release(1)
	}
	t.taken = false
}

// Bound bounds the answers of a network. Those of watches are read object by object, and have no bound: with a brief turn, each large object waits for it.
func Bound(next http.RoundTripper) http.RoundTripper { return bounded{next} }

type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	turn := Of(r.Context())
	if r.URL.Query().Has("watch") {
		// One that is held until the end of the request would be held as long as the watch.
		if turn != nil && turn.brief > 0 {
			answer.Body = &watched{ReadCloser: answer.Body, ctx: r.Context(), turn: turn}
		}
		return answer, nil
	}
	answer.Body = &body{ReadCloser: http.MaxBytesReader(nil, answer.Body, Max), ctx: r.Context(), turn: turn}
	return answer, nil
}

// body waits for the turn of its request when it turns out to be large.
type body struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // Reading has none of its own, and ends with the request.
	turn *Turn
	read int
	// large is true if it has a turn.
	large bool
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.large {
		b.turn.wasRead()
	}
	return b.ReadCloser.Close()
}

func (b *body) Read(p []byte) (int, error) {
	if b.turn != nil && b.read > Small && !b.large {
		if err := b.turn.take(b.ctx); err != nil {
			return 0, err
		}
		b.large = true
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// watched is the answer to a watch: objects, each of which ends with a line break. Large ones wait for their turn.
type watched struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // Reading has none of its own, and ends with the watch.
	turn *Turn
	// object is how much was read of the one that has not ended, and large is true if it has a turn.
	object int
	large  bool
}

// Close implements io.Closer.
func (w *watched) Close() error {
	w.ends()
	return w.ReadCloser.Close()
}

func (w *watched) Read(p []byte) (int, error) {
	if w.object > Max {
		return 0, &http.MaxBytesError{Limit: Max}
	}
	if w.object > Small && !w.large {
		if err := w.turn.take(w.ctx); err != nil {
			return 0, err
		}
		w.large = true
	}
	n, err := w.ReadCloser.Read(p)
	end := bytes.LastIndexByte(p[:n], '\n')
	if end < 0 {
		w.object += n
		return n, err
	}
	w.ends()
	w.object = n - end - 1
	return n, err
}

// ends says that an object was read whole, or is read no further.
func (w *watched) ends() {
	if w.large {
		w.turn.wasRead()
	}
	w.large = false
}
