// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Same reports whether an existing Pod equals the built one in everything that a sandbox's walls and its tool server depend on. Defaults that the
// API server fills in make no difference; another image, one more container or a missing wall does.
func Same(have, want *corev1.Pod) bool {
	for k, v := range want.Labels {
		if k == v1alpha1.LabelRun && keepsLabels(have) {
			continue // Its owner tells whose it is.
		}
		if have.Labels[k] != v {
			return false
		}
	}
	return equality.Semantic.DeepEqual(essence(&have.Spec), essence(&want.Spec))
}

// keepsLabels reports whether a Pod was taken from a pool by a run without a way out, and has the labels that it had there.
func keepsLabels(pod *corev1.Pod) bool {
	name := PoolName(pod)
	_, ofRun := pod.Labels[v1alpha1.LabelRun]
	return name != "" && !ofRun && pod.Labels[v1alpha1.LabelPool] == name
}

// essence returns the part of a Pod that matters, with the defaults of its fields filled in.
func essence(spec *corev1.PodSpec) corev1.PodSpec {
	e := corev1.PodSpec{
		ServiceAccountName:           spec.ServiceAccountName,
		AutomountServiceAccountToken: new(ptr.Deref(spec.AutomountServiceAccountToken, true)),
		RuntimeClassName:             new(ptr.Deref(spec.RuntimeClassName, "")),
		HostUsers:                    new(ptr.Deref(spec.HostUsers, true)),
		HostNetwork:                  spec.HostNetwork,
		HostPID:                      spec.HostPID,
		HostIPC:                      spec.HostIPC,
		ShareProcessNamespace:        new(ptr.Deref(spec.ShareProcessNamespace, false)),
		SecurityContext:              new(ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})),
		Volumes:                      spec.Volumes,
		// A sandbox has one container that runs. Any other one could answer instead of the tool server.
		Containers:          essences(spec.Containers),
		InitContainers:      essences(spec.InitContainers),
		EphemeralContainers: spec.EphemeralContainers,
	}
	if e.ServiceAccountName == "" {
		e.ServiceAccountName = "default"
	}
	return e
}

func essences(containers []corev1.Container) []corev1.Container {
	var all []corev1.Container
	for i := range containers {
		c := &containers[i]
		security := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		if ptr.Deref(security.ProcMount, "") == corev1.DefaultProcMount {
			security.ProcMount = nil
		}
		all = append(all, corev1.Container{
			Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, WorkingDir: c.WorkingDir,
			Env: c.Env, EnvFrom: c.EnvFrom, VolumeMounts: c.VolumeMounts, VolumeDevices: c.VolumeDevices, SecurityContext: &security,
			// Hooks and probes run commands in the container too.
			Lifecycle: c.Lifecycle, LivenessProbe: c.LivenessProbe, ReadinessProbe: c.ReadinessProbe, StartupProbe: c.StartupProbe,
			// An init container with a policy of its own runs beside the others.
			RestartPolicy: c.RestartPolicy,
		})
	}
	return all
}
