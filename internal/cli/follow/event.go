// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Type is the kind of an Event.
type Type string

// Types of events.
const (
	// Created: the run was created.
	Created Type = "Created"
	// NotAccepted: the run does not begin before something else is done, or has its turn.
	NotAccepted Type = "NotAccepted"
	// Says: the model said something beside its calls.
	Says Type = "Says"
	// Called: a tool call has ended.
	Called Type = "Called"
	// Asks: the run asks a person.
	Asks Type = "Asks"
	// Answered: an ask has an outcome.
	Answered Type = "Answered"
	// Summarized: a summary takes the place of older steps.
	Summarized Type = "Summarized"
	// ModelOutage: the model cannot be had.
	ModelOutage Type = "ModelOutage"
	// AttemptFailed: an attempt has failed.
	AttemptFailed Type = "AttemptFailed"
	// Ended: the run has ended.
	Ended Type = "Ended"
)

// Event is one thing that happened in a run, as programs get it. Texts are as they were written.
type Event struct {
	// Time is when it happened.
	Time      time.Time `json:"time"`
	Type      Type      `json:"type"`
	Namespace string    `json:"namespace"`
	Run       string    `json:"run"`
	// Attempt and Step are the numbers of where it happened, unset for what is in no step.
	Attempt int32 `json:"attempt,omitempty"`
	Step    int32 `json:"step,omitempty"`
	// Reason and Message are of NotAccepted, ModelOutage, AttemptFailed and Ended. The message of Says is what was said.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Through is the last step that a summary stands for.
	Through int32 `json:"through,omitempty"`
	// Call and Result are of Called. The call that an ask is about is in Call, too.
	Call   *v1alpha1.ToolCall   `json:"call,omitempty"`
	Result *v1alpha1.ToolResult `json:"result,omitempty"`
	// Ask is what is asked, and Commands answer it.
	Ask      *v1alpha1.PendingInput `json:"ask,omitempty"`
	Commands []string               `json:"commands,omitempty"`
	// Answer is what became of an ask.
	Answer *v1alpha1.StepAsk `json:"answer,omitempty"`
	// Succeeded is of Ended.
	Succeeded *bool `json:"succeeded,omitempty"`
}

// Filter chooses events. What is 0 or empty chooses all.
type Filter struct {
	Attempt, Step int32
	Tool          string
}

// passes reports whether an event is chosen.
func (f Filter) passes(e *Event) bool {
	return (f.Attempt == 0 || e.Attempt == f.Attempt) && (f.Step == 0 || e.Step == f.Step) && (f.Tool == "" || e.Call != nil && e.Call.Tool == f.Tool)
}
