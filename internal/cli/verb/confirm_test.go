// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{"y\n": true, "\tYES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yess\n": false, "n\ny\n": false} {
		var shown strings.Builder
		yes, err := verb.Streams{In: strings.NewReader(typed), Err: &shown}.Confirm(t.Context(), "Go on?")
		if err != nil || yes != want || shown.String() != "Go on? [y/N] " {
			t.Errorf("%q: %t, %v, shown is %q", typed, yes, err, &shown)
		}
	}
	if yes, err := (verb.Streams{Err: io.Discard}).Confirm(t.Context(), "Go on?"); yes || err != nil {
		t.Errorf("without an input: %t, %v", yes, err)
	}
}

// A person who types nothing can end the program.
func TestAQuestionEndsWithTheContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	cancel(stopped)
	if yes, err := (verb.Streams{In: in, Err: io.Discard}).Confirm(ctx, "Go on?"); yes || !errors.Is(err, stopped) {
		t.Errorf("%t, %v", yes, err)
	}
}
