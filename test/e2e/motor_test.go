// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// motor runs kubectl motor as a person would, and fails the test if it fails.
func motor(t *testing.T, args ...string) string {
	t.Helper()
	return motorEnds(t, 0, args...)
}

// approveSkill approves a skill with kubectl motor, as a person does who has looked at the revision and the policy that it has now.
func approveSkill(t *testing.T, ns, name string, args ...string) {
	t.Helper()
	var s v1alpha1.Skill
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, &s))
	content := s.Status.ContentHash
	if i := slices.Index(args, "--revision"); i >= 0 {
		var rev v1alpha1.SkillRevision
		must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: args[i+1]}, &rev))
		content = rev.Spec.ContentHash
	}
	motor(t, append([]string{"skill", "approve", "-n", ns, name, "--content-hash", content, "--policy-hash", skill.PolicyHash(&s.Spec.Policy)}, args...)...)
}

// motorEnds is like motor for a command that ends with an exit code.
func motorEnds(t *testing.T, code int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite.motor, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("kubectl motor %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}
