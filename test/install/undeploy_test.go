// SPDX-License-Identifier: Apache-2.0

// Package install_test tries the scripts that install and remove the operator, with a kubectl that only says what it is told to.
package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl logs its arguments, and answers "get crd" and "get pods" with the files of that name. A file that is missing is an API
// server that does not answer.
const kubectl = `#!/usr/bin/env bash
echo "$*" >>"$ANSWERS/log"
case "$1 $2" in
"get crd") cat "$ANSWERS/crd" ;;
"get pods") cat "$ANSWERS/pods" ;;
esac
`

// undeploy runs the script against a cluster that gives these answers. It returns what kubectl was asked, and what the script says.
func undeploy(t *testing.T, answers map[string]string) (asked, said string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range answers {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), "../../hack/undeploy.sh")
	script.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ANSWERS="+dir, "DEMO_CLUSTER=current", "CONFIRM=yes", "PATIENCE=2")
	out, err := script.CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	return string(log), string(out), err
}

// The walls stay for as long as it is not known that no sandbox is left.
func TestWallsStayWhileSandboxesMayBeLeft(t *testing.T) {
	t.Parallel()
	const kind = "customresourcedefinition.apiextensions.k8s.io/motorruns.motorcortex.dev\n"
	for name, tt := range map[string]struct {
		answers map[string]string
		says    string
	}{
		"no answer about runs":      {map[string]string{"pods": ""}, "does not say whether there are runs"},
		"no answer about sandboxes": {map[string]string{"crd": kind}, "does not say whether sandboxes are left"},
		"a sandbox that stays":      {map[string]string{"crd": kind, "pods": "pod/run-motor-sandbox\n"}, "are still there after 2 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, said, err := undeploy(t, tt.answers)
			if err == nil || !strings.Contains(said, tt.says) {
				t.Errorf("%v: %s", err, said)
			}
			for _, wall := range []string{"delete deployment", "delete networkpolicies", "delete --ignore-not-found -k"} {
				if strings.Contains(asked, wall) {
					t.Errorf("kubectl %s … although %s", wall, name)
				}
			}
		})
	}
	asked, said, err := undeploy(t, map[string]string{"crd": kind, "pods": ""})
	if err != nil || !strings.Contains(asked, "delete motorruns -A --all") || !strings.Contains(asked, "delete networkpolicies") {
		t.Errorf("none is left: %v: %s\n%s", err, said, asked)
	}
}
