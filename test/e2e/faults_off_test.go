// SPDX-License-Identifier: Apache-2.0

//go:build e2e && !faults

package e2e_test

// managersMayRestart reports whether it is no failure that managers restarted: no test has them end but by name.
const managersMayRestart = false
