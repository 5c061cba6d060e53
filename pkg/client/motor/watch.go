// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// EventType is what happened to a run.
type EventType string

const (
	// EventChanged: its phase, its reason or the number of its steps is another one.
	EventChanged EventType = "Changed"
	// EventAsked: it waits for a person. Event.Ask says for what.
	EventAsked EventType = "Asked"
	// EventAnswered: what it asked has an answer, or is not asked any more. Event.Ask is what it was.
	EventAnswered EventType = "Answered"
	// EventEnded: it has ended. This is the last event.
	EventEnded EventType = "Ended"
)

// Event is something that happened to a run.
type Event struct {
	Type EventType
	// Run as it was then.
	Run *v1alpha1.MotorRun
	Ask *v1alpha1.PendingInput
}

// ErrGone is within the error of a watch whose run was deleted.
var ErrGone = errors.New("the run was deleted")

// Watch yields what happens to a run, from how it stands now until it has ended. Events that follow each other quickly can come as one. A watch that the
// API server ends, or whose connection is lost, is begun again. After a minute in which the run could not be read, Watch yields the error and ends. So it does when the
// context ends, when the run was deleted (ErrGone), and when the account may not read runs.
func (c *Client) Watch(ctx context.Context, name string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{client: c, name: name, yield: yield, asked: map[string]*v1alpha1.PendingInput{}}
		var failedSince time.Time
		for {
			err := f.look(ctx)
			if f.reached {
				failedSince, f.reached = time.Time{}, false
			}
			switch {
			case f.over:
				return
			case ctx.Err() != nil:
				yield(Event{}, fmt.Errorf("watch the run %s: %w", name, context.Cause(ctx)))
				return
			case err == nil:
			case apierrors.IsForbidden(err):
				yield(Event{}, c.refused("watch the run "+name, err, roleViewer))
				return
			case errors.Is(err, ErrGone), apierrors.IsNotFound(err):
				yield(Event{}, fmt.Errorf("watch the run %s in the namespace %s: %w", name, c.namespace, err))
				return
			case failedSince.IsZero():
				failedSince = c.now()
			case c.now().Sub(failedSince) > c.patience:
				yield(Event{}, fmt.Errorf("watch the run %s: %w", name, err))
				return
			}
			// A server that ends each watch at once must not be asked without a pause either.
			select {
			case <-ctx.Done():
			case <-time.After(c.pause):
			}
		}
	}
}

const roleViewer = "motorcortex-viewer"

// Wait returns the run when it has ended. With untilAsked it also returns when the run waits for a person.
func (c *Client) Wait(ctx context.Context, name string, untilAsked bool) (*v1alpha1.MotorRun, error) {
	for e, err := range c.Watch(ctx, name) {
		if err != nil {
			return nil, err
		}
		if e.Type == EventEnded || untilAsked && len(asks.Open(e.Run)) > 0 {
			return e.Run, nil
		}
	}
	return nil, fmt.Errorf("watch the run %s: it ended without an event", name)
}

// follower tells what is new of a run.
type follower struct {
	client *Client
	name   string
	yield  func(Event, error) bool

	uid           types.UID
	phase, reason string
	steps         int32
	asked         map[string]*v1alpha1.PendingInput
	over          bool
	// reached reports whether the run was read since it was last false: then the API server is not away.
	reached bool
}

// look reads the run, and then watches it until the watch ends or nothing came for a while.
func (f *follower) look(ctx context.Context) error {
	run, err := f.client.runs().Get(ctx, f.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && f.uid != "":
		return ErrGone
	case err != nil:
		return err
	}
	f.reached = true
	if err := f.tell(run); err != nil || f.over {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := f.client.runs().Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", f.name).String(), ResourceVersion: run.ResourceVersion,
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	idle := time.NewTimer(f.client.quiet)
	defer idle.Stop()
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if done, err := f.take(e); done || err != nil || f.over {
				return err
			}
			idle.Reset(f.client.quiet)
		case <-idle.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// take tells of an event of the watch. It reports whether the run has to be read again.
func (f *follower) take(e watch.Event) (again bool, err error) {
	run, ok := e.Object.(*v1alpha1.MotorRun)
	switch {
	case e.Type == watch.Error:
		// The version is too old, or the server has a problem: what is new is found by reading.
		return true, nil
	case !ok || run.Name != f.name:
		return false, nil
	case e.Type == watch.Deleted:
		return false, ErrGone
	}
	return false, f.tell(run)
}

// tell yields what is new. A run of the same name that was created meanwhile is another one.
func (f *follower) tell(run *v1alpha1.MotorRun) error {
	if f.uid != "" && f.uid != run.UID {
		return fmt.Errorf("%w, and there is another one of its name", ErrGone)
	}
	st := &run.Status
	if f.uid == "" || f.phase != string(st.Phase) || f.reason != st.Reason || f.steps != st.Steps {
		f.uid, f.phase, f.reason, f.steps = run.UID, string(st.Phase), st.Reason, st.Steps
		if st.CompletionTime == nil && !f.say(Event{Type: EventChanged, Run: run}) {
			return nil
		}
	}
	open := map[string]*v1alpha1.PendingInput{}
	for _, p := range asks.Open(run) {
		open[p.ID] = p
		if f.asked[p.ID] == nil && !f.say(Event{Type: EventAsked, Run: run, Ask: p}) {
			return nil
		}
	}
	for id, p := range f.asked {
		if open[id] == nil && !f.say(Event{Type: EventAnswered, Run: run, Ask: p}) {
			return nil
		}
	}
	f.asked = open
	if st.CompletionTime != nil {
		f.say(Event{Type: EventEnded, Run: run})
		f.over = true
	}
	return nil
}

// say yields an event. It reports whether there is a reader for more.
func (f *follower) say(e Event) bool {
	f.over = !f.yield(e, nil)
	return !f.over
}
