// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// noon is when the tests of pools are.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func testPool(change ...func(*v1alpha1.SandboxPool)) *v1alpha1.SandboxPool {
	pool := &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: "agents", UID: "6f1c2a34-0000-4000-8000-000000000002"}}
	for _, c := range change {
		c(pool)
	}
	return pool
}

// customPool has the shape of customRun.
func customPool(pool *v1alpha1.SandboxPool) {
	run := testRun(customRun)
	pool.Spec.RuntimeClassName, pool.Spec.Resources = run.Spec.Sandbox.RuntimeClassName, run.Spec.Sandbox.Resources
}

func TestGoldenPooledPod(t *testing.T) {
	t.Parallel()
	pod := Pooled(testPool(), "x7k2q9", testConfig())
	golden(t, "pod-pooled.golden.yaml", pod)
	closed := pod.DeepCopy()
	Adopt(pod, testRun(), true, noon)
	golden(t, "pod-adopted.golden.yaml", pod)
	Adopt(closed, testRun(), false, noon)
	golden(t, "pod-adopted-closed.golden.yaml", closed)
}

// The rest of the operator takes a Pod that was adopted for the one that it would have made.
func TestAnAdoptedPodIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	withUserNamespaces := testConfig()
	withUserNamespaces.UserNamespaces = true
	for name, tt := range map[string]struct {
		pool *v1alpha1.SandboxPool
		run  *v1alpha1.MotorRun
		cfg  Config
	}{
		"default": {testPool(), testRun(), testConfig()},
		"custom":  {testPool(customPool), testRun(customRun), withUserNamespaces},
		"sizes that are the same in other units": {
			testPool(func(p *v1alpha1.SandboxPool) { p.Spec.Resources.Memory = new(resource.MustParse("1024Mi")) }), testRun(), testConfig(),
		},
	} {
		want := Pod(tt.run, tt.cfg)
		pod := defaulted(Pooled(tt.pool, "x7k2q9", tt.cfg))
		if !Fits(pod, want) {
			t.Errorf("%s: it does not fit", name)
		}
		closed := pod.DeepCopy()
		if Same(closed, want) {
			t.Errorf("%s: it is the same while it waits", name)
		}
		if Adopt(closed, tt.run, false, noon); !Same(closed, want) || !maps.Equal(closed.Labels, pod.Labels) {
			t.Errorf("%s: without a way out it is not the same, or has other labels: %v", name, closed.Labels)
		}
		if closed.Labels[v1alpha1.LabelPool] = "other"; Same(closed, want) {
			t.Errorf("%s: it is the same with the label of another pool", name)
		}
		if Adopt(pod, tt.run, true, noon); !Same(pod, want) {
			t.Errorf("%s: it is not the same", name)
		}
		if !metav1.IsControlledBy(pod, tt.run) || len(pod.OwnerReferences) != 1 || *pod.Spec.ActiveDeadlineSeconds != *want.Spec.ActiveDeadlineSeconds {
			t.Errorf("%s: %+v, for %d s", name, pod.OwnerReferences, *pod.Spec.ActiveDeadlineSeconds)
		}
		for k, v := range want.Annotations {
			if pod.Annotations[k] != v {
				t.Errorf("%s: annotation %s is %q", name, k, pod.Annotations[k])
			}
		}
	}
}

func TestFitsSeesEveryDifference(t *testing.T) {
	t.Parallel()
	withUserNamespaces := testConfig()
	withUserNamespaces.UserNamespaces = true
	otherImage := testConfig()
	otherImage.Image = "registry.example.org/sandbox:2"
	otherKey := testConfig()
	otherKey.ManagerKey = "sha256:1111"
	of := func(r v1alpha1.SandboxResources) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) { run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: r} }
	}
	for name, want := range map[string]*corev1.Pod{
		"packages": Pod(testRun(withPackages), testConfig()),
		"a volume": Pod(testRun(onVolume), testConfig()),
		"a volume alone": Pod(testRun(func(run *v1alpha1.MotorRun) {
			run.Spec.Sandbox = &v1alpha1.RunSandbox{WorkspaceStorageClassName: new("fast")}
		}), testConfig()),
		"memory":           Pod(testRun(of(v1alpha1.SandboxResources{Memory: new(resource.MustParse("2Gi"))})), testConfig()),
		"CPU":              Pod(testRun(of(v1alpha1.SandboxResources{CPU: new(resource.MustParse("2"))})), testConfig()),
		"workspace":        Pod(testRun(of(v1alpha1.SandboxResources{Workspace: new(resource.MustParse("2Gi"))})), testConfig()),
		"runtime class":    Pod(testRun(func(run *v1alpha1.MotorRun) { run.Spec.Sandbox = &v1alpha1.RunSandbox{RuntimeClassName: new("gvisor")} }), testConfig()),
		"image":            Pod(testRun(), otherImage),
		"key":              Pod(testRun(), otherKey),
		"user namespace":   Pod(testRun(), withUserNamespaces),
		"everything else":  Pod(testRun(customRun), withUserNamespaces),
		"the shape of all": nil,
	} {
		pod := defaulted(Pooled(testPool(), "x7k2q9", testConfig()))
		fits := want == nil
		if fits {
			want = Pod(testRun(), testConfig())
		}
		if Fits(pod, want) != fits {
			t.Errorf("%s: fits %t", name, !fits)
		}
	}
	for name, change := range map[string]func(*corev1.Pod){
		"one more container": func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"}) },
		"no container":       func(p *corev1.Pod) { p.Spec.Containers = nil },
		"requests": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
		},
		"an ephemeral container": func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "late"}}}
		},
	} {
		pod := defaulted(Pooled(testPool(), "x7k2q9", testConfig()))
		if change(pod); Fits(pod, Pod(testRun(), testConfig())) {
			t.Errorf("it fits in spite of %s", name)
		}
	}
}

// The deadline of a Pod counts from its start, and a run has the whole of its time from the moment when it took the Pod.
func TestTheDeadlineOfAnAdoptedPod(t *testing.T) {
	t.Parallel()
	own := deadlineSeconds(testRun())
	long := func(run *v1alpha1.MotorRun) {
		run.Spec.MaxAttempts, run.Spec.Limits = 10, v1alpha1.RunLimits{MaxIterations: 50, ApprovalDeadlineSeconds: 30 * 86400}
		run.Spec.Approval = &v1alpha1.RunApproval{}
	}
	for name, tt := range map[string]struct {
		run     *v1alpha1.MotorRun
		started *time.Time
		want    int64
	}{
		"an hour old":               {testRun(), new(noon.Add(-time.Hour)), own + 3600},
		"not started":               {testRun(), nil, own},
		"started by a faster clock": {testRun(), new(noon.Add(time.Minute)), own},
		"the most that a Pod takes": {testRun(long), new(noon.Add(-time.Hour)), math.MaxInt32},
	} {
		pod := Pooled(testPool(), "x7k2q9", testConfig())
		if tt.started != nil {
			pod.Status.StartTime = new(metav1.NewTime(*tt.started))
		}
		if Adopt(pod, tt.run, false, noon); *pod.Spec.ActiveDeadlineSeconds != tt.want {
			t.Errorf("%s: %d s, want %d s", name, *pod.Spec.ActiveDeadlineSeconds, tt.want)
		}
	}
}

// A volume that is made for the Pod, and those who look for its node, go by the labels that the cluster has set.
func TestAnAdoptedPodKeepsTheLabelsOfTheCluster(t *testing.T) {
	t.Parallel()
	pod := Pooled(testPool(), "x7k2q9", testConfig())
	pod.Labels["topology.kubernetes.io/zone"] = "z1"
	pod.Annotations = map[string]string{"example.org/added": "by the cluster"}
	Adopt(pod, testRun(), true, noon)
	if len(pod.Labels) != 3 || pod.Labels["topology.kubernetes.io/zone"] != "z1" || pod.Labels[v1alpha1.LabelRun] != "count-words" {
		t.Errorf("labels %v", pod.Labels)
	}
	if pod.Annotations["example.org/added"] != "by the cluster" || len(pod.Annotations) != 4 {
		t.Errorf("annotations %v", pod.Annotations)
	}
}

// All labels of a Pod can be gone since it was looked at. The API server refuses such a change, and the manager must live to read that.
func TestAPodWithoutLabelsIsNoReasonToPanic(t *testing.T) {
	t.Parallel()
	pod := Pooled(testPool(), "x7k2q9", testConfig())
	pod.Labels, pod.Annotations = nil, nil
	Adopt(pod, testRun(), true, noon)
	if pod.Labels[v1alpha1.LabelRun] != "count-words" || pod.Annotations[v1alpha1.AnnotationPool] != "" {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
}

func TestNamesOfPooledPods(t *testing.T) {
	t.Parallel()
	// A SandboxPool has a name of at most 40 characters.
	for _, name := range []string{"a", "small", strings.Repeat("a", 40), "a.b"} {
		pod := Pooled(testPool(func(p *v1alpha1.SandboxPool) { p.Name = name }), "x7k2q9", testConfig())
		if len(pod.Name) > 63 || len(validation.IsDNS1123Subdomain(pod.Name)) > 0 || !strings.HasSuffix(pod.Name, "-motor-sandbox") || !strings.HasPrefix(pod.Name, name) {
			t.Errorf("the pool %s has the Pod %s", name, pod.Name)
		}
	}
}

func TestPoolOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"it waits":                 {func(*corev1.Pod) {}, true},
		"another version":          {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = v1alpha1.GroupVersion.Group + "/v1" }, true},
		"it was adopted":           {func(p *corev1.Pod) { Adopt(p, testRun(), true, noon) }, false},
		"with the labels of it":    {func(p *corev1.Pod) { Adopt(p, testRun(), false, noon) }, false},
		"a run has it":             {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun] = "run" }, false},
		"no owner":                 {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"an owner of another kind": {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "MotorRun" }, false},
		"a kind of another group":  {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.org/v1alpha1" }, false},
		"no group at all":          {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "a/b/c" }, false},
		"no controller":            {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, false},
		"the label of another one": {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPool] = "other" }, false},
		"no label":                 {func(p *corev1.Pod) { p.Labels = nil }, false},
	} {
		pod := Pooled(testPool(), "x7k2q9", testConfig())
		tt.change(pod)
		ref, ok := PoolOf(pod)
		if ok != tt.want || ok && (ref.Name != "small" || ref.UID != testPool().UID) {
			t.Errorf("%s: %t, %+v", name, ok, ref)
		}
	}
}

func TestWhereAPodIsFrom(t *testing.T) {
	t.Parallel()
	run := testRun(func(run *v1alpha1.MotorRun) { run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}} })
	adopted := func(change ...func(*corev1.Pod)) *corev1.Pod {
		pod := Pooled(testPool(), "x7k2q9", testConfig())
		Adopt(pod, run, true, noon)
		for _, c := range change {
			c(pod)
		}
		return pod
	}
	numbered := func(n string) *corev1.Pod {
		return adopted(func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationAttempt] = n })
	}
	cold := Pod(run, testConfig())
	first := cold.DeepCopy()
	first.Name = PodName(run, 1)
	later := cold.DeepCopy()
	later.Name = PodName(run, 3)
	for name, tt := range map[string]struct {
		pod     *corev1.Pod
		pool    string
		attempt int32
	}{
		"made for the attempt":        {cold, "", 2},
		"made for the first":          {first, "", 1},
		"made for one not known yet":  {later, "", 0},
		"taken for the attempt":       {adopted(), "small", 2},
		"taken for one not known yet": {numbered("3"), "small", 3},
		"taken for no attempt":        {numbered("0"), "small", 0},
		"a number that is none":       {numbered("x"), "small", 0},
		"a number that is too long":   {numbered("4294967297"), "small", 0},
		"the annotation was removed":  {adopted(func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.AnnotationPool) }), "", 0},
		"it waits":                    {Pooled(testPool(), "x7k2q9", testConfig()), "", 0},
		"it waits, with annotations": {adopted(func(p *corev1.Pod) {
			p.OwnerReferences[0].Kind = "SandboxPool"
		}), "", 0},
		"of another API":               {adopted(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.org/v1" }), "", 0},
		"without the label of the run": {adopted(func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelRun) }), "small", 2},
	} {
		if pool, attempt := PoolName(tt.pod), AttemptOf(tt.pod, run); pool != tt.pool || attempt != tt.attempt {
			t.Errorf("%s: of %q, attempt %d", name, pool, attempt)
		}
	}
}
