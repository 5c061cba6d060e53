// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A program that fills its workspace is ended at the bound, long before the kubelet looks, and its run goes on.
func TestSecurityDiskIsBounded(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case-ask",
		func(r *v1alpha1.MotorRun) {
			size := resource.MustParse("128Mi")
			r.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Workspace: &size}}
		},
		withScript("case.sh", "(echo x > /dev/termination-log) 2>/dev/null && echo written to the node\nmkdir fill\nfor i in {1..2000}; do head -c 10M /dev/zero > fill/$i; done\n"),
		withScript("after.sh", "true"))
	asked := awaitQuestion(t, run)
	list, err := steps(t.Context(), asked)
	must(t, err)
	if len(list) == 0 || len(list[0].Status.Results) == 0 || list[0].Status.Results[0].ErrorCode != "disk_full" {
		t.Fatalf("the disk was filled: %+v", list)
	}
	// What it took before the end is what the tool server counted while everything was stopped.
	output := list[0].Status.Results[0].Output
	if !strings.Contains(output, "may hold 134217728 bytes") {
		t.Errorf("the output does not name the bound: %s", output)
	}
	if strings.Contains(output, "written to the node") {
		t.Errorf("a program wrote to the kubelet's file: %s", output)
	}
	used := kubectl(t, "-n", asked.Namespace, "get", "pod", asked.Name+"-motor-sandbox", "-o", "jsonpath={.status.phase} {.status.reason}")
	if strings.TrimSpace(used) != "Running" {
		t.Errorf("the sandbox is %s", used)
	}
}
