// SPDX-License-Identifier: Apache-2.0

// The mcpserver serves Motor Cortex by the Model Context Protocol to agents that run in the cluster. See internal/mcpserver/cluster.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/internal/mcpserver/cluster"
)

// qps is the most requests to the API server a second, of all programs together, and burst how many may come at once.
const qps, burst = 100, 200

// options are the flags.
type options struct {
	listen, health    string
	certFile, keyFile string
	plain             bool
	shutdownDelay     time.Duration
	cluster           cluster.Options
}

func (o *options) bind(f *flag.FlagSet) {
	f.StringVar(&o.listen, "listen", ":8443", "the address for programs with agents")
	f.StringVar(&o.health, "health-listen", ":8081", "the address for /healthz and /readyz")
	f.StringVar(&o.certFile, "tls-cert-file", "", "the certificate of the address for programs, PEM; it is read again when it changes")
	f.StringVar(&o.keyFile, "tls-key-file", "", "the key of the certificate, PEM")
	f.BoolVar(&o.plain, "plain-http", false, "serve without TLS: tokens are readable on the way, so only where a mesh encrypts it")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", 5*time.Second, "how long to serve after the signal to end: nodes still send connections")
	f.StringVar(&o.cluster.Audience, "audience", "motorcortex-mcp", "the audience that tokens must be for")
	f.BoolVar(&o.cluster.Consent, "allow-consent", false,
		"let agents pass on what a person decided: answers, approvals, credentials. They need the verbs for that, too")
}

func (o *options) check() error {
	switch {
	case o.cluster.Audience == "":
		return errors.New("--audience is empty: it is what keeps tokens for the API server out")
	case o.plain && (o.certFile != "" || o.keyFile != ""):
		return errors.New("--plain-http and a certificate exclude each other")
	case !o.plain && (o.certFile == "" || o.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file are needed: programs send tokens")
	case o.shutdownDelay < 0:
		return errors.New("--shutdown-delay is less than 0")
	}
	return nil
}

func main() {
	var o options
	o.bind(flag.CommandLine)
	version := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *version {
		fmt.Println(motorcortex.Version())
		return
	}
	handler := slog.NewJSONHandler(os.Stderr, nil)
	log := slog.New(handler)
	klog.SetLogger(logr.FromSlogHandler(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := start(ctx, &o, log)
	stop()
	if err != nil {
		log.Error("the MCP server cannot go on", "error", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o *options, log *slog.Logger) error {
	if err := o.check(); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for programs: %w", err)
	}
	return run(ctx, o, config, listener, log)
}

// run serves until ctx is done, and then for the time that the options set.
func run(ctx context.Context, o *options, config *rest.Config, listener net.Listener, log *slog.Logger) error {
	defer func() { _ = listener.Close() }() // The server has closed it, if there was one.
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	if !o.plain {
		certificate, err := certwatcher.New(o.certFile, o.keyFile)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		helpers.Go(func() {
			if err := certificate.Start(base); err != nil {
				log.Error("a new certificate will not be read", "error", err)
			}
		})
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate, NextProtos: []string{"http/1.1"},
		})
	}
	servers, err := cluster.New(base, config, o.cluster)
	if err != nil {
		return err
	}
	stopHealth, err := serveHealth(base, o.health, func() bool { return ctx.Err() == nil })
	if err != nil {
		return err
	}
	defer stopHealth()
	h := mcpserver.HTTP(base, servers.Handler())
	h.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // Connections that a stranger breaks off are no event.
	helpers.Go(func() {
		select {
		case <-ctx.Done():
			wait(base, o.shutdownDelay)
		case <-base.Done():
		}
		end()
		servers.Close()
		_ = h.Close() // Streams stay open for ever: they are not waited for.
	})
	log.Info("the MCP server listens", "address", listener.Addr().String(), "audience", o.cluster.Audience, "consent", o.cluster.Consent)
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve programs: %w", err)
	}
	log.Info("the MCP server has ended")
	return nil
}

// wait returns after a time, or when the context is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// serveHealth answers the probes of the node. The returned function ends it.
func serveHealth(ctx context.Context, address string, ready func() bool) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the server ends", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	h := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Serve(listener) // It returns when it is closed.
	}()
	return func() { _ = h.Close(); <-ended }, nil
}
