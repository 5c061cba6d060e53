// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/golden"
	"motorcortex.dev/motorcortex/test/tty"
)

// A command in what a run says can be copied out of a file or a pipe.
func TestWithoutATerminalNoLineIsDivided(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	long := "Do this: " + strings.Repeat("kubectl ", 30) + strings.Repeat("x", 200)
	run := aRun(v1alpha1.MotorRunStatus{Phase: v1alpha1.PhaseRunning, Message: long}, func(run *v1alpha1.MotorRun) { run.Spec.Task = long })
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).Build()
	for _, name := range []string{"get", "why"} {
		for _, screen := range []bool{false, true} {
			var b strings.Builder
			streams := verb.Streams{Out: &b, Err: &b, Screen: screen}
			connect := func() (client.WithWatch, string, error) { return c, run.Namespace, nil }
			p := verb.Program(streams, "kubectl-motor", "kubectl motor", "Test.", New(Command{Streams: streams, Connect: connect})...)
			if code := verb.Run(t.Context(), p, []string{name, run.Name}); code != verb.ExitOK {
				t.Errorf("exit code %d", code)
			}
			if strings.Contains(b.String(), "\n  "+long+"\n") == screen {
				t.Errorf("%s, screen %v:\n%s", name, screen, &b)
			}
		}
	}
}

// What a run says of itself cannot draw on the terminal of who asks why it stands still, and the commands there are about the cluster that was asked.
func TestWhyOnATerminal(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	run := aRun(v1alpha1.MotorRunStatus{
		Phase: v1alpha1.PhaseAwaitingInput, Reason: "Question", Message: "It waits\x1b[2J for an answer.",
		PendingInputs: []v1alpha1.PendingInput{{
			ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which\x1b[1;1Hone?", Options: []string{"a\x07", "b"}, AskTime: metav1.NewTime(began), ExpirationTime: metav1.NewTime(began.Add(20*24*time.Hour + time.Hour)),
		}},
	}, func(run *v1alpha1.MotorRun) {
		run.UID, run.CreationTimestamp = "uid", metav1.NewTime(began.Add(-10*24*time.Hour-time.Hour))
	})
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: "s", Namespace: run.Namespace, CreationTimestamp: metav1.NewTime(run.CreationTimestamp.Add(8 * time.Second)), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: run.Name, UID: run.UID}},
		},
		Spec:   v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, ToolCalls: []v1alpha1.ToolCall{{ID: "c", Tool: "bash", Arguments: `{"command":"make"}`}}},
		Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "c", ErrorCode: "exit_2", DurationMilliseconds: 20}}},
	}
	s := tty.New(t, 100, 24)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run, step).Build()
	streams := verb.Streams{In: s.TTY, Out: s.TTY, Err: s.TTY, Terminal: true, Screen: true}
	connect := func() (client.WithWatch, string, error) { return c, run.Namespace, nil }
	p := verb.Program(streams, "kubectl-motor", "kubectl motor", "Test.", New(Command{Streams: streams, Connect: connect})...)
	new(cluster.Flags).Bind(p.PersistentFlags())
	if code := verb.Run(t.Context(), p, []string{"why", run.Name, "--context", "prod"}); code != verb.ExitOK {
		t.Errorf("exit code %d", code)
	}
	golden.Check(t, "why.txt", s.Shows("--option 1…2", "exit_2  20ms"))
}
