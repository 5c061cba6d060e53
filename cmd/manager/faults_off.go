// SPDX-License-Identifier: Apache-2.0

//go:build !faults

package main

import (
	"flag"
	"log/slog"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/internal/engine/attempt"
)

// The shipped manager has no faults in it. The faults of faults.go are for tests, with the build tag of that name.

func bindFaults(*flag.FlagSet) {}

func withFaults(cfg *rest.Config, _ *slog.Logger) *rest.Config { return cfg }

func faultPoint() attempt.Fault { return nil }
