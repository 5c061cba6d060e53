// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// told watches a run, and does the next thing after each event.
func (r *rig) told(ctx context.Context, then ...func()) (string, error) {
	var all []string
	for e, err := range r.Watch(ctx, "a") {
		if err != nil {
			return strings.Join(all, ", "), err
		}
		words := string(e.Type)
		if e.Ask != nil {
			words += " " + e.Ask.ID
		}
		all = append(all, words)
		if len(then) > 0 {
			then[0]()
			then = then[1:]
		}
	}
	return strings.Join(all, ", "), nil
}

func TestWatchEndsWithTheRun(t *testing.T) {
	t.Parallel()
	q := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}
	for name, lose := range map[string]bool{"one watch": false, "lost watches": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a"))
			if lose {
				// Every watch is over at once: what is new is found by reading.
				r.motor.PrependWatchReactor("motorruns", func(k8stesting.Action) (bool, watch.Interface, error) {
					w := watch.NewFake()
					w.Stop()
					return true, w, nil
				})
			}
			got, err := r.told(t.Context(),
				func() { r.becomes(aRun("a", asking(q))) },
				func() {}, // the change of the phase
				func() { r.becomes(aRun("a")) },
				func() {}, // the change of the phase
				func() { r.becomes(aRun("a", ended(true))) },
			)
			if want := "Changed, Changed, Asked q, Changed, Answered q, Ended"; got != want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		})
	}
}

func TestWatchOfWhatCannotBeWatched(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	for name, tt := range map[string]struct {
		err  error
		says string
		once bool // whether it is tried once
	}{
		"no such run": {apierrors.NewNotFound(runs, "a"), "not found", true},
		"no right":    {apierrors.NewForbidden(runs, "a", errors.New("no")), "motorcortex-viewer", true},
		"no cluster":  {errors.New("no route"), "no route", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.patience = 20 * time.Millisecond
			tries := 0
			r.motor.PrependReactor("get", "motorruns", func(k8stesting.Action) (bool, runtime.Object, error) {
				tries++
				return true, nil, tt.err
			})
			_, err := r.told(t.Context())
			wantError(t, err, tt.says)
			if tt.once != (tries == 1) {
				t.Errorf("it was tried %d times", tries)
			}
		})
	}
}

// A proxy can cut every watch. The run is then followed by reading it.
func TestWatchGoesOnWhileTheRunCanBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a"))
	now, cut := time.Unix(1000, 0), 0
	r.now = func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
	r.motor.PrependWatchReactor("motorruns", func(k8stesting.Action) (bool, watch.Interface, error) {
		if cut++; cut == 20 {
			r.becomes(aRun("a", ended(true)))
		}
		return true, nil, errors.New("cut")
	})
	if got, err := r.told(t.Context()); got != "Changed, Ended" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A run of the same name that is created after the deletion of the watched one is not taken for it.
func TestWatchOfARunThatIsDeleted(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"gone": false, "another one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a"))
			got, err := r.told(t.Context(), func() {
				runs := r.motor.MotorCortexV1alpha1().MotorRuns("ns")
				if err := runs.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				if again {
					_, _ = runs.Create(t.Context(), aRun("a", func(run *v1alpha1.MotorRun) { run.UID = "another" }), metav1.CreateOptions{})
				}
			})
			if !errors.Is(err, ErrGone) || got != "Changed" {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	got, err := r.told(ctx, func() { cancel(enough) })
	if !errors.Is(err, enough) || got != "Changed" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	q := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}
	r := newRig(t, aRun("a", asking(q)))
	run, err := r.Wait(t.Context(), "a", true)
	if err != nil || run.Status.CompletionTime != nil {
		t.Errorf("until it asks: %v, %v", run, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { r.becomes(aRun("a", ended(false))) })
	if run, err = r.Wait(t.Context(), "a", false); err != nil || run.Status.CompletionTime == nil {
		t.Errorf("until its end: %v, %v", run, err)
	}
}
