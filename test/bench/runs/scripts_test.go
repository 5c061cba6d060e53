// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// A script that does not load, or is not installed, would only be noticed on the cluster.
func TestEachScriptIsInstalled(t *testing.T) {
	t.Parallel()
	scripts, err := script.LoadFS(os.DirFS("scripts"))
	if err != nil {
		t.Fatal(err)
	}
	install, err := os.ReadFile("../../../hack/bench.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bench-call", "bench-ask", "bench-steps", "bench-five", "bench-slow", "bench-takeover"} {
		if scripts[name] == nil {
			t.Errorf("there is no script %s", name)
		}
	}
	for name := range scripts {
		if !strings.Contains(string(install), name+".yaml") {
			t.Errorf("hack/bench.sh does not install the script %s", name)
		}
	}
}
