// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/internal/selftest"
)

const (
	// apiServerPause lies between two tries to reach the API server, apiServerTimeout bounds each.
	apiServerPause   = time.Second
	apiServerTimeout = 5 * time.Second
)

// awaitAPIServer waits until the API server answers. If the manager ended instead, its node would restart it after pauses that grow to five
// minutes. Its runs would stand still for that long after the API server is back.
func awaitAPIServer(ctx context.Context, cfg *rest.Config, healthAddress string, log *slog.Logger) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = apiServerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	return awaitSuccess(ctx, func(context.Context) error { return answers(client) }, apiServerPause, healthAddress, func(err error) {
		log.Warn("waiting for the API server", "error", err)
	})
}

// schemaTest returns a test of whether the API server knows every field that this version writes. It drops other fields silently: with older
// CustomResourceDefinitions, fields that a run depends on would be lost.
func schemaTest(cfg *rest.Config) (func(context.Context) error, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = apiServerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return func(ctx context.Context) error { return selftest.Schema(ctx, client.RESTClient()) }, nil
}

// awaitSchema waits until the schemaTest passes.
func awaitSchema(ctx context.Context, test func(context.Context) error, pause time.Duration, healthAddress string, log *slog.Logger) error {
	return awaitSuccess(ctx, test, pause, healthAddress, func(err error) {
		log.Error("no run is carried out before the kinds fit", "error", err)
	})
}

// awaitSuccess tries until it succeeds, and reports each failure. The manager is alive and not ready meanwhile.
func awaitSuccess(ctx context.Context, try func(context.Context) error, pause time.Duration, healthAddress string, tell func(error)) error {
	err := try(ctx)
	if err == nil {
		return nil
	}
	stop, listenErr := serveWaiting(ctx, healthAddress)
	if listenErr != nil {
		return listenErr
	}
	defer stop()
	tell(err)
	return wait.PollUntilContextCancel(ctx, pause, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil {
			tell(err)
		}
		return err == nil, nil
	})
}

// answers returns why the API server does not answer, nil if it does. A refusal is an answer.
func answers(client discovery.ServerVersionInterface) error {
	_, err := client.ServerVersion()
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return nil
	}
	return err
}

// serveWaiting answers the probes of a manager that waits: it is alive, and not ready. The node would end it otherwise.
func serveWaiting(ctx context.Context, address string) (stop func(), err error) {
	if address == "0" || address == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not yet: the log says what the manager waits for", http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: apiServerTimeout}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	return func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			slog.Error("serve probes", "error", err)
		}
	}, nil
}
