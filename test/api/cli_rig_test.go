// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"motorcortex.dev/motorcortex/internal/cli/plugin"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// plugIn carries out the arguments after `kubectl motor`, and returns the exit code.
func plugIn(t *testing.T, s verb.Streams, args ...string) int {
	t.Helper()
	return verb.Run(testContext(t), plugin.New(s), args)
}
