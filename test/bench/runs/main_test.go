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
	if o, err := parse([]string{"-image", "i", "-rounds", "3"}); err != nil || o.image != "i" || o.rounds != 3 || o.namespace != "motorcortex-bench" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{nil, {"-image", "i", "-rounds", "0"}, {"-none"}, {"-image", "i", "-only", "13"}, {"-image", "i", "-waiting", "9"}, {"-image", "i", "-quiet", "0s"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// A wrong name must not cost a measurement, and the file may be the one that is written.
func TestEarlierFiguresAreReadFirst(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	missing := filepath.Join(t.TempDir(), "bench.json")
	err := run(t.Context(), options{image: "i", rounds: 1, results: figures.Results{CompareTo: missing}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
}
