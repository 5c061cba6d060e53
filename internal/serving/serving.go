// SPDX-License-Identifier: Apache-2.0

// Package serving runs an HTTP server in a Pod: its certificate, the probes of the node, and its end.
package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
)

// Options are the flags that such servers share.
type Options struct {
	// Listen is the address of the server, and Health that of the probes.
	Listen, Health string
	// CertFile and KeyFile are the certificate and its key, PEM. Plain serves without one.
	CertFile, KeyFile string
	Plain             bool
	// ShutdownDelay is how long to serve after the signal to end.
	ShutdownDelay time.Duration
}

// Bind makes the flags. clients says who connects, and plain when --plain-http is safe.
func (o *Options) Bind(f *flag.FlagSet, clients, plain string) {
	f.StringVar(&o.Listen, "listen", ":8443", "the address for "+clients)
	f.StringVar(&o.Health, "health-listen", ":8081", "the address for /healthz and /readyz")
	f.StringVar(&o.CertFile, "tls-cert-file", "", "the certificate of the address for "+clients+", PEM; it is read again when it changes")
	f.StringVar(&o.KeyFile, "tls-key-file", "", "the key of the certificate, PEM")
	f.BoolVar(&o.Plain, "plain-http", false, "serve without TLS: "+plain)
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 5*time.Second, "how long to serve after the signal to end: nodes still send connections")
}

// Check returns an error for flags that contradict each other. secrets says what needs TLS, as in "programs send tokens".
func (o *Options) Check(secrets string) error {
	switch {
	case o.Plain && (o.CertFile != "" || o.KeyFile != ""):
		return errors.New("--plain-http and a certificate exclude each other")
	case !o.Plain && (o.CertFile == "" || o.KeyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file are needed: " + secrets)
	case o.ShutdownDelay < 0:
		return errors.New("--shutdown-delay is less than 0")
	}
	return nil
}

// Make returns the server. Its requests must end with the context. closing is called before its connections are closed, unless it is nil.
type Make func(ctx context.Context) (server *http.Server, closing func(), err error)

// maxConnections is how many connections a server has at once.
const maxConnections = 2048

// Run serves until ctx is done, and then for the delay that the options set. It closes the listener. What the server serves must call connlimit.Known when
// a client has shown who it is.
func Run(ctx context.Context, o *Options, listener net.Listener, log *slog.Logger, of Make) error {
	bounded := connlimit.New(listener, maxConnections)
	listener = bounded
	defer func() { _ = bounded.Close() }() // The server has closed it, if there was one.
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	if !o.Plain {
		certificate, err := certwatcher.New(o.CertFile, o.KeyFile)
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
	server, closing, err := of(base)
	if err != nil {
		return err
	}
	bounded.Watch(server)
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // Connections that a stranger breaks off are no event.
	stopHealth, err := serveHealth(base, o.Health, func() bool { return ctx.Err() == nil })
	if err != nil {
		return err
	}
	defer stopHealth()
	helpers.Go(func() {
		select {
		case <-ctx.Done():
			wait(base, o.ShutdownDelay)
		case <-base.Done():
		}
		end()
		if closing != nil {
			closing()
		}
		_ = server.Close() // Streams stay open for ever: they are not waited for.
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
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

// maxProbes is how many connections for probes a server has at once. The node has one or two.
const maxProbes = 64

// serveHealth answers the probes of the node. The returned function ends it.
func serveHealth(ctx context.Context, address string, ready func() bool) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	h := &http.Server{Handler: probes(ready), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	bounded := connlimit.New(listener, maxProbes)
	bounded.Watch(h)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Serve(bounded) // It returns when it is closed.
	}()
	return func() { _ = h.Close(); <-ended }, nil
}

// probes answers whether the server is alive, and whether it is ready.
func probes(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the server ends", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
