// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// defaulted returns the Pod as it comes back from an API server that has every default switched on.
func defaulted(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.UID, p.ResourceVersion = "u", "1"
	p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "default", "default"
	p.Spec.SchedulerName, p.Spec.NodeName = "default-scheduler", "node"
	p.Spec.Priority = new(int32(0))
	p.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists}}
	c := &p.Spec.Containers[0]
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	c.SecurityContext.ProcMount = new(corev1.DefaultProcMount)
	return p
}

func TestSameToleratesDefaults(t *testing.T) {
	t.Parallel()
	withUserNamespaces := testConfig()
	withUserNamespaces.UserNamespaces = true
	for name, pod := range map[string]*corev1.Pod{
		"default": Pod(testRun(), testConfig()), "custom": Pod(testRun(customRun), withUserNamespaces),
	} {
		have := defaulted(pod)
		have.Labels["added"] = "by somebody"
		if !Same(have, pod) || !Same(pod, pod.DeepCopy()) {
			t.Errorf("%s: not the same with the server's defaults", name)
		}
	}
	shared := defaulted(Pod(testRun(), testConfig()))
	shared.Spec.HostUsers = new(true)
	if !Same(shared, Pod(testRun(), testConfig())) {
		t.Error("hostUsers true is the default")
	}
}

func TestSameSeesEveryDifference(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.UserNamespaces = true
	want := Pod(testRun(customRun), cfg)
	first := func(change func(*corev1.Container)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { change(&p.Spec.Containers[0]) }
	}
	wantDifferent(t, want, map[string]func(*corev1.Pod){
		"no label":         func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelComponent) },
		"another label":    func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun] = "other" },
		"account":          func(p *corev1.Pod) { p.Spec.ServiceAccountName = "admin" },
		"token":            func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil },
		"user namespace":   func(p *corev1.Pod) { p.Spec.HostUsers = nil },
		"runtime class":    func(p *corev1.Pod) { p.Spec.RuntimeClassName = nil },
		"host network":     func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"host processes":   func(p *corev1.Pod) { p.Spec.HostPID = true },
		"host IPC":         func(p *corev1.Pod) { p.Spec.HostIPC = true },
		"shared processes": func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = new(true) },
		"Pod security":     func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = new(int64(0)) },
		"no Pod security":  func(p *corev1.Pod) { p.Spec.SecurityContext = nil },
		"host path": func(p *corev1.Pod) {
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		},
		"one more container": func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"}) },
		"an init container":  func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "first"}} },
		"an ephemeral container": func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "late"}}}
		},
		"no container": func(p *corev1.Pod) { p.Spec.Containers = nil },
		"image":        first(func(c *corev1.Container) { c.Image = "other" }),
		"command":      first(func(c *corev1.Container) { c.Command = []string{"sh"} }),
		"arguments":    first(func(c *corev1.Container) { c.Args = []string{"-x"} }),
		"key":          first(func(c *corev1.Container) { c.Env[1].Value = "sha256:other" }),
		"mount":        first(func(c *corev1.Container) { c.VolumeMounts[0].MountPath = "/usr/local/bin" }),
		"privileged":   first(func(c *corev1.Container) { c.SecurityContext.Privileged = new(true) }),
		"capability":   first(func(c *corev1.Container) { c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"} }),
		"unmasked":     first(func(c *corev1.Container) { c.SecurityContext.ProcMount = new(corev1.UnmaskedProcMount) }),
		"no security":  first(func(c *corev1.Container) { c.SecurityContext = nil }),
		"a hook": first(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}}
		}),
	})
}

// wantDifferent fails where Same does not see what was changed in a Pod.
func wantDifferent(t *testing.T, want *corev1.Pod, changes map[string]func(*corev1.Pod)) {
	t.Helper()
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := defaulted(want)
			change(have)
			if Same(have, want) {
				t.Error("the difference is not seen")
			}
		})
	}
}
