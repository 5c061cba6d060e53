// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

func testRun(change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "count-words", Namespace: "agents", UID: "6f1c2a34-0000-4000-8000-000000000001"},
		Spec: v1alpha1.MotorRunSpec{
			Task:        "count the words",
			MaxAttempts: 3,
			Limits:      v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 1800, RetryDeadlineSeconds: 1800},
		},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

func testConfig() Config {
	return Config{Image: "registry.example.org/sandbox:1", ManagerKey: "sha256:0000", Namespace: "motorcortex-system"}
}

func golden(t *testing.T, file string, o any) {
	t.Helper()
	got, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +built; go test -update writes it):\n%s", file, diff)
	}
}

func customRun(run *v1alpha1.MotorRun) {
	run.Spec.MaxAttempts = 8
	run.Spec.Limits = v1alpha1.RunLimits{MaxIterations: 50, ActiveDeadlineSeconds: 86400, InputDeadlineSeconds: 86400, RetryDeadlineSeconds: 86400}
	run.Spec.Sandbox = &v1alpha1.RunSandbox{
		RuntimeClassName: new("gvisor"),
		Resources: v1alpha1.SandboxResources{
			CPU: new(resource.MustParse("2500m")), Memory: new(resource.MustParse("4Gi")), Workspace: new(resource.MustParse("10Gi")),
		},
	}
}

func TestGoldenPod(t *testing.T) {
	t.Parallel()
	golden(t, "pod.golden.yaml", Pod(testRun(), testConfig()))
	cfg := testConfig()
	cfg.UserNamespaces = true
	golden(t, "pod-custom.golden.yaml", Pod(testRun(customRun), cfg))
}

func TestGoldenNetworkPolicy(t *testing.T) {
	t.Parallel()
	golden(t, "networkpolicy.golden.yaml", BaselineNetworkPolicy("agents", testConfig()))
}

func TestPodFitsTheRestrictedStandard(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	withUserNamespaces := testConfig()
	withUserNamespaces.UserNamespaces = true
	for name, pod := range map[string]*corev1.Pod{
		"default": Pod(testRun(), testConfig()), "custom": Pod(testRun(customRun), withUserNamespaces), "volume": Pod(testRun(onVolume), withUserNamespaces),
	} {
		for _, r := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s: %s", name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
}

func TestPodResources(t *testing.T) {
	t.Parallel()
	q := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	tests := map[string]struct {
		resources                  v1alpha1.SandboxResources
		cpu, memory, disk          string
		cpuRequest, memoryRequest  string
		diskRequest, workspaceSize string
	}{
		"default":       {v1alpha1.SandboxResources{}, "1", "1Gi", "1984Mi", "100m", "256Mi", "496Mi", "1280Mi"},
		"cpu only":      {v1alpha1.SandboxResources{CPU: q("4")}, "4", "1Gi", "1984Mi", "400m", "256Mi", "496Mi", "1280Mi"},
		"all":           {v1alpha1.SandboxResources{CPU: q("0.5"), Memory: q("512Mi"), Workspace: q("64Mi")}, "500m", "512Mi", "784Mi", "50m", "128Mi", "196Mi", "80Mi"},
		"decimal units": {v1alpha1.SandboxResources{Memory: q("2G")}, "1", "2G", "1984Mi", "100m", "500M", "496Mi", "1280Mi"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := Pod(testRun(func(run *v1alpha1.MotorRun) { run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: tt.resources} }), testConfig())
			r := pod.Spec.Containers[0].Resources
			for what, v := range map[string]struct {
				got  resource.Quantity
				want string
			}{
				"cpu": {r.Limits[corev1.ResourceCPU], tt.cpu}, "memory": {r.Limits[corev1.ResourceMemory], tt.memory},
				"disk":        {r.Limits[corev1.ResourceEphemeralStorage], tt.disk},
				"cpu request": {r.Requests[corev1.ResourceCPU], tt.cpuRequest}, "memory request": {r.Requests[corev1.ResourceMemory], tt.memoryRequest},
				"disk request": {r.Requests[corev1.ResourceEphemeralStorage], tt.diskRequest}, "workspace": {*pod.Spec.Volumes[0].EmptyDir.SizeLimit, tt.workspaceSize},
			} {
				if v.got.Cmp(resource.MustParse(v.want)) != 0 {
					t.Errorf("%s is %s, want %s", what, v.got.String(), v.want)
				}
			}
		})
	}
	if defaultWorkspace.Cmp(resource.MustParse("1Gi")) != 0 || stateSize.Cmp(resource.MustParse("256Mi")) != 0 {
		t.Error("building a Pod changed the defaults")
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	const day = 86400
	tests := map[string]struct {
		attempts int32
		limits   v1alpha1.RunLimits
		want     int64
	}{
		"defaults":    {3, v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 1800, RetryDeadlineSeconds: 1800}, day + 600 + 3*21*1800},
		"one attempt": {1, v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 1800, RetryDeadlineSeconds: 1800}, day + 600 + 21*1800},
		"none":        {0, v1alpha1.RunLimits{MaxIterations: 1, ActiveDeadlineSeconds: 1, InputDeadlineSeconds: 1}, day + 2},
		"approvals":   {1, v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 1800, RetryDeadlineSeconds: 1800, ApprovalDeadlineSeconds: 900}, day + 600 + 21*1800 + 20*2*8*900},
		"most":        {10, v1alpha1.RunLimits{MaxIterations: 50, ActiveDeadlineSeconds: day, InputDeadlineSeconds: 30 * day, RetryDeadlineSeconds: 30 * day, ApprovalDeadlineSeconds: 30 * day}, math.MaxInt32},
		"long":        {8, v1alpha1.RunLimits{MaxIterations: 50, ActiveDeadlineSeconds: day, InputDeadlineSeconds: day, RetryDeadlineSeconds: day}, (2 + 8*51) * day},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := Pod(testRun(func(run *v1alpha1.MotorRun) {
				run.Spec.MaxAttempts, run.Spec.Limits = tt.attempts, tt.limits
				if tt.limits.ApprovalDeadlineSeconds > 0 {
					run.Spec.Approval = &v1alpha1.RunApproval{}
				}
			}), testConfig())
			if got := *pod.Spec.ActiveDeadlineSeconds; got != tt.want {
				t.Errorf("got %d s, want %d s", got, tt.want)
			}
		})
	}
}
