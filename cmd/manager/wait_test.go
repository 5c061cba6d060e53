// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// While the API server is away the manager is alive and not ready, and releases the address of its probes afterwards.
func TestManagerWaitsForTheAPIServer(t *testing.T) {
	t.Parallel()
	probes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := probes.Addr().String()
	_ = probes.Close()
	probe := func(path string) int {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	var tries atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		if alive, ready := probe("/healthz"), probe("/readyz"); alive != http.StatusOK || ready != http.StatusServiceUnavailable {
			t.Errorf("while it waits /healthz is %d and /readyz %d", alive, ready)
		}
		_, _ = w.Write([]byte(`{"major":"1","minor":"36"}`))
	}))
	defer api.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := awaitAPIServer(ctx, &rest.Config{Host: api.URL}, address, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if tries.Load() != 2 {
		t.Errorf("asked %d times", tries.Load())
	}
	if code := probe("/healthz"); code != 0 {
		t.Errorf("the probes are still answered, with %d", code)
	}
}

func TestWaitingForTheAPIServerEndsWithTheManager(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := awaitAPIServer(ctx, &rest.Config{Host: "http://127.0.0.1:1"}, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// One that does not let the manager ask for its version answers all the same.
func TestAPIServerThatRefusesAnswers(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
	}))
	defer api.Close()
	if err := awaitAPIServer(t.Context(), &rest.Config{Host: api.URL}, "0", slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}
