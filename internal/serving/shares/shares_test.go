// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

// One user leaves something for others, and what is given back can be taken again.
func TestShares(t *testing.T) {
	t.Parallel()
	s := New(5, 3)
	for i, tt := range []struct {
		user string
		much int64
		want bool
	}{{"a", 2, true}, {"a", 2, false}, {"a", 1, true}, {"b", 3, false}, {"b", 2, true}, {"c", 1, false}} {
		if got := s.Take(tt.user, tt.much); got != tt.want {
			t.Errorf("%d: %s takes %d: %t", i, tt.user, tt.much, got)
		}
	}
	s.Give("a", 2)
	s.Give("a", 1)
	if !s.Take("c", 3) || s.Take("a", 1) {
		t.Error("what is given back cannot be taken, or more than that")
	}
	s.Give("b", 2)
	s.Give("c", 3)
	if len(s.by) != 0 || s.used != 0 {
		t.Errorf("%v are left, and %d", s.by, s.used)
	}
}

// waits begins to wait, and returns what tells how that came out.
func waits(ctx context.Context, t *testing.T, s *Shares, user string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	s.mu.Lock()
	before := s.waiting.Len()
	s.mu.Unlock()
	go func() { ended <- s.Wait(ctx, user, 1) }()
	for over := time.Now().Add(time.Minute); ; runtime.Gosched() {
		s.mu.Lock()
		now := s.waiting.Len()
		s.mu.Unlock()
		if now > before {
			return ended
		}
		if time.Now().After(over) {
			t.Fatal("nothing waits")
		}
	}
}

func got(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it waits on")
		return nil
	}
}

// What is given back goes to the one that waits the longest, but for one whose own share is used up.
func TestTheLongestWaitComesFirst(t *testing.T) {
	t.Parallel()
	s := New(3, 2)
	for _, user := range []string{"a", "a", "b"} {
		if !s.Take(user, 1) {
			t.Fatalf("%s gets nothing", user)
		}
	}
	same := waits(t.Context(), t, s, "a")
	first, second := waits(t.Context(), t, s, "c"), waits(t.Context(), t, s, "d")
	s.Give("b", 1)
	if err := got(t, first); err != nil {
		t.Error(err)
	}
	s.Give("c", 1)
	if err := got(t, second); err != nil {
		t.Error(err)
	}
	if len(same) > 0 || s.used != 3 {
		t.Errorf("a user has more than its share: %d are used", s.used)
	}
	s.Give("a", 1)
	if err := got(t, same); err != nil {
		t.Error(err)
	}
}

// A user whose queue is long, and began earlier, is not before a user that has nothing yet.
func TestAUserThatHasLessComesFirst(t *testing.T) {
	t.Parallel()
	s := New(3, 3)
	for _, user := range []string{"a", "a", "b"} {
		if !s.Take(user, 1) {
			t.Fatalf("%s gets nothing", user)
		}
	}
	first, second := waits(t.Context(), t, s, "a"), waits(t.Context(), t, s, "a")
	other := waits(t.Context(), t, s, "c")
	s.Give("b", 1)
	if err := got(t, other); err != nil {
		t.Error(err)
	}
	if len(first) > 0 || len(second) > 0 {
		t.Error("a user that has more comes first")
	}
	s.Give("c", 1)
	if err := got(t, first); err != nil {
		t.Error(err)
	}
	s.Give("a", 1)
	if err := got(t, second); err != nil {
		t.Error(err)
	}
}

// One that waits no more has nothing, and keeps nothing from others.
func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := New(1, 1)
	if err := s.Wait(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := waits(ctx, t, s, "b")
	cancel(enough)
	if err := got(t, ended); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if s.waiting.Len() != 0 {
		t.Errorf("%d wait", s.waiting.Len())
	}
	s.Give("a", 1)
	if !s.Take("c", 1) {
		t.Error("it is taken by one that waits no more")
	}
}
