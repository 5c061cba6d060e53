// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"testing"

	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// writes counts what comes through to the journal.
type writes struct {
	motorloop.Journal
	n int
}

func (w *writes) Append(context.Context, *motorloop.Turn) error { w.n++; return nil }

// A process that was frozen decides nothing any more when it thaws, not even before its loops are ended.
func TestNoStepWithoutALease(t *testing.T) {
	t.Parallel()
	lease := &enginetest.Lease{}
	w := &writes{}
	j := leasedJournal{w, lease}
	if err := j.Append(t.Context(), nil); err != nil || w.n != 1 {
		t.Fatalf("with a Lease: %v", err)
	}
	lease.Lose(true)
	if err := j.Append(t.Context(), nil); !errors.Is(err, runenv.ErrNoLease) || w.n != 1 {
		t.Fatalf("without a Lease: %v, %d steps", err, w.n)
	}
}
