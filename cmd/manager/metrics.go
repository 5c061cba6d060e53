// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/loglevel"
	"motorcortex.dev/motorcortex/internal/metrics"
	"motorcortex.dev/motorcortex/internal/metrics/endpoint"
	"motorcortex.dev/motorcortex/internal/metrics/guard"
	"motorcortex.dev/motorcortex/internal/telemetry/collector"
	"motorcortex.dev/motorcortex/internal/telemetry/export"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// telemetry are the parts of the manager's metrics that the code of the manager tells of its work.
type telemetry struct {
	requests *metrics.APIRequests
	models   *metrics.Models
	loops    *metrics.Loops
	leader   *metrics.Leader
	signals  *metrics.Signals
	traces   *metrics.Traces
}

// newTelemetry makes them and registers them. builtIn is the name of the built-in model, "" if there is none.
func newTelemetry(to prometheus.Registerer, builtIn string) (*telemetry, error) {
	requests, err := metrics.NewAPIRequests(to)
	models, modelsErr := metrics.NewModels(to, builtIn, time.Now)
	loops, loopsErr := metrics.NewLoops(to)
	leader, leaderErr := metrics.NewLeader(to, time.Now)
	signals, signalsErr := metrics.NewSignals(to)
	traces, tracesErr := metrics.NewTraces(to)
	if err := errors.Join(err, modelsErr, loopsErr, leaderErr, signalsErr, tracesErr); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return &telemetry{requests, models, loops, leader, signals, traces}, nil
}

// showCaches registers the metrics of what the caches of the manager hold.
func showCaches(ctx context.Context, to prometheus.Registerer, mgr ctrl.Manager, clock *timekeeper.Clock, archives bool, log *slog.Logger) error {
	runs, err := metrics.RegisterRuns(to, archives, clock.Now)
	if err != nil {
		return fmt.Errorf("register the metrics of runs: %w", err)
	}
	informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.MotorRun{})
	if err != nil {
		return fmt.Errorf("find the informer of runs: %w", err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandler(runs)); err != nil {
		return fmt.Errorf("watch runs for their metrics: %w", err)
	}
	if err := metrics.RegisterObjects(to, mgr.GetCache(), clock.Now, log); err != nil {
		return fmt.Errorf("register the metrics of objects: %w", err)
	}
	return nil
}

// showSlots registers the metrics of the engine's slots.
func showSlots(to prometheus.Registerer, e *engine.Engine) error {
	return metrics.RegisterSlots(to, func() metrics.Slots {
		s := e.Slots()
		return metrics.Slots{Running: s.Running, Looks: s.Looks, Waiting: s.Waiting, Limit: e.Config.MaxLoops}
	})
}

// traceLinger is how long spans are gathered before they are sent together.
const traceLinger = time.Second

// setupTraces has the leader send the spans of runs to the collector that the environment names, if it names one.
func setupTraces(mgr ctrl.Manager, clock *timekeeper.Clock, leases export.Leases, o options, told *metrics.Traces, log *slog.Logger) error {
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
		Observer: told, Now: clock.Now, Linger: traceLinger, Leases: leases, Logger: log,
	}
	e.Init()
	told.ShowWaiting(e.Waiting)
	if err := mgr.Add(e); err != nil {
		return fmt.Errorf("set up traces: %w", err)
	}
	log.Info("the leader sends traces to a collector", "content", o.traceContent)
	return nil
}

// serveMetrics adds the server of the metrics to the manager. Secured, a reader needs the right to get /metrics, which the API server is asked about: the
// metrics name models and pools, and show how much each of them does. Only then the level of the log can be changed: level is what serves that.
func serveMetrics(ctx context.Context, mgr ctrl.Manager, o options, level http.Handler, log *slog.Logger) error {
	if o.metricsAddress == noAddress || o.metricsAddress == "" {
		return nil
	}
	served := metricsOptions(o, level, log)
	if served.Secure {
		var err error
		if served.Filter, err = guard.Provider(time.Now, loglevel.Path)(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
			return err
		}
	}
	server, certificate, err := endpoint.New(ctx, served, endpoint.Default)
	if err != nil {
		return err
	}
	if certificate != nil {
		if err := mgr.Add(certificate); err != nil {
			return fmt.Errorf("keep the certificate of the metrics up to date: %w", err)
		}
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("serve the metrics: %w", err)
	}
	return nil
}

// noAddress is the address of a server that there is not.
const noAddress = "0"

// metricsOptions are how the metrics are served, but for the filter.
func metricsOptions(o options, level http.Handler, log *slog.Logger) endpoint.Options {
	served := endpoint.Options{Address: o.metricsAddress, Secure: o.metricsSecure, CertDir: o.metricsCertDir, Gatherer: ctrlmetrics.Registry, Logger: log}
	if o.metricsSecure {
		served.Others = map[string]http.Handler{loglevel.Path: level}
	}
	return served
}
