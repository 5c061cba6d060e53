// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	cortexcontroller "motorcortex.dev/motorcortex/internal/controller/cortex"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	signalcontroller "motorcortex.dev/motorcortex/internal/controller/signal"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/timekeeper"
	"motorcortex.dev/motorcortex/internal/websearch"
)

// newModel makes a client of a model endpoint.
type newModel func(cortex.Endpoint) (*openai.Client, error)

// setupCortex builds the controller that reports in each MotorCortex whether its services are available.
func setupCortex(mgr ctrl.Manager, models cortex.Resolver, model newModel, out outside, stored room, store *bucket.Bucket, log *slog.Logger) error {
	services := cortexcontroller.Services{
		Model:  probeModel(model, models.Default),
		Search: out.probeSearch,
	}
	if store != nil {
		services.Archive = probeArchive(store.Check, log)
	}
	r := &cortexcontroller.Reconciler{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("motorcortex"), Models: models, Services: services,
		Storage: stored.meter, Room: stored.cortexes(),
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller of MotorCortex: %w", err)
	}
	return nil
}

// setupEnergy builds the controller that settles the ledger of energy which runs drain.
func setupEnergy(mgr ctrl.Manager, ledger *energy.Ledger) error {
	r := &energy.Reconciler{Ledger: *ledger}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller of energy: %w", err)
	}
	return nil
}

// setupSignals builds the controller that tells the sinks of each MotorCortex what becomes of its runs and skills.
func setupSignals(mgr ctrl.Manager, clock *timekeeper.Clock, secrets cortex.Resolver, out outside, count signalcontroller.Counter) error {
	r := &signalcontroller.Reconciler{
		Client: mgr.GetClient(), Secrets: secrets, Counter: count, Now: clock.Now,
		NewSender: signalcontroller.NewSender(out.sinks, out.inside, clock.Now), NewMailer: signalcontroller.NewMailer(out.mailServers),
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller of signals: %w", err)
	}
	return nil
}

// probeModel asks an endpoint for its models. The installation's own is asked once for all namespaces.
func probeModel(model newModel, own cortex.Endpoint) func(context.Context, cortex.Endpoint) (bool, error) {
	ask := func(ctx context.Context, e cortex.Endpoint) (bool, error) {
		c, err := model(e)
		if err != nil {
			return false, &cortexcontroller.Unavailable{Reason: v1alpha1.ReasonModelNotConfigured, Message: "The model cannot be asked: " + err.Error() + "."}
		}
		listed, err := c.Probe(ctx)
		if f, ok := errors.AsType[*outcome.Failure](err); ok {
			return false, &cortexcontroller.Unavailable{Reason: f.Reason, Message: f.Message}
		}
		return listed, err
	}
	shared := cortexcontroller.Shared(time.Now, func(ctx context.Context) (bool, error) { return ask(ctx, own) })
	return func(ctx context.Context, e cortex.Endpoint) (bool, error) {
		if e.Same(own) {
			return shared(ctx)
		}
		return ask(ctx, e)
	}
}

func (o outside) probeSearch(ctx context.Context, p *v1alpha1.SearchProvider, key secret.Value) error {
	return websearch.Provider{Type: websearch.Type(p.Type), URL: p.URL, APIKey: key, Transport: o.models}.Probe(ctx)
}

// probeArchive lists the bucket, once for all namespaces, and logs when that begins to fail.
func probeArchive(check func(context.Context) error, log *slog.Logger) func(context.Context) bool {
	failed := false
	shared := cortexcontroller.Shared(time.Now, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, bucketCheck)
		defer cancel()
		err := check(ctx)
		if err != nil && !failed {
			log.Warn("the archive's bucket cannot be listed", "error", err)
		}
		failed = err != nil
		return err == nil, err
	})
	return func(ctx context.Context) bool {
		ok, _ := shared(ctx)
		return ok
	}
}
