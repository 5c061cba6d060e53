// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl returns a program that says that it forwards a port to an address, and goes on until it is ended.
func kubectl(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	text := fmt.Sprintf("#!/bin/sh\necho 'Forwarding from %s -> 6060'\nexec sleep 600\n", address)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
	return path
}

// It is not parallel: a program that another test starts meanwhile would have the file open for writing for a moment, and Linux starts no such file.
func TestAManagerIsReadThroughAForwardedPort(t *testing.T) { //nolint:paralleltest // See above.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, r.URL.RequestURI())
	}))
	defer server.Close()
	m := &Managers{Kubectl: kubectl(t, strings.TrimPrefix(server.URL, "http://"))}
	if got, err := m.get(t.Context(), "pod", "6060", "http", "/debug/pprof/heap?gc=1", "secret"); err != nil || got != "/debug/pprof/heap?gc=1" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.get(t.Context(), "pod", "6060", "http", "/metrics", ""); err == nil || !strings.Contains(err.Error(), "/metrics of port 6060 answers 401") {
		t.Errorf("without a token: %v", err)
	}
}

func TestAPortThatIsNotForwardedIsAnError(t *testing.T) {
	t.Parallel()
	m := &Managers{Kubectl: "/bin/false"}
	if _, err := m.get(t.Context(), "pod", "6060", "http", "/metrics", ""); err == nil || !strings.Contains(err.Error(), "forward port 6060") {
		t.Errorf("%v", err)
	}
}
