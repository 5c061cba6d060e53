// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// A run whose MotorCortex was changed asks its model at once. It takes no former key from another run: by that the model would still be away.
func TestAChangedMotorCortexIsReadAnew(t *testing.T) {
	t.Parallel()
	e := testEngine(t, 0, io.Discard, nil)
	waits := func(running bool) *worker {
		return &worker{
			away: true, running: running, retryAt: time.Now().Add(time.Minute), memory: attempt.Memory{Outage: &runpolicy.Outage{}}, cancel: func() {},
		}
	}
	idle, busy, other := waits(false), waits(true), waits(false)
	e.loops = map[types.NamespacedName]*worker{
		{Namespace: "ns", Name: "idle"}: idle, {Namespace: "ns", Name: "busy"}: busy, {Namespace: "other", Name: "run"}: other,
	}
	list := e.awayRuns(t.Context(), &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}})
	if len(list) != 1 || list[0].Name != "idle" || !idle.retryAt.IsZero() || idle.memory.Outage != nil {
		t.Errorf("%v: next start at %s, %+v", list, idle.retryAt, idle.memory)
	}
	if other.retryAt.IsZero() || other.memory.Outage == nil {
		t.Error("a run of another namespace is started")
	}
	// The change came while its loop asked the former model.
	e.note(busy, nil, &chat.Outage{RetryAfter: time.Minute}, slog.New(slog.DiscardHandler))
	if !busy.retryAt.IsZero() || busy.memory.Outage != nil {
		t.Errorf("next start at %s, %+v", busy.retryAt, busy.memory)
	}
	e.note(other, nil, &chat.Outage{RetryAfter: time.Minute}, slog.New(slog.DiscardHandler))
	if other.retryAt.IsZero() || other.memory.Outage == nil {
		t.Error("a run whose MotorCortex is the same does not wait")
	}
}
