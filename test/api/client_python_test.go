// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// debianPython has the package python3-kubernetes, which another Python on PATH has not.
const debianPython = "/usr/bin/python3"

// examplePython is the example of the Python client.
func examplePython(t *testing.T) exampleProgram {
	t.Helper()
	if err := exec.CommandContext(t.Context(), debianPython, "-c", "import kubernetes").Run(); err != nil {
		t.Fatalf("the package python3-kubernetes of Debian is missing (hack/clients.sh build installs it): %v", err)
	}
	folder := filepath.Join("..", "..", "clients", "python")
	return exampleProgram{
		command:  []string{debianPython, filepath.Join(folder, "examples", "ask.py")},
		env:      []string{"PYTHONPATH=" + folder, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"},
		question: "'Which colour?'", call: `'{"command":"git push <\xe9>"}'`, summary: "'There are 3.'",
	}
}

func TestTheExampleOfThePythonClient(t *testing.T) {
	t.Parallel()
	examplePython(t).converses(t)
}

func TestTheExampleOfThePythonClientIsRefused(t *testing.T) {
	t.Parallel()
	examplePython(t).isRefused(t)
}
