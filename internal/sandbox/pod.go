// SPDX-License-Identifier: Apache-2.0

// Package sandbox builds the objects of a run's sandbox and reads the state of its Pod. It is pure: no client, no clock.
package sandbox

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// ContainerName is the name of the container of a sandbox Pod that runs its tools.
	ContainerName = "toolserver"
	// Workspace is where the tools work.
	Workspace = "/workspace"

	stateDir = "/motor"
	// program is the tool server in the image.
	program = "/usr/local/bin/toolserver"
	// userID is the user and group of everything in the sandbox.
	userID = 65532
)

var (
	defaultCPU       = resource.MustParse("1")
	defaultMemory    = resource.MustParse("1Gi")
	defaultWorkspace = resource.MustParse("1Gi")
	stateSize        = resource.MustParse("256Mi")
	tmpSize          = resource.MustParse("256Mi")
	// logSize is the allowance for the tool server's own log, which counts as ephemeral storage too.
	logSize = resource.MustParse("64Mi")
)

// Config is the configuration that all sandboxes of one manager share.
type Config struct {
	// Image of the sandbox, with the tool server in it.
	Image string
	// ManagerKey is the public key that the tool server accepts, as returned by toolclient.PublicKeyPin.
	ManagerKey string
	// Namespace is where the manager's Pods are.
	Namespace string
	// UserNamespaces is true if every node that may take the Pod supports hostUsers false.
	UserNamespaces bool
}

// Pod builds the sandbox Pod of a run. It fits the Pod Security Standard "restricted".
func Pod(run *v1alpha1.MotorRun, cfg Config) *corev1.Pod {
	shape := shapeOf(run)
	pod := hardened(shape, cfg)
	pod.Name, pod.Namespace, pod.Labels = PodName(run, currentAttempt(run)), run.Namespace, podLabels(run)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	// An autoscaler that moves the Pod would end the run.
	pod.Annotations = map[string]string{safeToEvict: "false"}
	pod.Spec.ActiveDeadlineSeconds = new(deadlineSeconds(run))
	pod.Spec.Volumes[0] = workspaceVolume(run, shape)
	if s := run.Status.Skill; s != nil && s.Packages != nil {
		addPackages(pod, s.Packages, shape, cfg)
	}
	return pod
}

// safeToEvict is the annotation by which an autoscaler knows whether it may move a Pod.
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// hardened builds a sandbox Pod that has no name and belongs to no object yet. Its first volume is that of the workspace.
func hardened(shape shape, cfg Config) *corev1.Pod {
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			// A tool server that ended starts again on its ledger, and reports an unknown outcome for the call that ran.
			RestartPolicy:                 corev1.RestartPolicyOnFailure,
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			// No name is resolved in a sandbox. The API wants a name server all the same; nothing listens there.
			DNSPolicy: corev1.DNSNone,
			DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.1"}},
			OS:        &corev1.PodOS{Name: corev1.Linux},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:        new(true),
				RunAsUser:           ptr.To[int64](userID),
				RunAsGroup:          ptr.To[int64](userID),
				FSGroup:             ptr.To[int64](userID),
				FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			RuntimeClassName: shape.runtimeClass,
			Containers:       []corev1.Container{toolserver(shape, cfg)},
			Volumes: []corev1.Volume{
				emptyDir(workspaceVolumeName, shape.workspace),
				emptyDir("state", stateSize),
				emptyDir("tmp", tmpSize),
			},
		},
	}
	if cfg.UserNamespaces {
		pod.Spec.HostUsers = new(false)
	}
	return pod
}

// shape is the size of a sandbox, its RuntimeClass, and the StorageClass of its workspace, "" for none.
type shape struct {
	cpu, memory, workspace resource.Quantity
	class                  string
	runtimeClass           *string
}

func shapeOf(run *v1alpha1.MotorRun) shape {
	if run.Spec.Sandbox == nil {
		return sized(v1alpha1.SandboxResources{})
	}
	s := sized(run.Spec.Sandbox.Resources)
	s.class = ptr.Deref(run.Spec.Sandbox.WorkspaceStorageClassName, "")
	s.runtimeClass = run.Spec.Sandbox.RuntimeClassName
	return s
}

// sized returns a shape of that size, with defaults for what the resources do not say.
func sized(r v1alpha1.SandboxResources) shape {
	s := shape{cpu: defaultCPU, memory: defaultMemory, workspace: defaultWorkspace}
	if r.CPU != nil {
		s.cpu = *r.CPU
	}
	if r.Memory != nil {
		s.memory = *r.Memory
	}
	if r.Workspace != nil {
		s.workspace = *r.Workspace
	}
	return s
}

func toolserver(s shape, cfg Config) corev1.Container {
	disk := stateSize.DeepCopy()
	disk.Add(tmpSize)
	if s.class == "" {
		disk.Add(s.workspace)
	}
	disk = evictedAt(disk)
	disk.Add(logSize)
	c := container(ContainerName, resources(s, disk), cfg)
	c.Command = []string{program}
	c.Env = []corev1.EnvVar{
		{Name: "MOTOR_POD_UID", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"},
		}},
		{Name: "MOTOR_POD_IP", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
		}},
		{Name: "MOTOR_MANAGER_KEY", Value: cfg.ManagerKey},
		{Name: "MOTOR_WORKSPACE", Value: Workspace},
		{Name: "MOTOR_STATE", Value: stateDir},
		// The kubelet checks sizes once in a while, and the tool server all the time.
		{Name: "MOTOR_WORKSPACE_BYTES", Value: bytesOf(s.workspace)},
		{Name: "MOTOR_TMP_BYTES", Value: bytesOf(tmpSize)},
		{Name: "MOTOR_STATE_BYTES", Value: bytesOf(stateSize)},
	}
	c.Ports = []corev1.ContainerPort{{Name: "tools", ContainerPort: toolapi.Port, Protocol: corev1.ProtocolTCP}}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: workspaceVolumeName, MountPath: Workspace},
		{Name: "state", MountPath: stateDir},
		{Name: "tmp", MountPath: "/tmp"},
	}
	return c
}

// bytesOf returns a size as the tool server reads it: a part of a byte counts as one.
func bytesOf(q resource.Quantity) string { return strconv.FormatInt(q.Value(), 10) }

func resources(s shape, disk resource.Quantity) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Limits: corev1.ResourceList{
			corev1.ResourceCPU:              s.cpu,
			corev1.ResourceMemory:           s.memory,
			corev1.ResourceEphemeralStorage: disk,
		},
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewMilliQuantity(s.cpu.MilliValue()/10, resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(s.memory.Value()/4, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(disk.Value()/4, resource.BinarySI),
		},
	}
}

// container returns the settings that all containers of a sandbox share.
func container(name string, res corev1.ResourceRequirements, cfg Config) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           cfg.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Resources:       res,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Privileged:               new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// evictedAt returns the size limit at which the kubelet evicts a Pod for a volume. The tool server holds a full volume at its size, plus or minus
// what is written before it looks, and the run goes on. With the same limit the kubelet would remove the workspace of such a run a minute later.
func evictedAt(size resource.Quantity) resource.Quantity {
	return *resource.NewQuantity(size.Value()+size.Value()/4, resource.BinarySI)
}

func emptyDir(name string, size resource.Quantity) corev1.Volume {
	size = evictedAt(size)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size},
	}}
}

// podLabels returns the labels without the well-known ones: foreign Services, policies and budgets select by those.
func podLabels(run *v1alpha1.MotorRun) map[string]string {
	return map[string]string{v1alpha1.LabelRun: run.Name, v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}
}

func labels(run *v1alpha1.MotorRun) map[string]string {
	return map[string]string{
		v1alpha1.LabelRun:       run.Name,
		v1alpha1.LabelComponent: v1alpha1.ComponentSandbox,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
	}
}

// pauseSeconds is the time for which a run may be suspended before the deadline ends its sandbox.
const pauseSeconds = 24 * 60 * 60

// deadlineSeconds returns the longest time that the run can take. It assumes a question at each iteration of each attempt, an approval for every
// call, and a day of suspensions. The deadline is the last wall, for when no manager is left to end the Pod.
func deadlineSeconds(run *v1alpha1.MotorRun) int64 {
	l, attempts := run.Spec.Limits, max(1, int64(run.Spec.MaxAttempts))
	waits := int64(l.InputDeadlineSeconds)
	if run.Spec.Approval != nil || slices.Contains(run.Spec.Tools, toolapi.ToolRequestApproval) {
		// The calls of the answer, and those of the checks of a finish call in it.
		waits += 2 * toolapi.MaxCalls * int64(l.ApprovalDeadlineSeconds)
	}
	// A Pod accepts no longer deadline.
	return min(math.MaxInt32, int64(l.ActiveDeadlineSeconds)+pauseSeconds+attempts*(int64(l.MaxIterations)*waits+int64(l.RetryDeadlineSeconds)))
}
