// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
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

// fullStorage is a storage that is full for one namespace.
type fullStorage struct {
	namespace string
	err       error
}

func (f fullStorage) Held(_ context.Context, namespace string) (string, error) {
	if namespace != f.namespace {
		return "", f.err
	}
	return "There is no room.", f.err
}

// A step that there is no room for is not asked for. The end of the attempt is.
func TestAHeldModelIsAskedForNoStep(t *testing.T) {
	t.Parallel()
	step := request("step")
	step.Tools = catalog.Definitions(nil)
	lost := errors.New("no cache")
	for name, tt := range map[string]struct {
		storage Storage
		request chat.Request
		asked   int
		outage  bool
		err     error
	}{
		"there is room":           {storage: fullStorage{namespace: "other"}, request: step, asked: 1},
		"there is none":           {storage: fullStorage{namespace: "team"}, request: step, outage: true},
		"it is unknown":           {storage: fullStorage{err: lost}, request: step, err: lost},
		"the end of the attempt":  {storage: fullStorage{namespace: "team"}, request: request("partial"), asked: 1},
		"the end, and it is lost": {storage: fullStorage{err: lost}, request: request("partial"), asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &countingModel{}
			_, err := heldModel{model, tt.storage, "team"}.Complete(t.Context(), tt.request)
			o, held := errors.AsType[*chat.Outage](err)
			if model.asked != tt.asked || held != tt.outage || !held && !errors.Is(err, tt.err) {
				t.Errorf("asked %d times, %v", model.asked, err)
			}
			if held && (o.Reason != v1alpha1.ReasonStorageFull || o.Message != "There is no room." || !o.MustAct) {
				t.Errorf("the outage is %+v", o)
			}
		})
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
