// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	panicked, failed := fmt.Errorf("run: %w", motorloop.NewPanic("x")), errors.New("no answer")
	missing := fmt.Errorf("read: %w", runenv.ErrMissing)
	away := fmt.Errorf("ask: %w", &chat.Outage{Reason: outcome.ReasonModelUnavailable})
	now := time.Now()
	for name, tt := range map[string]struct {
		errs           []error
		failures       int
		panics         int
		missingIsKnown bool
	}{
		"nothing":                          {nil, 0, 0, false},
		"panics":                           {[]error{panicked, panicked}, 2, 2, false},
		"panics, not in a row":             {[]error{panicked, failed, panicked}, 3, 1, false},
		"panics, and an outage between":    {[]error{panicked, panicked, away, panicked}, 1, 3, false},
		"the end after panics fails":       {[]error{panicked, panicked, panicked, failed}, 4, 3, false},
		"success":                          {[]error{panicked, missing, nil}, 0, 0, false},
		"missing":                          {[]error{missing, missing}, 2, 0, true},
		"missing, then something else was": {[]error{missing, failed}, 2, 0, false},
	} {
		var h Memory
		for _, err := range tt.errs {
			if errors.Is(err, runenv.ErrMissing) && !h.Absence.MayEnd(now) {
				t.Errorf("%s: given up at once", name)
			}
			h.Note(err)
		}
		if h.Failures != tt.failures || h.Panics != tt.panics || h.Absence.Since.IsZero() == tt.missingIsKnown {
			t.Errorf("%s: %+v", name, h)
		}
	}
	var h Memory
	if !h.Absence.MayEnd(now) || !h.Absence.MayEnd(now.Add(runenv.MissingFor-1)) || h.Absence.MayEnd(now.Add(runenv.MissingFor)) {
		t.Error("what is missing is not waited for exactly as long as it may be")
	}
}
