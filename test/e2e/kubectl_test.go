// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// kubectl runs kubectl as a person would, and fails the test if it fails.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := tryKubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

func tryKubectl(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite.kubectl, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// inSandbox runs a command line in the run's sandbox, past the tool server.
func inSandbox(t *testing.T, run *v1alpha1.MotorRun, command string) string {
	t.Helper()
	return kubectl(t, "-n", run.Namespace, "exec", sandboxOf(run).Name, "-c", "toolserver", "--", "bash", "-c", command)
}

// story tells what is known of a run, for a test that failed.
func story(ctx context.Context, run *v1alpha1.MotorRun) string {
	var b strings.Builder
	for _, chapter := range []struct {
		title string
		most  int
		// about, if set, drops every line in which it does not stand.
		about string
		args  []string
	}{
		{"run", 12_000, "", []string{"get", "motorrun", run.Name, "-o", "yaml"}},
		{"steps", 2_000, "", []string{"get", "motorsteps", "-l", v1alpha1.LabelRun + "=" + run.Name, "-o", "wide"}},
		{"steps in full", 12_000, "", []string{"get", "motorsteps", "-l", v1alpha1.LabelRun + "=" + run.Name, "-o",
			`jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.toolCalls}{.spec.outcome}{"\n"}{.status}{"\n"}{end}`}},
		{"sandbox", 6_000, "", []string{"describe", "pod", sandboxOf(run).Name}},
		{"tool server", 4_000, "", []string{"logs", sandboxOf(run).Name, "--tail=20"}},
		{"events", 4_000, run.Name, []string{"get", "events", "--sort-by=.lastTimestamp"}},
		{"managers", 8_000, `"` + run.Name + `"`, []string{"logs", "-n", managerNamespace, "-l", managerSelector, "--prefix", "--tail=1000"}},
	} {
		out, errOut, err := tryKubectl(ctx, "", append([]string{"-n", run.Namespace}, chapter.args...)...)
		if err != nil {
			out += errOut
		}
		if chapter.about != "" {
			out = strings.Join(slices.DeleteFunc(strings.SplitAfter(out, "\n"), func(line string) bool {
				return !strings.Contains(line, chapter.about)
			}), "")
		}
		if len(out) > chapter.most {
			half := chapter.most / 2
			out = strings.ToValidUTF8(out[:half]+"\n…\n"+out[len(out)-half:], "")
		}
		fmt.Fprintf(&b, "── %s of %s\n%s\n", chapter.title, run.Name, out)
	}
	return b.String()
}
