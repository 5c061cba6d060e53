// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// A model that answers one request with malformed answers is not asked for an hour.
func TestMalformedAnswersEndTheAttempt(t *testing.T) {
	t.Parallel()
	var h Memory
	malformed := &chat.Outage{Reason: outcome.ReasonModelMalformed, Message: "The model endpoint h answered without any choices."}
	inner := &countingModel{err: malformed}
	ask := func(task string) error {
		_, err := readableModel{inner, &h}.Complete(t.Context(), request(task))
		h.Note(err)
		h.gotFurther()
		return err
	}
	for _, task := range []string{"step 1", "step 2"} {
		for range maxMalformed - 1 {
			if err := ask(task); !errors.Is(err, malformed) {
				t.Fatalf("%s: got %v, want the outage", task, err)
			}
		}
		// Another kind of outage is no malformed answer.
		inner.err = &chat.Outage{Reason: outcome.ReasonModelUnavailable}
		for range maxMalformed {
			if err := ask(task); !errors.Is(err, inner.err) {
				t.Fatalf("%s: got %v, want the outage", task, err)
			}
		}
		inner.err = malformed
	}
	err := ask("step 2")
	f, ok := errors.AsType[*outcome.Failure](err)
	if !ok || f.Reason != outcome.ReasonModelMalformed || f.Category != outcome.ModelFailure || !strings.HasPrefix(f.Message, malformed.Message) {
		t.Fatalf("got %v, want the failure of the model", err)
	}
	if n := 2*(maxMalformed-1) + 2*maxMalformed + 1; inner.asked != n {
		t.Errorf("asked %d times, want %d", inner.asked, n)
	}
}
