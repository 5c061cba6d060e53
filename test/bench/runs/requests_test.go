// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"motorcortex.dev/motorcortex/test/bench/runs/manager"
)

func TestStepsAreNotInTheRowsOfRequests(t *testing.T) {
	t.Parallel()
	all := []manager.Counts{
		{"create motorsteps": 5, "patch motorsteps/status": 5, "patch motorruns/status": 7, "create pods": 1, "get pods": 2},
		{"patch motorruns/status": 9, "get pods": 3, "list secrets": 1},
		{"patch motorruns/status": 20, "get pods": 30},
	}
	rows := requestRows("cold", all, 12)
	if len(rows) != 2 || rows[0].Value != 9 || rows[0].Bound != 12 || rows[1].Value != 4 || rows[1].Bound != 10 {
		t.Errorf("%+v", rows)
	}
}
