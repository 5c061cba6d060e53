// SPDX-License-Identifier: Apache-2.0

// Package wait repeats a check until it holds. Nothing in this module sleeps without a deadline.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Until calls check every interval until it returns nil. When the deadline or the context ends
// first, the error carries what check said last, because "timed out" alone helps nobody.
func Until(ctx context.Context, deadline, interval time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		var final *finalError
		if errors.As(err, &final) {
			return final.error
		}
		// A check that was cut off by our own deadline says less than the one before it.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if Pause(ctx, interval) != nil {
			return fmt.Errorf("not within %s: %w", deadline, last)
		}
	}
}

// finalError is an error that waiting does not cure.
type finalError struct{ error }

// Final marks an error of a check: Until returns it at once.
func Final(err error) error { return &finalError{err} }

// Pause waits for a moment, or until the context ends.
func Pause(ctx context.Context, moment time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(moment):
		return nil
	}
}
