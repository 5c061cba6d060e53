// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"os"
	"testing"
)

// TestMain makes the test binary the first program of every process that the reaper starts.
func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(RunChild())
	}
	os.Exit(m.Run())
}
