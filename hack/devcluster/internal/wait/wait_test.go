// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	never := errors.New("not yet")
	cases := map[string]struct {
		deadline time.Duration
		holdsAt  int
		wantErr  error
	}{
		"holds at once":       {deadline: time.Minute, holdsAt: 1},
		"holds at the third":  {deadline: time.Minute, holdsAt: 3},
		"never holds":         {deadline: 20 * time.Millisecond, holdsAt: -1, wantErr: never},
		"no time left at all": {deadline: 0, holdsAt: -1, wantErr: never},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			err := Until(t.Context(), tc.deadline, time.Millisecond, func(context.Context) error {
				if calls++; calls == tc.holdsAt {
					return nil
				}
				return never
			})
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("Until() = %v, want %v", err, tc.wantErr)
			}
		})
	}
}

func TestUntilStopsAtAFinalError(t *testing.T) {
	broken := errors.New("broken for good")
	calls := 0
	err := Until(t.Context(), time.Hour, time.Minute, func(context.Context) error {
		calls++
		return Final(broken)
	})
	if err != broken || calls != 1 {
		t.Errorf("Until() = %v after %d calls, want %v after one", err, calls, broken)
	}
}

func TestUntilStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	if err := Until(ctx, time.Hour, time.Minute, func(context.Context) error { return errors.New("no") }); err == nil {
		t.Error("Until() = nil for a cancelled context")
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("Until() returned after %s", took)
	}
}
