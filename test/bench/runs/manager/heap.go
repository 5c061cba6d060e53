// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"strconv"
	"strings"
)

// parseHeap returns the bytes that a process uses for objects and for the stacks of goroutines, from the text form of its heap profile.
func parseHeap(profile string) (float64, error) {
	var sum float64
	for _, name := range []string{"# HeapAlloc = ", "# Stack = "} {
		_, rest, found := strings.Cut(profile, "\n"+name)
		if !found {
			return 0, fmt.Errorf("the heap profile has no line %q", name)
		}
		// The line of the stacks also says how much the process has for them: 1 / 2.
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0, fmt.Errorf("the line %q of the heap profile has no number", name)
		}
		n, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return 0, fmt.Errorf("the line %q of the heap profile: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}
