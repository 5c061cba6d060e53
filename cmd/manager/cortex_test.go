// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	cortexcontroller "motorcortex.dev/motorcortex/internal/controller/cortex"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/secret"
)

// The installation's own model is asked once for all namespaces, and that of a namespace for itself.
func TestProbeModel(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	own := cortex.Endpoint{BaseURL: s.URL, Model: "m"}
	probe := probeModel(func(e cortex.Endpoint) (*openai.Client, error) {
		return openai.New(openai.Endpoint{BaseURL: e.BaseURL, Model: e.Model, APIKey: e.APIKey}, openai.Options{})
	}, own)
	for _, namespace := range []string{"a", "b"} {
		e := own
		e.Namespace = namespace
		if listed, err := probe(t.Context(), e); err != nil || !listed {
			t.Errorf("%s: %t, %v", namespace, listed, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("two namespaces had the installation's model asked %d times", n)
	}
	theirs := own
	theirs.APIKey = secret.New("wrong")
	_, err := probe(t.Context(), theirs)
	if u, ok := errors.AsType[*cortexcontroller.Unavailable](err); !ok || u.Reason != v1alpha1.ReasonModelUnauthorized || asked.Load() != 2 {
		t.Errorf("a key of its own: %v, asked %d times", err, asked.Load())
	}
	theirs.BaseURL = "not an address"
	if _, err = probe(t.Context(), theirs); !strings.Contains(err.Error(), "base URL") {
		t.Errorf("an endpoint that cannot be asked: %v", err)
	}
}

// Why the bucket cannot be listed is for the log, once, and not for a namespace.
func TestProbeArchive(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	probe := probeArchive(func(context.Context) error { return errors.New("access denied to bucket secret-name") }, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		if probe(t.Context()) {
			t.Error("a bucket that cannot be listed counts as ready")
		}
	}
	if n := strings.Count(log.String(), "secret-name"); n != 1 {
		t.Errorf("the log has it %d times:\n%s", n, &log)
	}
	if probe = probeArchive(func(context.Context) error { return nil }, slog.New(slog.DiscardHandler)); !probe(t.Context()) {
		t.Error("a bucket that can be listed does not count as ready")
	}
}
