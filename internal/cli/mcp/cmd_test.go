// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestTheVerb(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args string
		in   io.Reader
		err  error
		code int
		says string
	}{
		"it is closed at once": {"mcp", strings.NewReader(""), nil, verb.ExitOK, ""},
		"no standard input":    {"mcp", nil, nil, verb.ExitFailed, "there is no standard input"},
		"no cluster":           {"mcp", strings.NewReader(""), errors.New("read the kubeconfig: no"), verb.ExitFailed, "read the kubeconfig: no"},
		"an open address":      {"mcp --listen 0.0.0.0:1", nil, nil, verb.ExitMisused, "is not of the loopback"},
		"too many arguments":   {"mcp x", nil, nil, verb.ExitMisused, "too many arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var errs strings.Builder
			s := verb.Streams{In: tt.in, Out: io.Discard, Err: &errs}
			connect := func() (*rest.Config, string, error) { return &rest.Config{Host: "http://127.0.0.1:1"}, "ns", tt.err }
			code := verb.Run(t.Context(), verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, connect)), strings.Fields(tt.args))
			if code != tt.code || !strings.Contains(errs.String(), tt.says) {
				t.Errorf("exit code %d: %s", code, &errs)
			}
		})
	}
}

// A program that goes away closes its streams in one of several ways. None of them is a failure of the verb.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrClosedPipe, syscall.EPIPE} {
		if !gone(fmt.Errorf("read: %w", err)) {
			t.Errorf("%v is a failure", err)
		}
	}
	if gone(errors.New("no memory")) {
		t.Error("a failure counts as an end")
	}
}
