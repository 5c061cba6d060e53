// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// carried are tests of the API in both releases that carry runs from their beginning to their end, or to the one of another engine,
// with a tool server as their sandbox.
var carried = []string{
	"TestEngineCarriesARunToItsEnd", "TestEngineWaitsForAPersonWithoutALoop", "TestEngineThatFollowsAnotherRepeatsNothing", "TestEngineMakesNoCallWithoutApproval",
	"TestEnginePinsTheToolsOfMCPServers",
}

// toGo stands before go in the tests of the API: where they have their own tool server built, they get the other release's.
const toGo = `#!/bin/sh
if [ "$1" = build ] && [ "$2" = -o ]; then exec cp %q "$3"; fi
echo "the tests of the API call go $*, and not for the tool server" >&2
exit 1
`

// engineWith runs the engine of one release, in that release's own tests, with the tool server of another one.
func engineWith(t *testing.T, engine, server release) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: it is the folder with etcd and kube-apiserver. Run `make test-skew`, which sets it.")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), fmt.Appendf(nil, toGo, server.server), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(dir, "api.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-buildvcs=false", "-o", tests, "./test/api")
	build.Dir, build.Env = engine.tree, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of the API of the %s release: %v\n%s", engine.name, err, out)
	}
	run := exec.CommandContext(t.Context(), tests, "-test.v", "-test.timeout", "10m", "-test.run", "^("+strings.Join(carried, "|")+")$")
	run.Dir, run.Env = filepath.Join(engine.tree, "test", "api"), append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("the engine of the %s release with the tool server of the %s one: %v\n%s", engine.name, server.name, err, out)
	}
	for _, name := range carried {
		if !regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `).Match(out) {
			t.Errorf("the %s release has no test %s, or it was skipped", engine.name, name)
		}
	}
}
