// SPDX-License-Identifier: Apache-2.0

// Package endpoint makes the server of the manager's metrics. The one of controller-runtime takes any number of connections, headers of a megabyte, and
// as long as a client likes for an answer: any Pod that reaches the port could hold the memory and the file descriptors of the manager.
package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
)

const (
	// Path is where the metrics are.
	Path = "/metrics"
	// maxReads is how many answers are made at once. Each gathers all metrics.
	maxReads = 8
	// endTime is how long an answer may go on after the signal to end.
	endTime = 5 * time.Second
)

// Options are how metrics are served.
type Options struct {
	// Address to listen at.
	Address string
	// Secure serves by HTTPS, with tls.crt and tls.key of the folder CertDir, which are read again when they change. Without them the server makes
	// a certificate of its own.
	Secure  bool
	CertDir string
	// Gatherer has the metrics.
	Gatherer prometheus.Gatherer
	// Others are served beside the metrics, by their paths.
	Others map[string]http.Handler
	// Filter lets requests through. Nil: all.
	Filter metricsserver.Filter
	Logger *slog.Logger
}

// Bounds are what clients may use. Handshakes of TLS count as headers.
type Bounds struct {
	// Connections are open at once. Another one takes the place of one that the package room chooses.
	Connections int
	// Header, Read, Write and Idle are how long the headers of a request, all of it, its answer, and the time until the next one may take.
	Header, Read, Write, Idle time.Duration
	// HeaderBytes is the most bytes of headers. A client that sends up to 4 KiB more is still answered.
	HeaderBytes int
}

// Default are the bounds of the manager. A Prometheus has one connection, or two.
var Default = Bounds{
	Connections: 64, Header: 5 * time.Second, Read: 10 * time.Second, Write: 30 * time.Second, Idle: 2 * time.Minute, HeaderBytes: 24 << 10,
}

// New makes the server and what keeps its certificate up to date, which is nil without files. It listens at once, and serves when it is started: the
// manager starts it before its caches and before it leads.
func New(ctx context.Context, o Options, b Bounds) (server *manager.Server, certificate *certwatcher.CertWatcher, err error) {
	handler, err := o.handler()
	if err != nil {
		return nil, nil, err
	}
	var config *tls.Config
	if o.Secure {
		if config, certificate, err = o.tls(); err != nil {
			return nil, nil, err
		}
	}
	at, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for readers of metrics: %w", err)
	}
	serves := &http.Server{
		Handler: handler, ReadHeaderTimeout: b.Header, ReadTimeout: b.Read, WriteTimeout: b.Write, IdleTimeout: b.Idle, MaxHeaderBytes: b.HeaderBytes,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug), // Connections that a stranger breaks off are no event.
	}
	// Connections are counted before their handshakes, which cost the most.
	bounded := connlimit.New(at, b.Connections)
	bounded.Watch(serves)
	at = bounded
	if config != nil {
		at = tls.NewListener(at, config)
	}
	return &manager.Server{Name: "metrics", Listener: at, ShutdownTimeout: new(endTime), Server: serves}, certificate, nil
}

// handler has the metrics and the other paths behind the filter.
func (o *Options) handler() (http.Handler, error) {
	paths := map[string]http.Handler{Path: promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxReads})}
	for path, h := range o.Others {
		if paths[path] != nil {
			return nil, fmt.Errorf("%s is the path of the metrics", path)
		}
		paths[path] = h
	}
	mux := http.NewServeMux()
	for path, h := range paths {
		if o.Filter != nil {
			var err error
			if h, err = o.Filter(logr.FromSlogHandler(o.Logger.Handler()).WithValues("path", path), known(h)); err != nil {
				return nil, fmt.Errorf("make the filter of %s: %w", path, err)
			}
		}
		mux.Handle(path, h)
	}
	return mux, nil
}

// known notes that a client has shown who it is, and serves its request.
func known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connlimit.Known(r.Context())
		next.ServeHTTP(w, r)
	})
}

// tls returns the configuration with the certificate of the folder, or with a new one.
func (o *Options) tls() (*tls.Config, *certwatcher.CertWatcher, error) {
	// A connection of HTTP/2 carries hundreds of requests, whose headers are held before the filter sees them.
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	cert, key := filepath.Join(o.CertDir, "tls.crt"), filepath.Join(o.CertDir, "tls.key")
	if o.CertDir != "" && exists(cert) && exists(key) {
		watcher, err := certwatcher.New(cert, key)
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificate of the metrics: %w", err)
		}
		config.GetCertificate = watcher.GetCertificate
		return config, watcher, nil
	}
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil, "")
	if err != nil {
		return nil, nil, fmt.Errorf("make the certificate of the metrics: %w", err)
	}
	own, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("make the certificate of the metrics: %w", err)
	}
	config.Certificates = []tls.Certificate{own}
	return config, nil, nil
}

// exists reports whether there is such a file. One that cannot be looked at is one: reading it tells why.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
