// SPDX-License-Identifier: Apache-2.0

// Command egressproxy is the only way out of a sandbox. It allows the connections that the grants of its namespace allow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/audit/connection"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/kube"
	"motorcortex.dev/motorcortex/internal/egress/terminate"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

func main() {
	// The proxy itself writes nothing there. Libraries do, and net/http among them writes unsolicited bytes of hosts: bytes of a stranger, which may
	// contain a credential.
	stdlog.SetOutput(io.Discard)
	o := options{}
	o.bind(flag.CommandLine)
	version := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *version {
		fmt.Println(motorcortex.Version())
		return
	}
	o.audit = os.Stdout
	handler := slog.NewJSONHandler(os.Stderr, nil)
	log := slog.New(handler)
	klog.SetLogger(logr.FromSlogHandler(handler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := start(ctx, o, log)
	stop()
	if err != nil {
		log.Error("the egress proxy cannot go on", "error", err)
		os.Exit(1)
	}
}

// start finds the API server. The API server need not answer: without it the proxy allows nothing and is not ready.
func start(ctx context.Context, o options, log *slog.Logger) error {
	if err := o.complete(); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for sandboxes: %w", err)
	}
	return run(ctx, o, cfg, listener, log)
}

// run serves until ctx is done, and then for the time that the options set.
func run(ctx context.Context, o options, cfg *rest.Config, listener net.Listener, log *slog.Logger) error {
	defer func() { _ = listener.Close() }() // the server has closed it, if there was one
	// The manager dates grants by the API server's clock.
	clock := timekeeper.NewClock(time.Now, log)
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(clock.Wrap)
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make the client of the grants: %w", err)
	}
	events, err := eventsv1client.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make the client of the Events: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	grants := egress.NewGrants(clock.Now)
	source, err := kube.NewSource(core, o.namespace, grants, log)
	if err != nil {
		return err
	}
	reporter, err := kube.NewReporter(events, o.podName, registry, log, time.Now)
	if err != nil {
		return err
	}
	server, err := egress.New(egress.Config{ //nolint:contextcheck // The lines that it logs are of the process and of no request.
		Grants: grants, Ready: source.HasSynced, ForbiddenPrefixes: source.Prefixes, DNSServer: o.dnsServer,
		Terminator: terminate.New(terminate.Config{RootCAs: o.roots}), Reporter: reporter,
		Logger: audited(o, registry, log), Registerer: registry, Limits: o.limits, Timeouts: egress.Timeouts{Grace: o.shutdownGrace},
	})
	if err != nil {
		return err
	}

	// The helpers of the proxy run until the last connection has ended; the proxy itself ends first.
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	stopEndpoints, err := serveEndpoints(base, o, registry, func() bool { return ctx.Err() == nil && source.HasSynced() }, log)
	if err != nil {
		return err
	}
	defer stopEndpoints()
	helpers.Go(func() { source.Run(base) })
	helpers.Go(func() { reporter.Run(base) })

	serving, stopServing := delayed(ctx, o.shutdownDelay)
	defer stopServing()
	log.Info("the egress proxy listens", "address", listener.Addr().String())
	if err := server.Serve(serving, listener); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	log.Info("the egress proxy has ended")
	return nil
}

// audited returns the log of the proxy, whose audit lines go where the options say.
func audited(o options, registry prometheus.Registerer, log *slog.Logger) *slog.Logger {
	if o.auditFormat != ocsf.Format {
		return log
	}
	h := connection.New(log.Handler(), ocsf.NewLog(o.audit), motorcortex.Version())
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "motorcortex_egress_audit_lost_total", Help: "Lines of the audit that could not be written.",
	}, func() float64 { return float64(h.Lost()) }))
	return slog.New(h)
}

// delayed returns a context that ends some time after another one. For that long the proxy is not ready and accepts new connections all the same,
// because the nodes still send it some.
func delayed(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-later.Done():
		}
	})
	return later, func() {
		stop()
		cancel()
	}
}
