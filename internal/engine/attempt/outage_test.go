// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
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
			a := &Attempt{Env: enginetest.Env(t, c, run, func() time.Time { return time.Time{}.Add(tt.lasts) }), awaySeconds: 3600, Memory: &Memory{}}
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

// stillModel is a model that knows whether it is available.
type stillModel struct {
	chat.Model
	outage *chat.Outage
}

func (m stillModel) Away() *chat.Outage { return m.outage }

// While the loops of an endpoint know that it is away, a run that waits for it makes no request of its own.
func TestARunThatWaitsForItsModelMakesNoRequest(t *testing.T) {
	t.Parallel()
	const reason = outcome.ReasonModelUnavailable
	away := &chat.Outage{Reason: reason, Message: "with model-key-0123456789", RetryAfter: time.Second}
	recorded := func(asked time.Duration) *runpolicy.Outage {
		return &runpolicy.Outage{
			ModelOutage: v1alpha1.ModelOutage{Reason: reason, Message: "recorded", DeadlineSeconds: 3600}, Since: time.Unix(1000, 0).Add(-asked),
		}
	}
	for name, tt := range map[string]struct {
		last  *runpolicy.Outage
		model *chat.Outage
		waits time.Duration
	}{
		"it ended otherwise":        {nil, away, 0},
		"the endpoint is back":      {recorded(80 * time.Second), nil, 0},
		"another reason":            {recorded(80 * time.Second), &chat.Outage{Reason: outcome.ReasonModelUnauthorized, MustAct: true}, 0},
		"a cost that is not noted":  {recorded(80 * time.Second), &chat.Outage{Reason: reason, Usage: turn.Usage{PromptTokens: 1}}, 0},
		"the time for it is over":   {recorded(time.Hour), away, 0},
		"it is still away":          {recorded(80 * time.Second), away, 20 * time.Second},
		"it is away for long":       {recorded(40 * time.Minute), away, maxAway},
		"the time for it ends soon": {recorded(time.Hour - time.Second), away, time.Second},
	} {
		run := enginetest.ReadyRun()
		c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).Build()
		a := &Attempt{
			Env: enginetest.Env(t, c, run, func() time.Time { return time.Unix(1000, 0) }), Memory: &Memory{Outage: tt.last},
			Host: &Host{
				AwayModels: cortex.Resolver{Cortex: c, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "m"}},
				NewModel:   func(cortex.Endpoint) (chat.Model, error) { return stillModel{outage: tt.model}, nil },
			},
		}
		o := a.stillAway(t.Context())
		if (o != nil) != (tt.waits > 0) || (a.Memory.Outage != nil) != (tt.waits > 0) {
			t.Errorf("%s: %v", name, o)
			continue
		}
		if o == nil {
			continue
		}
		if o.RetryAfter < tt.waits || o.RetryAfter > tt.waits*3/2 || o.Message != "recorded" {
			t.Errorf("%s: %+v", name, o)
		}
		// Without clients, a journal that is read panics.
		a.Env.Client, a.Env.Live = nil, nil
		_, err := a.Run(t.Context())
		if got, ok := errors.AsType[*chat.Outage](err); !ok || got.Reason != reason || a.Memory.Outage == nil {
			t.Errorf("%s: the loop ended with %v", name, err)
		}
		a.Memory.Note(err)
		if a.Memory.Outage == nil {
			t.Errorf("%s: the next start does not know of the outage", name)
		}
	}
	// Without a resolver of its own, each run looks for itself.
	a := &Attempt{Memory: &Memory{Outage: recorded(0)}, Host: &Host{}}
	if o := a.stillAway(t.Context()); o != nil {
		t.Errorf("got %v", o)
	}
}

// Runs that wait for room would read their journals all the time, while etcd has enough to do.
func TestARunThatIsHeldReadsNoJournal(t *testing.T) {
	t.Parallel()
	recorded := func(reason string, asked time.Duration) *runpolicy.Outage {
		return &runpolicy.Outage{
			ModelOutage: v1alpha1.ModelOutage{Reason: reason, Message: "recorded", MustAct: true, DeadlineSeconds: 3600}, Since: time.Unix(1000, 0).Add(-asked),
		}
	}
	run := enginetest.ReadyRun()
	for name, tt := range map[string]struct {
		last    *runpolicy.Outage
		storage Storage
		waits   bool
	}{
		"it is still held":        {recorded(v1alpha1.ReasonStorageFull, 80*time.Second), fullStorage{namespace: run.Namespace}, true},
		"there is room":           {recorded(v1alpha1.ReasonStorageFull, 80*time.Second), fullStorage{namespace: "other"}, false},
		"it is unknown":           {recorded(v1alpha1.ReasonStorageFull, 80*time.Second), fullStorage{namespace: run.Namespace, err: errors.New("no cache")}, false},
		"the time for it is over": {recorded(v1alpha1.ReasonStorageFull, time.Hour), fullStorage{namespace: run.Namespace}, false},
		"another reason":          {recorded(outcome.ReasonModelUnauthorized, 80*time.Second), fullStorage{namespace: run.Namespace}, false},
		"there is no bound":       {recorded(v1alpha1.ReasonStorageFull, 80*time.Second), nil, false},
	} {
		a := &Attempt{
			Env:    enginetest.Env(t, fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).Build(), run, func() time.Time { return time.Unix(1000, 0) }),
			Memory: &Memory{Outage: tt.last}, Host: &Host{Storage: tt.storage},
		}
		if o := a.stillAway(t.Context()); (o != nil) != tt.waits || (a.Memory.Outage != nil) != tt.waits {
			t.Errorf("%s: %v", name, o)
			continue
		}
		if !tt.waits {
			continue
		}
		// Without clients, a journal that is read panics.
		a.Env.Client, a.Env.Live = nil, nil
		_, err := a.Run(t.Context())
		if o, ok := errors.AsType[*chat.Outage](err); !ok || o.Reason != v1alpha1.ReasonStorageFull || o.Message != "recorded" || o.RetryAfter < 20*time.Second {
			t.Errorf("%s: the loop ended with %v", name, err)
		}
	}
}
