// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"motorcortex.dev/motorcortex/test/tutorial"
)

// The tutorials, command by command, in the order in which a reader takes them.
func TestTutorials(t *testing.T) {
	t.Parallel()
	remove := func() {
		// What a suite left that was killed has the name, too.
		_, said, err := tryKubectl(context.WithoutCancel(t.Context()), "", "delete", "namespace", "tutorial", "tutorial-production", "tutorial-gitops", "--ignore-not-found", "--timeout=3m")
		if err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
	remove()
	t.Cleanup(remove)
	shell := reader(t)
	for _, name := range []string{"first-run.md", "questions.md", "skills.md", "gitops.md", "mcp.md", "python.md"} {
		commands, err := tutorial.Parse(readFile(t, filepath.Join("..", "..", "docs", "tutorials", name)))
		must(t, err)
		if len(commands) < 3 {
			t.Errorf("%s has %d commands", name, len(commands))
		}
		for i := range commands {
			if err := shell.Run(t.Context(), &commands[i]); err != nil {
				t.Errorf("%s, %v", name, err)
			}
		}
	}
}

// reader is the shell of a person who has kubectl, the plugin, and a clone of this repository.
func reader(t *testing.T) *tutorial.Shell {
	t.Helper()
	home := t.TempDir()
	programs := filepath.Join(home, "bin")
	must(t, os.Mkdir(programs, 0o700))
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	for name, to := range map[string]string{
		filepath.Join(programs, "kubectl"): suite.kubectl, filepath.Join(programs, "kubectl-motor"): suite.motor, filepath.Join(home, "config"): filepath.Join(root, "config"),
		// The Python of Debian has the package python3-kubernetes.
		filepath.Join(programs, "python3"): "/usr/bin/python3", filepath.Join(home, "clients"): filepath.Join(root, "clients"),
	} {
		must(t, os.Symlink(to, name))
	}
	// The reader chooses a namespace in it.
	config := filepath.Join(home, "kubeconfig")
	must(t, os.WriteFile(config, []byte(readFile(t, os.Getenv("KUBECONFIG"))), 0o600))
	return &tutorial.Shell{Dir: home, Env: append(os.Environ(),
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+config, "HOME="+home, "PYTHONDONTWRITEBYTECODE=1", "MODELSERVER_IMAGE="+suite.modelImage,
	)}
}
