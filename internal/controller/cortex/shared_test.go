// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestShared(t *testing.T) {
	t.Parallel()
	now, asked, answer := time.Unix(1000, 0), 0, errors.New("away")
	check := Shared(func() time.Time { return now }, func(ctx context.Context) (bool, error) {
		asked++
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return answer == nil, answer
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	away := answer
	for _, step := range []struct {
		name  string
		after time.Duration
		ends  bool
		is    error
		asked int
		want  error
	}{
		{"the first asks", 0, false, away, 1, away},
		{"the next is given the same", 29 * time.Second, false, nil, 1, away},
		{"later the service is asked again", time.Second, false, nil, 2, nil},
		{"the answer to a context that ended", sharedFor, true, away, 3, context.Canceled},
		{"is given to no other", 0, false, away, 4, away},
		{"a clock that was set back", -time.Hour, false, nil, 5, nil},
	} {
		now, answer = now.Add(step.after), step.is
		ctx := t.Context()
		if step.ends {
			ctx = ended
		}
		if ok, err := check(ctx); asked != step.asked || !errors.Is(err, step.want) || ok != (step.want == nil) {
			t.Errorf("%s: asked %d times, %t, %v", step.name, asked, ok, err)
		}
	}
}
