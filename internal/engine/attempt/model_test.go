// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// countingModel answers each request with its own number.
type countingModel struct {
	asked int
	err   error
}

func (m *countingModel) Complete(context.Context, chat.Request) (chat.Answer, error) {
	m.asked++
	return chat.Answer{Content: fmt.Sprint("answer ", m.asked)}, m.err
}

func request(task string) chat.Request {
	return chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Content: task}}}
}

// A step that the API server refuses for an hour costs one answer, not one for each start of the loop.
func TestAnAnswerThatIsNotRecordedIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	var h Memory
	model := &countingModel{}
	ask := func(task, want string) {
		t.Helper()
		a, err := memoModel{model, &h}.Complete(t.Context(), request(task))
		if err != nil || a.Content != want {
			t.Fatalf("got %q, %v, want %q", a.Content, err, want)
		}
	}
	refused := errors.New("create step: quota exceeded")
	for range 5 {
		ask("step 1", "answer 1")
		h.Note(refused)
	}
	// It is recorded at last, and the answer after it is not.
	for range 5 {
		ask("step 2", "answer 2")
		h.gotFurther()
		h.Note(refused)
	}
	// The end of an attempt has two.
	for range 5 {
		ask("partial", "answer 3")
		ask("hint", "answer 4")
		h.Note(refused)
	}
	if len(h.unrecorded) > maxUnrecorded {
		t.Errorf("%d answers are kept", len(h.unrecorded))
	}
	h.Note(motorloop.NewPanic("x"))
	ask("hint", "answer 5")
	h.Note(nil)
	ask("hint", "answer 6")
	// A failure is no answer.
	model.err = errors.New("no answer")
	for n := 7; n < 10; n++ {
		if _, err := (memoModel{model, &h}).Complete(t.Context(), request("more")); err == nil || model.asked != n {
			t.Fatalf("asked %d times, %v", model.asked, err)
		}
	}
}

// Only a step needs a sandbox: none is prepared for the requests at the end of an attempt.
func TestAPatientModelWaitsWithStepsOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m := readyModel{&countingModel{}, make(chan struct{})}
	if a, err := m.Complete(ctx, request("partial")); err != nil || a.Content != "answer 1" {
		t.Fatalf("got %q, %v", a.Content, err)
	}
	cancel()
	step := request("step")
	step.Tools = catalog.Definitions(nil)
	if _, err := m.Complete(ctx, step); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}
