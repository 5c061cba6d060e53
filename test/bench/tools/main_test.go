// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

func TestParse(t *testing.T) {
	t.Parallel()
	if o, err := parse([]string{"-rounds", "3", "-json", "f"}); err != nil || o.rounds != 3 || o.perRound != 10 || o.sandboxes != 5 || o.namespace != "motorcortex-bench" || o.results.File != "f" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"-rounds", "0"}, {"-calls", "0"}, {"-calls", "1001"}, {"-sandboxes", "0"}, {"-sandboxes", "21"}, {"-none"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// A wrong name must not cost a measurement.
func TestEarlierFiguresAreReadFirst(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	missing := filepath.Join(t.TempDir(), "bench.json")
	err := run(t.Context(), options{sandboxes: 1, rounds: 1, perRound: 1, results: figures.Results{CompareTo: missing}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
}
