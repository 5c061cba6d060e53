// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Each field of the real sandbox's shape is changed by itself, as a webhook might. The manager sends them, because the
// rule is for everybody.
func TestSandboxShape(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	type change = func(*corev1.Pod)
	container := func(f func(*corev1.Container)) change { return func(p *corev1.Pod) { f(&p.Spec.Containers[0]) } }
	security := func(f func(*corev1.SecurityContext)) change {
		return func(p *corev1.Pod) { f(p.Spec.Containers[0].SecurityContext) }
	}
	from := func(s *corev1.EnvVarSource) change {
		return container(func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "X", ValueFrom: s}) })
	}
	volume := func(s corev1.VolumeSource) change {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: s})
		}
	}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	ref := corev1.LocalObjectReference{Name: "s"}
	// packed is a sandbox with packages, as it should be but for the changes.
	packed := func(changes ...change) change {
		return func(p *corev1.Pod) {
			*p = *packedPod(ns, "run")
			for _, c := range changes {
				c(p)
			}
		}
	}
	waiting := sandbox.Pooled(poolOf(ns), "waits", sandbox.Config{Image: "registry.example.org/sandbox:1", ManagerKey: "sha256:0000", Namespace: managerNamespace})
	volumes := packedPod(ns, "run").Spec.Volumes
	parts := volumes[len(volumes)-1].VolumeSource
	unpacking := func(f func(*corev1.Container)) change {
		return packed(func(p *corev1.Pod) { f(&p.Spec.InitContainers[0]) })
	}
	source := func(s corev1.VolumeProjection) change {
		return packed(func(p *corev1.Pod) {
			last := p.Spec.Volumes[len(p.Spec.Volumes)-1].Projected
			last.Sources = append(last.Sources, s)
		})
	}
	template := func(f func(*corev1.PersistentVolumeClaimTemplate)) change {
		return func(p *corev1.Pod) {
			*p = *sandboxPod(ns, "run", withVolume)
			f(p.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate)
		}
	}
	for name, tt := range map[string]struct {
		change change
		want   string
	}{
		"unchanged":                {func(*corev1.Pod) {}, ""},
		"waits in a pool":          {func(p *corev1.Pod) { *p = *waiting }, ""},
		"waits under another name": {func(p *corev1.Pod) { *p = *waiting; p.Name = "warm-waits" }, "-motor-sandbox"},
		"waits with a finalizer":   {func(p *corev1.Pod) { *p = *waiting.DeepCopy(); p.Finalizers = []string{"example.org/keep"} }, "has no finalizers"},
		"own runtime and users":    {func(p *corev1.Pod) { p.Spec.HostUsers = new(false); p.Spec.NodeName = "" }, ""},
		"the cluster's labels":     {func(p *corev1.Pod) { p.Labels["topology.kubernetes.io/zone"] = "a" }, ""},
		"plain environment":        {container(func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "X", Value: "y"}) }), ""},
		"environment from the Pod": {from(&corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}), ""},
		"local profile": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("p.json")}
		}, ""},
		"a probe by port": {container(func(c *corev1.Container) {
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8443)}}}
		}), ""},

		"another name":        {func(p *corev1.Pod) { p.Name = "sandbox" }, "-motor-sandbox"},
		"a label more":        {func(p *corev1.Pod) { p.Labels["app"] = "web" }, "no others"},
		"another manager":     {func(p *corev1.Pod) { p.Labels["app.kubernetes.io/managed-by"] = "Helm" }, "no others"},
		"an annotation more":  {func(p *corev1.Pod) { p.Annotations["k8s.v1.cni.cncf.io/networks"] = "tenant/macvlan" }, "annotations and no others"},
		"may be moved":        {func(p *corev1.Pod) { p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true" }, "annotations and no others"},
		"the cluster's notes": {func(p *corev1.Pod) { p.Annotations["kubernetes.io/limit-ranger"] = "x" }, ""},
		"a finalizer":         {func(p *corev1.Pod) { p.Finalizers = []string{"example.org/keep"} }, "has no finalizers"},
		"sidecar": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Image: "i"})
		}, "one container"},
		"init container":        {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "b", Image: "i"}} }, "one container"},
		"token":                 {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = new(true) }, "automountServiceAccountToken"},
		"token by default":      {func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil }, "automountServiceAccountToken"},
		"network of the node":   {func(p *corev1.Pod) { p.Spec.HostNetwork = true; p.Spec.Containers[0].Ports = nil }, "hostNetwork"},
		"processes of the node": {func(p *corev1.Pod) { p.Spec.HostPID = true }, "hostPID"},
		"IPC of the node":       {func(p *corev1.Pod) { p.Spec.HostIPC = true }, "hostIPC"},
		"one process namespace": {func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = new(true) }, "shareProcessNamespace"},
		"root":                  {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsNonRoot = nil }, "does not run as root"},
		"user 0":                {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = ptr.To[int64](0) }, "does not run as root"},
		"the image's user":      {func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = nil }, "does not run as root"},
		"root in the container": {security(func(s *corev1.SecurityContext) { s.RunAsNonRoot = new(false) }), "does not run as root"},
		"user 0 in it":          {security(func(s *corev1.SecurityContext) { s.RunAsUser = ptr.To[int64](0) }), "does not run as root"},
		"no Pod security":       {func(p *corev1.Pod) { p.Spec.SecurityContext = nil }, "does not run as root"},
		"no security":           {container(func(c *corev1.Container) { c.SecurityContext = nil }), "no privileges"},
		"escalation":            {security(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = new(true) }), "no privileges"},
		"escalation by default": {security(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = nil }), "no privileges"},
		"privileged":            {security(func(s *corev1.SecurityContext) { s.Privileged, s.AllowPrivilegeEscalation = new(true), nil }), "no privileges"},
		"all capabilities":      {security(func(s *corev1.SecurityContext) { s.Capabilities = nil }), "no capabilities"},
		"some dropped":          {security(func(s *corev1.SecurityContext) { s.Capabilities.Drop = []corev1.Capability{"NET_RAW"} }), "no capabilities"},
		"one added":             {security(func(s *corev1.SecurityContext) { s.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"} }), "no capabilities"},
		"root file system":      {security(func(s *corev1.SecurityContext) { s.ReadOnlyRootFilesystem = nil }), "readOnlyRootFilesystem"},
		"no seccomp":            {func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile = nil }, "seccomp"},
		"unconfined":            {func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined }, "seccomp"},
		"unconfined in it": {security(func(s *corev1.SecurityContext) {
			s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}), "seccomp"},
		"without AppArmor": {security(func(s *corev1.SecurityContext) {
			s.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}), "AppArmor"},
		"open /proc": {func(p *corev1.Pod) {
			p.Spec.HostUsers, p.Spec.Containers[0].SecurityContext.ProcMount = new(false), ptr.To(corev1.UnmaskedProcMount)
		}, "procMount"},
		"sysctl": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
		}, "sysctl"},
		"Secret volume":         {volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}), "emptyDir"},
		"ConfigMap volume":      {volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}), "emptyDir"},
		"folder of the node":    {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}), "emptyDir"},
		"volume claim":          {volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}), "emptyDir"},
		"workspace on a volume": {func(p *corev1.Pod) { *p = *sandboxPod(ns, "run", withVolume) }, ""},
		"volume of another name": {func(p *corev1.Pod) {
			*p = *sandboxPod(ns, "run", withVolume)
			p.Spec.Volumes[0].Name, p.Spec.Containers[0].VolumeMounts[0].Name = "work", "work"
		}, "emptyDir"},
		"volume without a class": {template(func(c *corev1.PersistentVolumeClaimTemplate) { c.Spec.StorageClassName = nil }), "is new, empty and its own"},
		"volume of many": {template(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}), "is new, empty and its own"},
		"chosen volume": {template(func(c *corev1.PersistentVolumeClaimTemplate) { c.Spec.VolumeName = "mine" }), "is new, empty and its own"},
		"selected volume": {template(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}), "is new, empty and its own"},
		"volume of a copy": {template(func(c *corev1.PersistentVolumeClaimTemplate) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "c"}
		}), "is new, empty and its own"},
		"volume with a note":  {template(func(c *corev1.PersistentVolumeClaimTemplate) { c.Annotations = map[string]string{"a": "b"} }), "is new, empty and its own"},
		"volume with a label": {template(func(c *corev1.PersistentVolumeClaimTemplate) { c.Labels["app"] = "web" }), "is new, empty and its own"},
		"token volume": {func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = "default"
			volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}}}})(p)
		}, "emptyDir"},
		"downward volume":            {volume(corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}), "emptyDir"},
		"DNS of the cluster":         {func(p *corev1.Pod) { p.Spec.DNSPolicy, p.Spec.DNSConfig = corev1.DNSClusterFirst, nil }, "dnsPolicy"},
		"environment of a Secret":    {from(&corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: "k"}}), "comes from the operator alone"},
		"environment of a ConfigMap": {from(&corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: "k"}}), "comes from the operator alone"},
		"whole environment": {container(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref}}}
		}), "comes from the operator alone"},
		"port of the node": {container(func(c *corev1.Container) { c.Ports[0].HostPort = 8443 }), "hostPort"},
		"hook": {container(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: probe.Exec}}
		}), "lifecycle"},
		"liveness":      {container(func(c *corev1.Container) { c.LivenessProbe = probe }), "probe with exec"},
		"readiness":     {container(func(c *corev1.Container) { c.ReadinessProbe = probe }), "probe with exec"},
		"startup":       {container(func(c *corev1.Container) { c.StartupProbe = probe }), "probe with exec"},
		"service links": {func(p *corev1.Pod) { p.Spec.EnableServiceLinks = nil }, "enableServiceLinks"},

		"with packages":               {packed(), ""},
		"packages under another name": {unpacking(func(c *corev1.Container) { c.Name = "unpack" }), "before it none but packages"},
		"something else before": {packed(func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "b", Image: "i"})
		}), "before it none but packages"},
		"unpacked by another image":    {unpacking(func(c *corev1.Container) { c.Image = "registry.example.org/other:1" }), "has the sandbox's image"},
		"unpacking that stays":         {unpacking(func(c *corev1.Container) { c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways) }), "ends before the tools begin"},
		"unpacking with a port":        {unpacking(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 80}} }), "has no port"},
		"unpacking into the workspace": {unpacking(func(c *corev1.Container) { c.VolumeMounts[0].Name = "workspace" }), "sees nothing but the packages"},
		"unpacking as root":            {unpacking(func(c *corev1.Container) { c.SecurityContext.RunAsUser = ptr.To[int64](0) }), "does not run as root"},
		"unpacking as any user":        {unpacking(func(c *corev1.Container) { c.SecurityContext.RunAsNonRoot = new(false) }), "does not run as root"},
		"unpacking without security":   {unpacking(func(c *corev1.Container) { c.SecurityContext = nil }), "no privileges"},
		"unpacking with escalation":    {unpacking(func(c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil }), "no privileges"},
		"unpacking with a capability":  {unpacking(func(c *corev1.Container) { c.SecurityContext.Capabilities.Add = []corev1.Capability{"CHOWN"} }), "no capabilities"},
		"unpacking into the image":     {unpacking(func(c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = nil }), "readOnlyRootFilesystem"},
		"unpacking unconfined": {unpacking(func(c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}), "seccomp"},
		"unpacking with a Secret": {unpacking(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: "k"}}}}
		}), "comes from the operator alone"},
		"unpacking with a whole ConfigMap": {unpacking(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref}}}
		}), "comes from the operator alone"},
		"packages that tools change": {packed(container(func(c *corev1.Container) { c.VolumeMounts[len(c.VolumeMounts)-1].ReadOnly = false })), "packages must be readOnly"},
		"parts for the tools":        {packed(container(func(c *corev1.Container) { c.VolumeMounts[len(c.VolumeMounts)-1].Name = "packages-parts" })), "packages-parts is not for them"},
		"parts under another name":   {volume(parts), "emptyDir"},
		"packages of a ConfigMap": {packed(func(p *corev1.Pod) {
			p.Spec.Volumes[len(p.Spec.Volumes)-2].VolumeSource = parts
		}), "emptyDir"},
		"parts with a Secret": {source(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: ref}}), "emptyDir"},
		"parts with a token": {func(p *corev1.Pod) {
			source(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}})(p)
			p.Spec.ServiceAccountName = "default"
		}, "emptyDir"},
		"parts with the Pod": {source(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "p", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}), "emptyDir"},
		"parts that are a Secret": {packed(func(p *corev1.Pod) {
			p.Spec.Volumes[len(p.Spec.Volumes)-1].VolumeSource = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}
		}), "emptyDir"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := sandboxPod(ns, "run")
			tt.change(pod)
			err := manager.Create(ctx, pod, client.DryRunAll)
			if tt.want == "" {
				must(t, err)
				return
			}
			wantRefused(t, err, "ValidatingAdmissionPolicy 'motorcortex-sandbox-shape'", tt.want)
		})
	}
}

func TestOnlyTheManagerMakesSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const only = "only the operator makes sandboxes"
	forged := sandboxPod(ns, "run")
	forged.OwnerReferences = nil
	wantRefused(t, admin.Create(ctx, forged), only)
	plain := podProbe()
	plain.Namespace, plain.OwnerReferences = ns, nil
	must(t, admin.Create(ctx, plain))
	wantRefused(t, admin.Patch(ctx, plain.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"sandbox"}}}`)), only)
	wantRefused(t, admin.Status().Patch(ctx, plain.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"sandbox"}}}`)), only)
}

func TestSandboxKeepsItsLabels(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	pod := sandboxPod(newNamespace(ctx, t), "run")
	must(t, manager.Create(ctx, pod))
	const kept = "NetworkPolicies select Pods by their labels"
	for name, labels := range map[string]string{
		"one more": `{"app":"web"}`, "another run": `{"motorcortex.dev/run":"b"}`, "a pool": `{"motorcortex.dev/pool":"warm"}`, "no run": `{"motorcortex.dev/run":null}`, "a manager": `{"app.kubernetes.io/managed-by":"motorcortex"}`,
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, admin.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"labels":%s}}`, labels)), kept)
			wantRefused(t, admin.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"labels":%s}}`, labels)), kept)
		})
	}
	owner := func(format string) client.Patch {
		return mergePatchOf(`{"metadata":{"ownerReferences":[`+format+`]}}`, pod.OwnerReferences[0].UID)
	}
	for name, patch := range map[string]client.Patch{
		"none":       mergePatchOf(`{"metadata":{"ownerReferences":null}}`),
		"no control": owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorRun","name":"run","uid":%q,"controller":false}`),
		"other name": owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorRun","name":"other","uid":%q,"controller":true}`),
		"other kind": owner(`{"apiVersion":"v1","kind":"ConfigMap","name":"run","uid":%q,"controller":true}`),
		"other API":  owner(`{"apiVersion":"example.org/v1","kind":"MotorRun","name":"run","uid":%q,"controller":true}`),
	} {
		t.Run("owner "+name, func(t *testing.T) {
			wantRefused(t, admin.Patch(ctx, pod.DeepCopy(), patch), "a sandbox belongs to its run or pool")
		})
	}
	wantRefused(t, patchJSON(ctx, admin, pod, `[{"op":"replace","path":"/spec/containers/0/image","value":"other"}]`), "keeps the image")
	packed := packedPod(pod.Namespace, "packed")
	must(t, manager.Create(ctx, packed))
	wantRefused(t, patchJSON(ctx, admin, packed, `[{"op":"replace","path":"/spec/initContainers/0/image","value":"other"}]`), "keeps the image")
	// The scheduler's binding adds where the node is, and must add nothing else.
	bound := func(labels map[string]string) error {
		return admin.SubResource("binding").Create(ctx, pod.DeepCopy(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: labels},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "node"},
		})
	}
	wantRefused(t, bound(map[string]string{"app": "web"}), "so a binding gives a sandbox none")
	must(t, bound(map[string]string{"topology.kubernetes.io/zone": "a"}))
}

func TestNobodyGetsIntoASandbox(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	shut := newNamespace(ctx, t)
	open := newNamespace(ctx, t, v1alpha1.LabelSandboxExec, "allowed")
	const refused = "no user gets into one"
	for _, ns := range []string{shut, open} {
		must(t, manager.Create(ctx, sandboxPod(ns, "run")))
		plain := podProbe()
		plain.Namespace, plain.OwnerReferences = ns, nil
		must(t, admin.Create(ctx, plain))
	}
	for way, enter := range map[string]func(context.Context, client.Client, string, string) error{
		"exec": func(ctx context.Context, c client.Client, ns, pod string) error {
			return execInto(ctx, c, ns, pod, "exec")
		},
		"attach": func(ctx context.Context, c client.Client, ns, pod string) error {
			return execInto(ctx, c, ns, pod, "attach")
		},
		"port-forward": func(ctx context.Context, c client.Client, ns, pod string) error {
			return execInto(ctx, c, ns, pod, "portforward")
		},
		"proxy": func(ctx context.Context, c client.Client, ns, pod string) error {
			return execInto(ctx, c, ns, pod, "proxy")
		},
		"debug": debug,
	} {
		t.Run(way, func(t *testing.T) {
			wantRefused(t, enter(ctx, admin, shut, "run-motor-sandbox"), "ValidatingAdmissionPolicy 'motorcortex-sandbox-access'", refused)
			for name, err := range map[string]error{
				"another Pod": enter(ctx, admin, shut, "probe"), "an open namespace": enter(ctx, admin, open, "run-motor-sandbox"),
			} {
				// There is no kubelet: what gets past admission fails there.
				if err != nil && strings.Contains(err.Error(), "AdmissionPolicy") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// The name in a request for a proxy can have a scheme and a port.
func TestProxyIntoASandboxByItsPort(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	must(t, manager.Create(ctx, sandboxPod(ns, "run")))
	for _, name := range []string{"run-motor-sandbox:8443", "https:run-motor-sandbox:8443", "https:run-motor-sandbox:"} {
		wantRefused(t, execInto(ctx, admin, ns, name, "proxy"), "no user gets into one")
	}
}

func debug(ctx context.Context, c client.Client, namespace, name string) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return err
	}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "d", Image: "i", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}}}
	return c.SubResource("ephemeralcontainers").Update(ctx, pod)
}

// What a network plugin reads on a Pod nobody writes; what it writes, it alone does, and it is known by its right for every
// namespace.
func TestAnnotationsOfASandboxAreFrozen(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pod := sandboxPod(ns, "frozen")
	must(t, manager.Create(ctx, pod))
	all := rights{"get,update,patch pods", "update,patch pods/status"}
	eve := person(ctx, t, ns, "eve-annotations", all)
	// A service account of the namespace is whoever may have a token of it.
	account := person(ctx, t, ns, "system:serviceaccount:"+ns+":plugin", all)
	plugin := networkPlugin(ctx, t, ns)
	const own = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	for name, patch := range map[string]string{
		"a second network": `{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/networks":"tenant/macvlan"}}}`,
		"an address":       `{"metadata":{"annotations":{"cni.projectcalico.org/ipAddrs":"[\"10.0.0.1\"]"}}}`,
		"a note":           `{"metadata":{"annotations":{"note":"b"}}}`,
		"one changed":      `{"metadata":{"annotations":{"` + own + `":"true"}}}`,
		"one taken away":   `{"metadata":{"annotations":{"` + own + `":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for who, c := range map[string]client.Client{"eve": eve, "account": account, "plugin": plugin, "admin": admin} {
				t.Run(who, func(t *testing.T) {
					wantRefused(t, c.Patch(ctx, pod.DeepCopy(), mergePatchOf("%s", patch)), "'motorcortex-pods'", "no user changes the annotations")
					wantRefused(t, c.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf("%s", patch)), "'motorcortex-pods'", "no user changes the annotations")
				})
			}
		})
	}
	for _, key := range []string{"cni.projectcalico.org/podIP", "k8s.v1.cni.cncf.io/network-status", "k8s.ovn.org/pod-networks", "ovn.kubernetes.io/allocated"} {
		written := mergePatchOf(`{"metadata":{"annotations":{%q:"x"}}}`, key)
		for _, c := range []client.Client{eve, account} {
			wantRefused(t, c.Patch(ctx, pod.DeepCopy(), written), "network plugins alone")
			wantRefused(t, c.Status().Patch(ctx, pod.DeepCopy(), written), "network plugins alone")
		}
		must(t, plugin.Status().Patch(ctx, pod.DeepCopy(), written))
		must(t, plugin.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"annotations":{%q:null}}}`, key)))
	}
	// What is no annotation goes on as before.
	must(t, eve.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"status":{"message":"m"}}`)))
}

// networkPlugin is a service account elsewhere that may write the status of Pods in all namespaces.
func networkPlugin(ctx context.Context, t *testing.T, ns string) client.Client {
	t.Helper()
	name := "plugin-of-" + ns
	user := "system:serviceaccount:kube-system:" + name
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rights{"get,patch pods", "patch pods/status"}.rules()}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		must(t, admin.Create(ctx, o))
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(ctx), o) })
	}
	awaitRight(ctx, t, user, authorizationv1.ResourceAttributes{Resource: "pods", Subresource: "status", Verb: "patch"})
	c, err := clientAs(user)
	must(t, err)
	return c
}

func TestNobodyKeepsASandbox(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pod := sandboxPod(ns, "kept")
	must(t, manager.Create(ctx, pod))
	eve := person(ctx, t, ns, "eve-finalizers", rights{"get,update,patch pods", "update,patch pods/status"})
	for _, c := range []client.Client{eve, admin} {
		wantRefused(t, c.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["evil.example/keep"]}}`)), "no user gives it a finalizer")
		wantRefused(t, c.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["evil.example/keep"]}}`)), "no user gives it a finalizer")
		wantRefused(t, c.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"spec":{"activeDeadlineSeconds":5}}`)), "activeDeadlineSeconds")
	}
}
