// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
)

const (
	// endpointTimeout bounds a request for metrics or of a probe, and endpointIdle the time until the next one.
	endpointTimeout, endpointIdle = 10 * time.Second, 2 * time.Minute
	// endpointConnections is how many connections each of the two servers has at once. A Prometheus and a node have one or two.
	endpointConnections = 64
)

// serveEndpoints serves metrics and probes until stop is called, which waits for both.
func serveEndpoints(ctx context.Context, o options, metrics prometheus.Gatherer, ready func() bool, log *slog.Logger) (stop func(), err error) {
	shown := http.NewServeMux()
	shown.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))

	var serving sync.WaitGroup
	var servers []*http.Server
	stop = func() {
		for _, s := range servers {
			_ = s.Close()
		}
		serving.Wait()
	}
	for address, handler := range map[string]http.Handler{o.healthAddress: probes(ready), o.metricsAddress: shown} {
		if address == "0" || address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen for metrics and probes: %w", err)
		}
		server, bounded := endpoint(listener, handler)
		servers = append(servers, server)
		serving.Go(func() {
			if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
				log.Error("metrics or probes are not served any more", "error", err)
			}
		})
	}
	return stop, nil
}

// endpoint makes a server with bounds, and the listener that it must accept from. Any Pod that reaches the port could hold the memory and the file
// descriptors of the proxy otherwise, and with them the way out of all sandboxes.
func endpoint(listener net.Listener, handler http.Handler) (*http.Server, net.Listener) {
	server := &http.Server{
		Handler: handler, ReadTimeout: endpointTimeout, WriteTimeout: endpointTimeout, IdleTimeout: endpointIdle, MaxHeaderBytes: 16 << 10,
	}
	bounded := connlimit.New(listener, endpointConnections)
	bounded.Watch(server)
	return server, bounded
}

func probes(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the grants or the cluster's addresses are not known, or the proxy is about to end", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	return mux
}
