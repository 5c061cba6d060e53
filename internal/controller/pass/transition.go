// SPDX-License-Identifier: Apache-2.0

package pass

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/text"
)

// MaxNote stays below the 1024 bytes that the events API accepts as a note.
const MaxNote = 1000

// Transition is a change of a status, and the Event that reports it.
type Transition struct{ kind, reason, action, note string }

// NewTransition returns a transition whose note fits into an Event.
func NewTransition(kind, reason, action, note string) Transition {
	return Transition{kind, reason, action, fit.CutEncoded(note, MaxNote)}
}

// Tell writes the Events of transitions. It makes the notes printable: a model, a host or a skill's author worded much of them, and a person reads
// them on a terminal.
func Tell(recorder events.EventRecorder, about runtime.Object, transitions []Transition) {
	for _, t := range transitions {
		recorder.Eventf(about, nil, t.kind, t.reason, t.action, "%s", text.Printable(t.note))
	}
}

// ChangedCondition returns a condition before and after a pass. is is nil unless the condition is there with another status or reason.
func ChangedCondition(before, after []metav1.Condition, conditionType string) (was, is *metav1.Condition) {
	was, is = apimeta.FindStatusCondition(before, conditionType), apimeta.FindStatusCondition(after, conditionType)
	if was != nil && is != nil && was.Status == is.Status && was.Reason == is.Reason {
		return was, nil
	}
	return was, is
}
