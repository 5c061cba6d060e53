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
)

// endpointTimeout bounds a request for metrics or of a probe.
const endpointTimeout = 10 * time.Second

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
		server := &http.Server{Handler: handler, ReadTimeout: endpointTimeout, WriteTimeout: endpointTimeout, MaxHeaderBytes: 16 << 10}
		servers = append(servers, server)
		serving.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("metrics or probes are not served any more", "error", err)
			}
		})
	}
	return stop, nil
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
