// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for flags, says := range map[string]string{
		"--tls-cert-file=a --tls-key-file=b": "",
		"--plain-http":                       "",
		"":                                   "are needed: programs send tokens",
		"--tls-key-file=b":                   "are needed: programs send tokens",
		"--plain-http --tls-key-file=b":      "exclude each other",
		"--plain-http --tls-cert-file=a":     "exclude each other",
		"--plain-http --shutdown-delay=-1s":  "--shutdown-delay is less than 0",
		"--plain-http --shutdown-delay=0s":   "",
	} {
		var o Options
		f := flag.NewFlagSet("", flag.ContinueOnError)
		o.Bind(f, "programs", "only where a mesh encrypts it")
		if err := f.Parse(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		if err := o.Check("programs send tokens"); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

// A server that ends is alive and not ready.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		for path, want := range map[string]bool{"/healthz": true, "/readyz": ready} {
			w := httptest.NewRecorder()
			probes(func() bool { return ready }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			if (w.Code == http.StatusOK) != want {
				t.Errorf("%s, ready %t: status %d", path, ready, w.Code)
			}
		}
	}
}

// The context of requests ends before what is closed, and Run returns then.
func TestTheEnd(t *testing.T) {
	t.Parallel()
	listen := func() net.Listener {
		t.Helper()
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	o := &Options{Health: "127.0.0.1:0", Plain: true}
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	ended, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, o, listen(), log, func(ctx context.Context) (*http.Server, func(), error) {
			return &http.Server{ReadHeaderTimeout: time.Second}, func() { closed <- ctx.Err() }, nil
		})
	}()
	stop()
	for _, c := range []struct {
		from chan error
		want error
	}{{closed, context.Canceled}, {ended, nil}} {
		select {
		case err := <-c.from:
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		case <-time.After(time.Minute):
			t.Fatal("the server goes on after the signal to end")
		}
	}
	broken := errors.New("broken")
	if err := Run(t.Context(), o, listen(), log, func(context.Context) (*http.Server, func(), error) { return nil, nil, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
