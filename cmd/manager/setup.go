// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/watch"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/controller/schedule"
	"motorcortex.dev/motorcortex/internal/controller/skill"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/recent"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/timekeeper"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// awayKeyAge is how old the key may be by which a run that waits for its model learns that the model is still not available.
const awayKeyAge = 10 * time.Second

// showPause is how long the status of a run may wait to show how far the run got.
const showPause = time.Second

// setup builds the controllers and the engine.
func setup(ctx context.Context, mgr ctrl.Manager, clock *timekeeper.Clock, o options, told *telemetry, log *slog.Logger) error {
	key, err := managerKey(ctx, mgr, o.namespace)
	if err != nil {
		return err
	}
	egress, err := egressKey(key)
	if err != nil {
		return fmt.Errorf("derive the key of the sandboxes' tokens: %w", err)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		return fmt.Errorf("make the manager's certificate: %w", err)
	}
	leases, err := coordinationv1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the client of the Leases: %w", err)
	}
	pod := newPodEvents(mgr.GetEventRecorder("motorcortex"), o)
	keeper, err := setupTime(mgr, clock, leases.Leases(o.namespace), o.namespace, pod.heartbeat, log)
	if err != nil {
		return err
	}
	stored, err := setupStorage(ctx, mgr, clock)
	if err != nil {
		return err
	}
	models := cortex.Resolver{Cortex: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Default: o.builtIn}
	answers := &recent.Answers{Live: mgr.GetAPIReader(), Reviews: mgr.GetClient(), Now: time.Now}
	if err := mgr.Add(answers); err != nil {
		return fmt.Errorf("set up what runs read together: %w", err)
	}
	reconciler := &runs.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recent:   answers,
		Recorder: mgr.GetEventRecorder("motorcortex"),
		Models:   models,
		Budget:   stored.budget,
		Energy:   &energy.Ledger{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Observer: told.leader, Now: clock.Now},
		Room:     stored.runs(),
		Config: runs.Config{
			Sandbox:             sandbox.Config{Image: o.sandboxImage, ManagerKey: toolclient.PublicKeyPin(key), Namespace: o.namespace},
			SandboxStartTimeout: o.sandboxStartTimeout,
			ShowPause:           showPause,
			MaxConcurrent:       o.maxConcurrent,
			EgressKey:           egress,
			EgressService:       o.egressService,
			ForbiddenCIDRs:      o.forbiddenPrefixes,
			CiliumPolicies:      o.ciliumPolicies,
			// Nodes belong to no namespace, so Roles cannot grant a right to them.
			WithoutNodes: len(o.namespaces) > 0,
			Archive:      o.archiveBucket != "", ArchiveRequired: o.archiveRequired, ArchiveWait: o.archiveWait,
			Unarchived: unarchived(), ShowReplicas: showReplicas(pod, log),
		},
		Now: time.Now, Time: keeper, Observer: told.leader, Logger: log,
	}
	forbidden := forbiddenTargets(ctx, mgr.GetAPIReader(), o, log)
	if reconciler.Pools, err = setupPools(mgr, clock, o, cert, reconciler, forbidden); err != nil { //nolint:contextcheck,nolintlint // The cache keeps its indexes for as long as it lives.
		return fmt.Errorf("set up the controller of pools: %w", err)
	}
	if err := reconciler.SetupWithManager(mgr); err != nil { //nolint:contextcheck,nolintlint // The cache keeps its indexes for as long as it lives. Not each run of the linter sees it.
		return fmt.Errorf("set up the controller: %w", err)
	}
	out := newOutside(o, mgr.GetAPIReader())
	if err := setupSkills(mgr, clock, o, out); err != nil { //nolint:contextcheck,nolintlint // The cache keeps its indexes for as long as it lives.
		return fmt.Errorf("set up the controller of skills: %w", err)
	}
	store, err := setupArchive(ctx, mgr, clock, o.archiveBucket, log)
	if err != nil {
		return err
	}
	endpoints := &breaker.Registry{}
	model := func(e cortex.Endpoint) (*openai.Client, error) {
		return openai.New(openai.Endpoint{BaseURL: e.BaseURL, APIKey: e.APIKey, Model: e.Model, Tenant: e.Namespace}, openai.Options{
			Logger: log, Observer: told.models, Endpoints: endpoints, HTTPClient: out.modelClient(e.BaseURL, o.builtIn.BaseURL),
			IdleTimeout: time.Duration(e.IdleSeconds) * time.Second, RequestTimeout: time.Duration(e.RequestSeconds) * time.Second,
		})
	}
	if err := setupCortex(mgr, models, model, out, stored, store, log); err != nil {
		return err
	}
	if err := errors.Join(
		setupEnergy(mgr, reconciler.Energy), setupSignals(mgr, clock, models, out, told.signals), setupAudit(mgr, keeper, o.auditFormat, log),
		setupTraces(mgr, clock, leases.Leases(o.namespace), o, told.traces, log),
		setupSchedules(mgr, clock, o),
	); err != nil {
		return err
	}
	loops := &engine.Engine{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Leases:     leases,
		Models:     models,
		AwayModels: cortex.Resolver{Cortex: mgr.GetClient(), Secrets: answers.Within(awayKeyAge), Default: o.builtIn},
		NewModel: func(e cortex.Endpoint) (chat.Model, error) {
			c, err := model(e)
			if err != nil {
				// A nil pointer would be a model to the engine.
				return nil, err
			}
			return c, nil
		},
		Config: engine.Config{
			Worker: o.worker, Version: motorcortex.Version(), LeaseNamespace: o.namespace, PodName: o.podName, PodUID: o.podUID,
			MaxLoops: o.maxLoops, LoopMemory: o.loopMemory, Fault: faultPoint(),
			Sandbox: box.Config{
				ClientCert: cert, Forbidden: forbidden, AllowUnenforced: o.allowUnenforced,
				GrantNamespace: o.namespace, EgressKey: egress, EgressTimeout: o.egressTimeout,
				IsolationTimeout: o.isolationTimeout, ConnectTimeout: o.connectTimeout,
			},
		},
		Logger: log,
		Now:    time.Now,
		Time:   keeper,
	}
	loops.Storage = stored.budget
	loops.SearchTransport, loops.Recorder = out.models, mgr.GetEventRecorder("motorcortex")
	if store != nil {
		// A nil pointer would be a bucket to the engine.
		loops.Artifacts = store
	}
	loops.Observer, loops.Spending = told.loops, told.models
	if err := loops.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the engine: %w", err)
	}
	if err := showSlots(metrics.Registry, loops); err != nil {
		return fmt.Errorf("register the metrics of the engine: %w", err)
	}
	return showCaches(ctx, metrics.Registry, mgr, clock, o.archiveBucket != "", log)
}

// auditNone is the audit format of a manager that writes no audit.
const auditNone = "none"

// setupAudit has the leader write the decisions of people to the standard output, if the format says so. The log is on the standard error.
func setupAudit(mgr ctrl.Manager, keeper *timekeeper.Keeper, format string, log *slog.Logger) error {
	if format != ocsf.Format {
		return nil
	}
	return mgr.Add(&watch.Watch{
		Cache: mgr.GetCache(), To: ocsf.NewLog(os.Stdout), Version: motorcortex.Version(), Now: keeper.Now, Time: keeper, Logger: log,
	})
}

// setupSkills builds the controller of skills.
func setupSkills(mgr ctrl.Manager, clock *timekeeper.Clock, o options, out outside) error {
	skills := &skill.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Heads:    mgr.GetCache(),
		Recorder: mgr.GetEventRecorder("motorcortex"),
		Source: &skillsource.Reader{
			Live: mgr.GetAPIReader(), HTTP: &http.Client{Transport: out.sources}, FluxHTTP: &http.Client{Transport: out.flux}, FluxHost: o.fluxHost,
		},
		Store: &skillstore.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Now:   clock.Now,
	}
	return skills.SetupWithManager(mgr)
}

// setupSchedules builds the controller of schedules.
func setupSchedules(mgr ctrl.Manager, clock *timekeeper.Clock, o options) error {
	r := &schedule.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Reviews: mgr.GetClient(), Recorder: mgr.GetEventRecorder("motorcortex"), Now: clock.Now,
	}
	if o.archiveBucket != "" {
		r.Archiving = runpolicy.Archiving{Wait: cmp.Or(o.archiveWait, runpolicy.ArchiveWait), Required: o.archiveRequired}
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller of schedules: %w", err)
	}
	return nil
}
