// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// PackagesContainerName is the name of the init container that unpacks the packages of a skill, and of the volume that it
	// unpacks them to. A run whose skill has no packages has neither.
	PackagesContainerName = "packages"
	// Packages is where programs find them.
	Packages = "/packages"

	partsVolume = "packages-parts"
	partsDir    = "/motor-packages-parts"
	// contentKey is the key of a ConfigMap that holds a part of the archive.
	contentKey = "content"
	// partMode lets every user in the Pod read a part, and none change it.
	partMode = 0o444
)

var packagesSize = resource.MustParse("512Mi")

// addPackages has the Pod unpack the packages of the run's skill before its tool server starts, which then cannot write there.
func addPackages(pod *corev1.Pod, archive *v1alpha1.PackageArchive, s shape, cfg Config) {
	main := &pod.Spec.Containers[0]
	// The Pod's disk limit is the amount that its containers may use together.
	disk := main.Resources.Limits.StorageEphemeral().DeepCopy()
	disk.Add(packagesSize)
	main.Resources = resources(s, disk)
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: PackagesContainerName, MountPath: Packages, ReadOnly: true})
	main.Env = append(main.Env, corev1.EnvVar{Name: "MOTOR_PACKAGES", Value: Packages})

	unpack := container(PackagesContainerName, *main.Resources.DeepCopy(), cfg)
	// The message of a failed unpack is all that a person sees of it.
	unpack.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	unpack.Command = []string{program, "unpack", "--sha256", archive.SHA256, partsDir, Packages}
	unpack.VolumeMounts = []corev1.VolumeMount{
		{Name: PackagesContainerName, MountPath: Packages},
		{Name: partsVolume, MountPath: partsDir, ReadOnly: true},
	}
	pod.Spec.InitContainers = []corev1.Container{unpack}
	pod.Spec.Volumes = append(pod.Spec.Volumes, emptyDir(PackagesContainerName, packagesSize), parts(archive))
}

// parts returns a volume with a file for each part, named by its position: 0000, 0001 and so on.
func parts(archive *v1alpha1.PackageArchive) corev1.Volume {
	sources := make([]corev1.VolumeProjection, 0, len(archive.ConfigMapNames))
	for i, name := range archive.ConfigMapNames {
		sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
			Items:                []corev1.KeyToPath{{Key: contentKey, Path: fmt.Sprintf("%04d", i)}},
		}})
	}
	return corev1.Volume{Name: partsVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(int32(partMode))},
	}}
}
