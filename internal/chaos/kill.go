// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strconv"
	"strings"
)

// KillAnnotation is on a run at which the manager is killed, if it is built with the faults in it. The value is a point in
// the life of a step and the step's number, such as AfterIntent:2. Only the first worker of the run is killed, or, with
// AfterIntent:2:always, each that reaches that point.
const KillAnnotation = "faults.motorcortex.dev/kill"

// Kills reports whether the value of KillAnnotation names this point of this step, for the first worker of the run or a later one.
func Kills(value, point string, step int32, first bool) bool {
	value, always := strings.CutSuffix(value, ":always")
	name, number, found := strings.Cut(value, ":")
	n, err := strconv.ParseInt(number, 10, 32)
	return found && err == nil && name == point && int32(n) == step && (first || always)
}
