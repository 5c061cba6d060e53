// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// unattended reports whether the run can only wait for a person, and for how long; 0 means until a person answers.
func unattended(onTimeout v1alpha1.OnTimeout, expires time.Time, until func(time.Time) time.Duration) (wait time.Duration, idle bool) {
	if onTimeout == "" || onTimeout == v1alpha1.OnTimeoutFail {
		return 0, true
	}
	wait = until(expires)
	return wait, wait > 0
}

// expired reports whether the loop goes on although there is no answer.
func (e *Engine) expired(p *v1alpha1.PendingInput) bool {
	_, idle := unattended(p.OnTimeout, p.ExpirationTime.Time, e.until)
	return !idle
}

// expiry returns how soon a waiting run of this replica must be checked because its time to answer ends, 0 for never.
func (e *Engine) expiry(run *v1alpha1.MotorRun) time.Duration {
	p := run.Status.Pending()
	if p == nil || run.Status.Execution.Worker != e.Config.Worker || run.Spec.Suspend {
		return 0
	}
	wait, _ := unattended(p.OnTimeout, p.ExpirationTime.Time, e.until)
	return wait
}
