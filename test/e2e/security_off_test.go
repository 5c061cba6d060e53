// SPDX-License-Identifier: Apache-2.0

//go:build e2e && !security

package e2e_test

import "context"

func startWorld(context.Context) error { return nil }
func stopWorld(context.Context) error  { return nil }

// furtherChecks are what a suite of its own must find true when all tests are done.
var furtherChecks []afterwardsCheck
