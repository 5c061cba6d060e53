// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"sync"
	"time"
)

// sharedFor is the time for which an answer of a Shared check counts.
const sharedFor = 30 * time.Second

// Shared returns a check of a service that all namespaces share. It runs once for all callers within half a minute. Without it an installation
// would ask its own model and its bucket once for each of its namespaces. A caller that arrives while the check runs waits for its answer. An
// answer of a check whose context ended is returned to no other caller.
func Shared(now func() time.Time, check func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	var (
		mu  sync.Mutex
		at  time.Time
		ok  bool
		err error
	)
	return func(ctx context.Context) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if passed := now().Sub(at); !at.IsZero() && passed >= 0 && passed < sharedFor {
			return ok, err
		}
		found, failed := check(ctx)
		if ctx.Err() == nil {
			at, ok, err = now(), found, failed
		}
		return found, failed
	}
}
