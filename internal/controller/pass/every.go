// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"time"
)

// Every calls f now and then once each period, until the context ends.
func Every(ctx context.Context, period time.Duration, f func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
