// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// A run waits a quarter of the duration of the outage, no longer than its time for it, and fails when that is over. The endpoint's
// message is shown without secret values, and nothing is written without the Lease.
func TestAwayUntil(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lasts, asked, least, most time.Duration
		mustAct, fails            bool
	}{
		"at first":                     {time.Second, 0, minAway, minAway * 3 / 2, false, false},
		"a quarter of the time":        {80 * time.Second, 0, 20 * time.Second, 30 * time.Second, false, false},
		"no more than a minute":        {40 * time.Minute, 0, maxAway, maxAway * 3 / 2, false, false},
		"where somebody must act, two": {40 * time.Minute, 0, maxAwayAct, maxAwayAct * 3 / 2, true, false},
		"what the endpoint asks for":   {time.Second, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute, false, false},
		"not beyond its time":          {time.Hour - time.Second, 5 * time.Minute, time.Second, time.Second, false, false},
		"when that is over":            {time.Hour, 0, 0, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := enginetest.ReadyRun()
			step := enginetest.Step(run, 1, 1)
			c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(step).WithStatusSubresource(step).Build()
			// The outage is recorded at the zero time: the store of the test sets none.
			a := &Attempt{Env: enginetest.Env(t, c, run, func() time.Time { return time.Time{}.Add(tt.lasts) }), awaySeconds: 3600}
			a.Env.Known, _ = enginetest.Secrets()
			lease := &enginetest.Lease{}
			a.Env.Lease = lease
			err := a.awayUntil(t.Context(), &chat.Outage{
				Reason: outcome.ReasonModelUnavailable, Message: "The endpoint says model-key-0123456789.", MustAct: tt.mustAct, RetryAfter: tt.asked,
			})
			if err == nil || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("got %v", err)
			}
			o, waits := errors.AsType[*chat.Outage](err)
			f, over := errors.AsType[*outcome.Failure](err)
			if waits == tt.fails || over != tt.fails || over && !f.Retryable {
				t.Fatalf("got %v", err)
			}
			if waits && (o.RetryAfter < tt.least || o.RetryAfter > tt.most) {
				t.Errorf("the next try is in %s, want %s to %s", o.RetryAfter, tt.least, tt.most)
			}
			lease.Lose(true)
			before := a.Env.Entries.Writes()
			if err := a.awayUntil(t.Context(), &chat.Outage{Reason: "Other"}); !errors.Is(err, runenv.ErrNoLease) || a.Env.Entries.Writes() != before {
				t.Errorf("without a Lease: %v", err)
			}
		})
	}
}
