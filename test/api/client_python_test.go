// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
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

// An outage is said, and a time that is over ends the program with a message.
func TestTheExampleOfThePythonClientSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	e, ctx := examplePython(t), testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	cmd := exec.CommandContext(ctx, e.command[0], append(e.command[1:], ns, "paint the door", "--model", "scripted/door", "--timeout", "8")...)
	cmd.Env = append(append(os.Environ(), e.env...), "KUBECONFIG="+tokenConfig(ctx, t, ns, "starter", rights{"get,list,watch,create motorruns"}))
	var said strings.Builder
	program := converse(t, cmd, &said)
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: program.prints("started ")}, run))
	if run.Spec.Model == nil || run.Spec.Model.Name != "scripted/door" {
		t.Errorf("the run has the model %+v", run.Spec.Model)
	}
	run.Status.Reason, run.Status.Message = v1alpha1.ReasonModelUnavailable, "the model is away\x1b"
	run.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionModelAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonModelUnavailable, LastTransitionTime: metav1.Now(),
	}}
	must(t, managerOfAll(t).Status().Update(ctx, run))
	err, ended := cmd.Wait(), &exec.ExitError{}
	if !errors.As(err, &ended) || ended.ExitCode() != 3 || strings.Count(said.String(), `it waits: 'ModelUnavailable: the model is away\x1b'`) != 1 ||
		!strings.Contains(said.String(), "kubectl motor why "+run.Name+" -n "+ns) {
		t.Errorf("the program ended with %v and said %s", err, &said)
	}
}

func TestTheExampleOfThePythonClientIsRefused(t *testing.T) {
	t.Parallel()
	examplePython(t).isRefused(t)
}
