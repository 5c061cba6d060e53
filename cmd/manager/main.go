// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: controllers and engine, configured by flags.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/loglevel"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

func main() {
	// The manager itself writes nothing there. Libraries do, and net/http among them writes unsolicited bytes of other hosts.
	stdlog.SetOutput(io.Discard)
	o := options{}
	o.bind(flag.CommandLine)
	version := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *version {
		fmt.Println(motorcortex.Version())
		return
	}
	level := &slog.LevelVar{}
	handler, err := newLog(o, level)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	slog.New(handler).Info("the manager starts", "version", motorcortex.Version())
	if err := run(ctrl.SetupSignalHandler(), o, level, slog.New(handler)); err != nil {
		slog.New(handler).Error("the manager cannot go on", "error", err)
		os.Exit(1)
	}
}

// newLog makes the handler of the log with the format and level of the flags. The level can be set later.
func newLog(o options, level *slog.LevelVar) (slog.Handler, error) {
	at, err := loglevel.Parse(o.logLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	level.Set(at)
	handler, err := loglevel.Handler(os.Stderr, o.logFormat, level)
	if err != nil {
		return nil, fmt.Errorf("--log-format: %w", err)
	}
	return handler, nil
}

func run(ctx context.Context, o options, level *slog.LevelVar, log *slog.Logger) error {
	if err := o.complete(); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	clock := timekeeper.NewClock(time.Now, log)
	told, err := newTelemetry(metrics.Registry, o.builtIn.Model)
	if err != nil {
		return err
	}
	// The clock wraps the transport before the first request: the answer carries the time.
	cfg.Wrap(clock.Wrap)
	cfg.Wrap(told.requests.Wrap)
	if err := awaitAPIServer(ctx, cfg, o.healthAddress, log); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	// The self-test waits before the manager is made, because the manager takes the address of the probes at once.
	direct, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make the client of the self-test: %w", err)
	}
	schema, err := schemaTest(cfg)
	if err != nil {
		return err
	}
	if err := awaitSchema(ctx, schema, selfTestPause, o.healthAddress, log); err != nil {
		return err
	}
	test := func(ctx context.Context) error { return selfTest(ctx, direct, o.selfTestNamespaces()) }
	if err := awaitAdmission(ctx, test, selfTestPause, o.healthAddress, log); err != nil {
		return err
	}
	tellUnmarked(direct.RESTMapper(), log)
	mgr, err := ctrl.NewManager(withFaults(cfg, log), ctrl.Options{
		Scheme: scheme,
		Cache:  cacheOptions(o.namespace, o.namespaces),
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		// The server of the metrics is one of our own: that of the manager has no bounds.
		Metrics:                       metricsserver.Options{BindAddress: noAddress},
		HealthProbeBindAddress:        o.healthAddress,
		PprofBindAddress:              o.profileAddress,
		LeaderElection:                true,
		LeaderElectionID:              "manager.motorcortex.dev",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		// A leader that was killed is replaced after its Lease; runs stand still for that long.
		LeaseDuration: new(10 * time.Second),
		RenewDeadline: new(7 * time.Second),
		RetryPeriod:   new(time.Second),
		// The timeout is shorter than the Pod's own grace period: the leader's Lease is released only after this.
		GracefulShutdownTimeout: new(10 * time.Second),
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := serveMetrics(ctx, mgr, o, loglevel.Server{Level: level, Log: log}, log); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.Add(&selfTestWatch{test: all(test, schema), period: selfTestPeriod, after: time.After, log: log}); err != nil {
		return fmt.Errorf("set up the repeated self-test: %w", err)
	}
	if err := setup(ctx, mgr, clock, o, told, log); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// cacheOptions restrict the cache to the served namespaces, and exclude everything that no code reads from the cache. Excluded are foreign Pods,
// NetworkPolicies and Leases, and the bulk of runs, steps, skills, nodes and ConfigMaps. With that bulk the manager's memory would grow with the
// files and transcripts of all runs.
func cacheOptions(namespace string, served []string) cache.Options {
	sandboxes := labels.SelectorFromSet(labels.Set{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox})
	leases := labels.NewSelector()
	if of, err := labels.NewRequirement(v1alpha1.LabelComponent, selection.In, []string{v1alpha1.ComponentWorker, v1alpha1.ComponentTime}); err == nil {
		leases = leases.Add(*of)
	}
	var namespaces map[string]cache.Config
	for _, ns := range served {
		if namespaces == nil {
			namespaces = map[string]cache.Config{}
		}
		namespaces[ns] = cache.Config{}
	}
	return cache.Options{
		// Nil means all.
		DefaultNamespaces: namespaces,
		DefaultTransform:  anyHead,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Label: sandboxes},
			&networkingv1.NetworkPolicy{}:   {Label: sandboxes, Transform: policyHead},
			&coordinationv1.Lease{}:         {Label: leases, Namespaces: map[string]cache.Config{namespace: {}}},
			&v1alpha1.MotorRun{}:            {Transform: runHead},
			&v1alpha1.MotorStep{}:           {Transform: stepHead},
			&v1alpha1.Skill{}:               {Transform: skillHead},
			&v1alpha1.SkillRevision{}:       {Transform: revisionHead},
			&corev1.Node{}:                  {Transform: nodeHead},
			&corev1.ConfigMap{}:             {Transform: configMapHead},
			&corev1.PersistentVolumeClaim{}: {Label: sandboxes},
		},
	}
}
