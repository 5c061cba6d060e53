// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

func (e *Engine) clock() runenv.Clock { return runenv.Clock{Now: e.Now, Time: e.Time} }

func (e *Engine) observed() observed.Time { return e.clock().Observed() }

// until returns how soon to look at a deadline again, 0 if it has passed.
func (e *Engine) until(deadline time.Time) time.Duration { return e.clock().Until(deadline) }
