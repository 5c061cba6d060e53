// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// motor runs kubectl motor as a person would, and fails the test if it fails.
func motor(t *testing.T, args ...string) string {
	t.Helper()
	return motorEnds(t, 0, args...)
}

// motorEnds is like motor for a command that ends with an exit code.
func motorEnds(t *testing.T, code int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite.motor, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("kubectl motor %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}
