// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// sent is a network that answers with so many bytes.
type sent int

func (s sent) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Body: io.NopCloser(io.LimitReader(endless{}, int64(s)))}, nil
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// read sends a request that is a part of a request, and returns how many bytes of the answer were read.
func read(ctx context.Context, t *testing.T, of *Turn, size int, address string) (n int64, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(of.With(ctx), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Bound(sent(size)).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return io.Copy(io.Discard, answer.Body)
}

// One user has large answers of one request in memory, and all users those of a few. Small answers wait for none.
func TestLargeAnswersWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	const large = 2 * Small
	over, cancel := context.WithCancel(t.Context())
	cancel()
	all, own := semaphore.NewWeighted(2), semaphore.NewWeighted(1)
	first := &Turn{all: all, own: own}
	for range 2 {
		if n, err := read(t.Context(), t, first, large, "https://a/x"); n != large || err != nil {
			t.Errorf("the first request: %d, %v", n, err)
		}
	}
	second := &Turn{all: all, own: own}
	if _, err := read(over, t, second, large, "https://a/x"); !errors.Is(err, context.Canceled) {
		t.Errorf("a second request of the person: %v", err)
	}
	if n, err := read(over, t, second, Small, "https://a/x"); n != Small || err != nil {
		t.Errorf("a second request with a small answer: %d, %v", n, err)
	}
	if n, err := read(over, t, second, 2*Max, "https://a/x?watch=true"); n != 2*Max || err != nil {
		t.Errorf("a watch: %d, %v", n, err)
	}
	other := &Turn{all: all, own: semaphore.NewWeighted(1)}
	if _, err := read(t.Context(), t, other, large, "https://a/x"); err != nil {
		t.Errorf("another person: %v", err)
	}
	third := &Turn{all: all, own: semaphore.NewWeighted(1)}
	if _, err := read(over, t, third, large, "https://a/x"); !errors.Is(err, context.Canceled) {
		t.Errorf("a third person: %v", err)
	}
	for _, of := range []*Turn{first, second, other, third} {
		of.End()
		of.End()
	}
	for _, of := range []*Turn{second, third} {
		if _, err := read(t.Context(), t, of, large, "https://a/x"); err != nil {
			t.Errorf("when the others have ended: %v", err)
		}
	}
	if n, err := read(t.Context(), t, second, 2*Max, "https://a/x"); err == nil || n > Max {
		t.Errorf("an answer that is too large: %d, %v", n, err)
	}
}

// A call that goes on for long holds its turn for an answer alone, and not while it reads the next one.
func TestABriefTurnIsGivenBack(t *testing.T) {
	t.Parallel()
	all := NewTurns(1)
	turn := all.BeginBrief()
	turn.brief = time.Millisecond
	turn.For(NewOwn())
	if _, err := read(t.Context(), t, turn, 2*Small, "https://a/x"); err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(time.Minute); !all.Free(1); runtime.Gosched() {
		if time.Now().After(over) {
			t.Fatal("the turn is held though the answer was read")
		}
	}
	if err := turn.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if turn.endAfter(1); all.Free(1) {
		t.Error("the end of an earlier answer takes the turn from the next one")
	}
	if turn.endAfter(2); !all.Free(1) {
		t.Error("the turn is held after the last answer")
	}
}

// parts is a body that is read in these parts.
type parts [][]byte

func (p *parts) Read(into []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(into, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	return n, nil
}

func (p *parts) Close() error { return nil }

func (p *parts) RoundTrip(*http.Request) (*http.Response, error) { return &http.Response{Body: p}, nil }

// A watch goes on for hours. It has the turn while it reads a large object, and a while longer.
func TestLargeObjectsOfAWatchWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	large := append(bytes.Repeat([]byte("x"), 2*Small), '\n')
	little := append(bytes.Repeat([]byte("x"), Small), '\n')
	all := NewTurns(1)
	taken := all.Begin()
	taken.For(NewOwn())
	if err := taken.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	watch := func(ctx context.Context, of ...[]byte) (*Turn, error) {
		turn := all.BeginBrief()
		turn.brief = time.Hour
		turn.For(NewOwn())
		r, err := http.NewRequestWithContext(turn.With(ctx), http.MethodGet, "https://a/x?watch=true", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := Bound((*parts)(&of)).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return turn, err
	}
	if _, err := watch(over, little, little, little); err != nil {
		t.Errorf("small objects: %v", err)
	}
	if _, err := watch(over, little, large); !errors.Is(err, context.Canceled) {
		t.Errorf("a large one: %v", err)
	}
	taken.End()
	turn, err := watch(t.Context(), large, large, little)
	if err != nil || turn.answers != 2 || all.Free(1) {
		t.Errorf("%d objects had the turn, which is free: %t, %v", turn.answers, all.Free(1), err)
	}
	if turn.endAfter(2); !all.Free(1) {
		t.Error("the turn is held after the last object")
	}
	if _, err := watch(t.Context(), bytes.Repeat([]byte("x"), 2*Max)); err == nil {
		t.Error("an object has no bound")
	}
}
