// SPDX-License-Identifier: Apache-2.0

// Package outcome is how an attempt ends: done, failed for a reason, or waiting for a person.
package outcome

import (
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Outcome is how the loop ended.
type Outcome struct {
	Kind Kind
	// Summary is the model's closing text if Kind is Completed.
	Summary string
	// Value is the result as JSON, "" if the task asks for none.
	Value string
	// Waiting is the open ask that the loop waits for if Kind is Awaiting. It is recorded.
	Waiting *turn.Ask
	// Failure is set if Kind is Failed.
	Failure *Failure
	// Partial is the model's partial result when its answers were used up, at most 4096 bytes. Hint is a model's guess at
	// the cause of the failure and its cure, one line of at most 1024 bytes. Both may be empty, also because a model could
	// not be asked, and neither can be trusted.
	Partial, Hint string
	// Usage and ModelDuration are the cost of the model calls for Partial and Hint. No turn has them.
	Usage         turn.Usage
	ModelDuration time.Duration
}

// Kind is one of the ways in which the loop ends.
type Kind string

const (
	Completed Kind = "Completed"
	Awaiting  Kind = "Awaiting"
	Failed    Kind = "Failed"
)
