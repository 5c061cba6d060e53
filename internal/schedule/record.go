// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// SettledUntil returns the last start that needs no further decision, the zero time if there is none.
func SettledUntil(st *v1alpha1.MotorScheduleStatus) time.Time {
	var last time.Time
	if st.LastScheduleTime != nil {
		last = st.LastScheduleTime.Time
	}
	if skip := st.LastSkipped; skip != nil && skip.Reason != v1alpha1.SkippedStillActive && skip.Time.After(last) {
		last = skip.Time.Time
	}
	return last
}

// Records reports whether a schedule, as it is stored, needs the run of this name no more to know that its start took place. Until then the run is the
// only record: were it deleted, the same start would take place again. The name decides, because who may change a run can change all else that it says.
func Records(s *v1alpha1.MotorSchedule, run string) bool {
	text, found := strings.CutPrefix(run, s.Name+"-")
	minute, err := strconv.ParseInt(text, 10, 64)
	if !found || err != nil {
		// No start has such a name.
		return true
	}
	from := SettledUntil(&s.Status)
	if from.IsZero() {
		// Earlier starts are those of another schedule, which had the same name.
		from = s.CreationTimestamp.Time
	}
	return minute <= from.Unix()/60
}
