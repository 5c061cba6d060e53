// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A program that fills its workspace is ended at the bound, long before the kubelet looks, and its run goes on. What is on the node's disk
// then is no more than a quarter above the bound, as docs/threat-model.md has it for bounds of this size.
func TestSecurityDiskIsBounded(t *testing.T) {
	t.Parallel()
	run := startRun(t, "case-ask",
		func(r *v1alpha1.MotorRun) {
			size := resource.MustParse("256Mi")
			r.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Workspace: &size}}
		},
		withScript("case.sh", "(echo x > /dev/termination-log) 2>/dev/null && echo written to the node\nmkdir fill\nfor n in 1 2 3; do (for i in {1..2000}; do head -c 10M /dev/zero > fill/$n-$i; done) & done\nwait\n"),
		withScript("after.sh", "true"))
	asked := awaitQuestion(t, run)
	list, err := steps(t.Context(), asked)
	must(t, err)
	if len(list) == 0 || len(list[0].Status.Results) == 0 || list[0].Status.Results[0].ErrorCode != "disk_full" {
		t.Fatalf("the disk was filled: %+v", list)
	}
	// What it took before the end is what the tool server counted while everything was stopped.
	output := list[0].Status.Results[0].Output
	if !strings.Contains(output, "may hold 268435456 bytes") {
		t.Errorf("the output does not name the bound: %s", output)
	}
	if strings.Contains(output, "written to the node") {
		t.Errorf("a program wrote to the kubelet's file: %s", output)
	}
	const bound = 256 << 20
	if blocks := onDisk(t, asked, "/workspace"); blocks < bound/2 || blocks > bound*5/4 {
		t.Errorf("%d MiB were written to the disk of the node, and the workspace may have %d", blocks>>20, bound>>20)
	}
	if blocks := onDisk(t, asked, "/tmp"); blocks > bound/4 {
		t.Errorf("%d MiB are on the disk of the node in another volume", blocks>>20)
	}
	used := kubectl(t, "-n", asked.Namespace, "get", "pod", asked.Name+"-motor-sandbox", "-o", "jsonpath={.status.phase} {.status.reason}")
	if strings.TrimSpace(used) != "Running" {
		t.Errorf("the sandbox is %s", used)
	}
}

// onDisk is how many bytes a volume of the run's sandbox takes on the disk of its node, in whole blocks.
func onDisk(t *testing.T, run *v1alpha1.MotorRun, volume string) int64 {
	t.Helper()
	said := inSandbox(t, run, "du -s --block-size=1 "+volume)
	bytes, _, _ := strings.Cut(said, "\t")
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		t.Fatalf("du says %q: %v", said, err)
	}
	return n
}
