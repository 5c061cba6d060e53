// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/metrics"
	"motorcortex.dev/motorcortex/internal/telemetry/collector"
	"motorcortex.dev/motorcortex/internal/telemetry/export"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// traceLinger is how long spans are gathered before they are sent together.
const traceLinger = time.Second

// setupTraces has the leader send the spans of runs to the collector that the environment names, if it names one.
func setupTraces(mgr ctrl.Manager, clock *timekeeper.Clock, o options, told *metrics.Traces, log *slog.Logger) error {
	of, err := collector.FromEnvironment(os.Getenv)
	if err != nil {
		return fmt.Errorf("set up traces: %w", err)
	}
	if of.URL == "" {
		if o.traceContent {
			return errors.New("--trace-content needs a collector: set OTEL_EXPORTER_OTLP_ENDPOINT")
		}
		return nil
	}
	e := &export.Exporter{
		Cache: mgr.GetCache(), Sender: collector.New(of), Live: mgr.GetAPIReader(),
		Resource: span.Resource{Service: of.Service, Version: motorcortex.Version(), More: of.Attributes, Content: o.traceContent},
		Observer: told, Now: clock.Now, Linger: traceLinger, Logger: log,
	}
	e.Init()
	told.ShowWaiting(e.Waiting)
	if err := mgr.Add(e); err != nil {
		return fmt.Errorf("set up traces: %w", err)
	}
	log.Info("the leader sends traces to a collector", "content", o.traceContent)
	return nil
}
