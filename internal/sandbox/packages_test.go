// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// withPackages changes a run to use a skill that has packages.
func withPackages(run *v1alpha1.MotorRun) {
	run.Status.Skill = &v1alpha1.RunSkill{Name: "count", Packages: &v1alpha1.PackageArchive{
		ConfigMapNames: []string{"count-packages-0123456789ab-0", "count-packages-0123456789ab-1"}, SHA256: strings.Repeat("0a", 32), Size: 1000,
	}}
}

func TestGoldenPodWithPackages(t *testing.T) {
	t.Parallel()
	golden(t, "pod-packages.golden.yaml", Pod(testRun(withPackages), testConfig()))
	without := Pod(testRun(func(run *v1alpha1.MotorRun) { run.Status.Skill = &v1alpha1.RunSkill{Name: "count"} }), testConfig())
	golden(t, "pod.golden.yaml", without)
}

func TestPodWithPackagesFitsTheRestrictedStandard(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := Pod(testRun(withPackages), testConfig())
	for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !r.Allowed {
			t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
}

func TestSameWithPackages(t *testing.T) {
	t.Parallel()
	want := Pod(testRun(withPackages), testConfig())
	have := defaulted(want)
	c := &have.Spec.InitContainers[0]
	c.TerminationMessagePath, c.SecurityContext.ProcMount = "/dev/termination-log", new(corev1.DefaultProcMount)
	if !Same(have, want) {
		t.Error("not the same with the server's defaults")
	}
	init := func(p *corev1.Pod) *corev1.Container { return &p.Spec.InitContainers[0] }
	wantDifferent(t, want, map[string]func(*corev1.Pod){
		"no init container": func(p *corev1.Pod) { p.Spec.InitContainers = nil },
		"one more": func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "more"})
		},
		"stays":           func(p *corev1.Pod) { init(p).RestartPolicy = new(corev1.ContainerRestartPolicyAlways) },
		"another archive": func(p *corev1.Pod) { init(p).Command[3] = strings.Repeat("0b", 32) },
		"another image":   func(p *corev1.Pod) { init(p).Image = "other" },
		"privileged":      func(p *corev1.Pod) { init(p).SecurityContext.Privileged = new(true) },
		"state":           func(p *corev1.Pod) { init(p).VolumeMounts[0] = corev1.VolumeMount{Name: "state", MountPath: stateDir} },
		"writable":        func(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts[3].ReadOnly = false },
		"other parts": func(p *corev1.Pod) {
			p.Spec.Volumes[4].Projected.Sources[0].ConfigMap.Name = "other"
		},
		"a token among the parts": func(p *corev1.Pod) {
			v := p.Spec.Volumes[4].Projected
			v.Sources = append(v.Sources, corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}})
		},
	})
}

func TestReadOfPackages(t *testing.T) {
	t.Parallel()
	unpacks := func(s corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			s.Name = PackagesContainerName
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{s}
			waits("PodInitializing")(p)
		}
	}
	failed := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "the archive is not\nthe one that was installed\n"}
	starting := State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}
	broken := State{
		Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed,
		Message: "The packages of the skill cannot be unpacked in Pod p (status 1): the archive is not the one that was installed",
	}
	for name, tt := range map[string]struct {
		status corev1.ContainerStatus
		want   State
	}{
		"unpacking": {corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, starting},
		"done":      {corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}, starting},
		"failed":    {corev1.ContainerStatus{State: corev1.ContainerState{Terminated: failed}}, broken},
		"failed, and waits": {corev1.ContainerStatus{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: failed},
		}, broken},
		"no image": {
			corev1.ContainerStatus{Image: "image:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}},
			State{Phase: Starting, Reason: v1alpha1.ReasonImagePullFailed, Message: "The node cannot get the image image:1 of Pod p (ErrImagePull). " +
				"Load or push that image, or change the manager's --sandbox-image."},
		},
		"no ConfigMap": {
			corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "gone"}}},
			State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: "The node cannot start Pod p (CreateContainerConfigError): gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Read(testPod(corev1.PodPending, unpacks(tt.status))); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
