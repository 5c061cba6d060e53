// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strconv"
	"strings"
)

// KillAnnotation is on a run at which the manager is to be killed, when it is built with the faults in it: a point in
// the life of a step and the step's number, such as AfterIntent:2.
const KillAnnotation = "faults.motorcortex.dev/kill"

// Kills says whether the value of KillAnnotation names this point of this step.
func Kills(value, point string, step int32) bool {
	name, number, found := strings.Cut(value, ":")
	n, err := strconv.ParseInt(number, 10, 32)
	return found && err == nil && name == point && int32(n) == step
}
