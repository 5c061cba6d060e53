// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadSpawns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		output string
		want   []time.Duration
	}{
		"all":                      {"10\n20\n", []time.Duration{10, 20}},
		"with a line of the tool":  {"10\n20\nNone\n", []time.Duration{10, 20}},
		"with a number after them": {"10\n20\n30\n", []time.Duration{10, 20}},
		"one is missing":           {"10\n", nil},
		"no number":                {"Traceback\n10\n20\n", nil},
	} {
		if got, err := readSpawns(tt.output, 2); !slices.Equal(got, tt.want) || (err == nil) != (tt.want != nil) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestExecStartsTheProgramOfAToolCall(t *testing.T) {
	t.Parallel()
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(kubectl, []byte("#!/bin/sh\necho args: \"$@\"\n[ \"$4\" = p ]\n"), 0o700); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
	b := &bench{namespace: "n", kubectl: kubectl}
	if err := b.exec(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	if err := b.exec(t.Context(), "q"); err == nil || !strings.Contains(err.Error(), "exit status 1: args: -n n exec q -c toolserver -- bash -c -- true") {
		t.Errorf("%v", err)
	}
}
