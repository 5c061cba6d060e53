// SPDX-License-Identifier: Apache-2.0

package pageserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxAnswer is the most bytes of an answer of the API server. An object has up to 1.5 MiB, and a list has many: it is asked for in parts that fit.
	maxAnswer = 8 << 20
	// smallAnswer is the most bytes of an answer that needs no turn.
	smallAnswer = 512 << 10
	// turns is how many requests of the page have large answers in memory at once. Each takes some times the bytes of its answer.
	turns = 6
)

// turn is what a request of the page holds while it has large answers in memory: the only one of its person, and one of all. It is taken with the first
// such answer, and given back with the end of the request. Without it, a namespace full of large objects would take the memory of the server.
type turn struct {
	all, own *semaphore.Weighted
	taken    bool
}

type turnKey struct{}

// take waits for the turn, unless the request has it. The answers of a request come one after the other.
func (t *turn) take(ctx context.Context) error {
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

// end releases the turn.
func (t *turn) end() {
	if t.taken {
		t.own.Release(1)
		t.all.Release(1)
	}
	t.taken = false
}

// answers bounds what the API server answers.
type answers struct{ next http.RoundTripper }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.next.RoundTrip(r)
	// A watch is read object by object.
	if err != nil || r.URL.Query().Has("watch") {
		return answer, err
	}
	b := &answerBody{ReadCloser: http.MaxBytesReader(nil, answer.Body, maxAnswer), ctx: r.Context()}
	b.turn, _ = r.Context().Value(turnKey{}).(*turn)
	answer.Body = b
	return answer, nil
}

// answerBody waits for the turn of its request when it turns out to be large.
type answerBody struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // Reading has none of its own, and ends with the request.
	turn *turn
	read int
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.turn != nil && b.read > smallAnswer {
		if err := b.turn.take(b.ctx); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// parts is a client that asks for a smaller part of a list if the one that it was to read is too large. The rest is read as the rest of any list.
type parts struct{ client.WithWatch }

func (p parts) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	for size := (&client.ListOptions{}).ApplyOptions(options).Limit; ; size /= 2 {
		err := p.WithWatch.List(ctx, list, append(slices.Clip(options), client.Limit(size))...)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge || size <= 1 {
			return err
		}
	}
}
