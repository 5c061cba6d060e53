// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Outage reports that a model is not available now. It decides nothing about the attempt: the same request may succeed later.
type Outage struct {
	// Reason is one of the ReasonModel constants of package outcome, or another reason of the API for which the model is not asked. Message is one or
	// two plain sentences.
	Reason, Message string
	// MustAct is true if the model is not expected back without a change by a person.
	MustAct bool
	// RetryAfter is how long to wait before it is asked again.
	RetryAfter time.Duration
	// Usage is the cost of failed tries, as far as the endpoint reports it.
	Usage turn.Usage
	// Ask is set if a person can end the outage by raising a bound.
	Ask *RaiseAsk
	// WaitsFor is how long the run waits, 0 for as long as it waits for any model.
	WaitsFor time.Duration
}

// RaiseAsk is the ask to raise a bound of what the run may spend.
type RaiseAsk struct {
	ID string
	// Tokens, and Cost as a decimal number, are the amount that is proposed. Neither is needed.
	Tokens int64
	Cost   string
}

func (o *Outage) Error() string { return o.Reason + ": " + o.Message }

// TooLong reports that a request and its answer do not fit into the model's window.
type TooLong struct {
	// Window is the endpoint's limit in tokens, 0 if it does not report one.
	Window int64
	// Failure is the failure of the attempt if the request cannot be made shorter.
	Failure *outcome.Failure
	// Usage is the cost of the tries.
	Usage turn.Usage
}

func (e *TooLong) Error() string { return e.Failure.Error() }

func (e *TooLong) Unwrap() error { return e.Failure }

// CostOf returns the cost of failed tries.
func CostOf(err error) turn.Usage {
	if o, ok := errors.AsType[*Outage](err); ok {
		return o.Usage
	}
	if long, ok := errors.AsType[*TooLong](err); ok {
		return long.Usage
	}
	return turn.Usage{}
}
