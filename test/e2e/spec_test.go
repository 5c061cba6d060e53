// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// test/api has every rule; here is what a person reads who breaks one.
func TestKubectlSaysWhichFieldOfABadSpecIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		want []string
	}{
		"an unknown tool":        {"{task: a, tools: [read, browser]}", []string{"spec.tools[1]", `"browser"`, `"bash"`}},
		"an empty task":          {`{task: ""}`, []string{"spec.task"}},
		"code in an Agentic run": {"{task: a, code: {language: python, source: x}}", []string{"spec.code", "Oneshot"}},
		"a domain that is a URL": {`{task: a, domains: ["https://example.org/x"]}`, []string{"spec.domains[0]", "not a URL"}},
		"51 iterations":          {"{task: a, limits: {maxIterations: 51}}", []string{"spec.limits.maxIterations", "50"}},
		"a file outside":         {"{task: a, files: [{path: ../a, content: x}]}", []string{"spec.files[0].path", "stays in the workspace"}},
		"a misspelt field":       {"{task: a, tols: [read]}", []string{`unknown field "spec.tols"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := "apiVersion: motorcortex.dev/v1alpha1\nkind: MotorRun\nmetadata: {name: bad}\nspec: " + tt.spec + "\n"
			_, stderr, err := tryKubectl(t.Context(), object, "-n", suite.namespace, "apply", "-f", "-")
			wantRefused(t, stderr, err, tt.want...)
		})
	}
}

// restrictedPod is the spec of a Pod that nothing but its metadata speaks against.
const restrictedPod = `spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: c, image: c, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
`

// What a run is continued from, and what keeps its sandbox closed, is the operator's alone: not even an administrator
// changes it by mistake.
func TestNobodyElseWritesWhatTheOperatorTrusts(t *testing.T) {
	t.Parallel()
	run := awaitQuestion(t, startRun(t, "ask"))
	ns, sandbox := []string{"-n", run.Namespace}, sandboxOf(run).Name
	forged := fmt.Sprintf(`ownerReferences: [{apiVersion: motorcortex.dev/v1alpha1, kind: MotorRun, name: %s, uid: %s, controller: true}]`, run.Name, run.UID)
	tests := map[string]struct {
		args  []string
		stdin string
		want  string
	}{
		"a step": {
			args:  []string{"create", "-f", "-"},
			stdin: "apiVersion: motorcortex.dev/v1alpha1\nkind: MotorStep\nmetadata: {name: forged}\nspec: {type: Turn, attempt: 1, index: 1, epoch: 1, final: true, content: done}\n",
			want:  "only its manager writes them",
		},
		"the result of a step": {
			args: []string{"patch", "motorstep", run.Name + "-a01-s0001", "--subresource=status", "--type=merge", "-p", `{"status":{"ok":"1/1"}}`},
			want: "only its manager writes them",
		},
		"the status of a run": {
			args: []string{"patch", "motorrun", run.Name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Completed"}}`},
			want: "only its manager writes them",
		},
		"a Pod in place of a sandbox": {
			args:  []string{"create", "-f", "-"},
			stdin: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: forged\n  " + forged + "\n" + restrictedPod,
			want:  "only the operator makes the Pods",
		},
		"the label that closes a sandbox": {
			args: []string{"label", "pod", sandbox, v1alpha1.LabelComponent + "-"},
			want: "no user takes it away",
		},
	}
	for name, tt := range tests {
		// One after the other: the run waits for nobody but this test.
		_, stderr, err := tryKubectl(t.Context(), tt.stdin, append(ns, tt.args...)...)
		if err == nil || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: not refused with %q: %v\n%s", name, tt.want, err, stderr)
		}
	}
	respond(t, run, run.Status.Pending().ID, "red")
	wantCompleted(t, run, soon)
}

// wantRefused fails unless kubectl failed with a message that has every part.
func wantRefused(t *testing.T, stderr string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, part := range parts {
		if !strings.Contains(stderr, part) {
			t.Errorf("the refusal does not say %q:\n%s", part, stderr)
		}
	}
}
