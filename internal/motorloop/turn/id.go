// SPDX-License-Identifier: Apache-2.0

package turn

import "fmt"

// CallID is the identity of call n (from 0) of step index (from 1) of an attempt (from 1). The sandbox runs an ID at
// most once, so it must be the same whenever the same turn is carried on.
func CallID(attempt, index int32, n int) string {
	return fmt.Sprintf("a%d-s%d-c%d", attempt, index, n)
}

// ExecutionID returns the id under which a call with n unknown executions is executed. The sandbox runs an id at most
// once, so a repeated call needs another one, and it must be the same after a restart.
func ExecutionID(callID string, n int) string {
	if n == 0 {
		return callID
	}
	return fmt.Sprintf("%s-r%d", callID, n)
}
