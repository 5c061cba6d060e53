// SPDX-License-Identifier: Apache-2.0

//go:build e2e && archive

package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
)

const (
	storeName = "s3server"
	storePort = 9000
	// archiveSecret is what config/archive takes credentials from.
	archiveSecret = "motorcortex-archive"
	archivePatch  = "../../config/archive/manager_patch.yaml"
)

// store is an S3 server on the cluster, with one bucket.
type store struct {
	namespace string
	// credentials are those of a Secret: what the AWS SDK reads from the environment.
	credentials map[string]string
	// inside is the URL of the bucket for managers, outside for this test.
	inside, outside string
}

// startStore starts the server in a namespace of its own.
func startStore(t *testing.T) *store {
	t.Helper()
	s := &store{namespace: newNamespace(t, "archive"), credentials: map[string]string{
		"AWS_ACCESS_KEY_ID": "motorcortex", "AWS_SECRET_ACCESS_KEY": rand.String(40),
	}}
	must(t, suite.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: storeName}, StringData: s.credentials}))
	must(t, suite.client.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: storeName},
		Spec:       corev1.ServiceSpec{Selector: s.selector(), Ports: []corev1.ServicePort{{Port: storePort, TargetPort: intstr.FromInt32(storePort)}}},
	}))
	pod := s.pod()
	must(t, suite.client.Create(t.Context(), pod))
	key := client.ObjectKeyFromObject(pod)
	err := await(t.Context(), soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		err := suite.client.Get(ctx, key, pod)
		return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].Ready, err
	})
	if err != nil {
		t.Fatalf("the S3 server does not start: %v: %+v\n%s", err, pod.Status, kubectl(t, "-n", s.namespace, "logs", storeName, "--tail=30"))
	}
	const url = "s3://archives?region=us-east-1&use_path_style=true&endpoint=http://%s:%d"
	s.inside = fmt.Sprintf(url, storeName+"."+s.namespace+".svc", storePort)
	s.outside = fmt.Sprintf(url, "127.0.0.1", s.forward(t))
	for name, value := range s.credentials {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return s
}

func (s *store) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": storeName}
}

// pod is the server. Its bucket is a folder: each below /data is one.
func (s *store) pod() *corev1.Pod {
	from := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: storeName}, Key: key}}
	}
	folder := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: storeName, Labels: s.selector()},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Volumes:         []corev1.Volume{folder("meta"), folder("data"), folder("archives")},
			Containers: []corev1.Container{{
				Name: storeName, Image: os.Getenv("S3SERVER_IMAGE"), ImagePullPolicy: corev1.PullIfNotPresent,
				Args:         []string{fmt.Sprintf("--port=:%d", storePort), "--health=/healthz", "posix", "--sidecar=/meta", "/data"},
				Env:          []corev1.EnvVar{{Name: "ROOT_ACCESS_KEY_ID", ValueFrom: from("AWS_ACCESS_KEY_ID")}, {Name: "ROOT_SECRET_ACCESS_KEY", ValueFrom: from("AWS_SECRET_ACCESS_KEY")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "meta", MountPath: "/meta"}, {Name: "data", MountPath: "/data"}, {Name: "archives", MountPath: "/data/archives"}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 60, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(storePort)},
				}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
}

var forwarding = regexp.MustCompile(`^Forwarding from 127\.0\.0\.1:(\d+) `)

// forward has a port of this machine's loopback lead to the server until the test ends, and gives it.
func (s *store) forward(t *testing.T) (port int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, suite.kubectl, "-n", s.namespace, "port-forward", "--address=127.0.0.1", "pod/"+storeName, fmt.Sprintf(":%d", storePort))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for port == 0 && lines.Scan() {
		if m := forwarding.FindStringSubmatch(lines.Text()); m != nil {
			_, err := fmt.Sscan(m[1], &port)
			must(t, err)
		}
	}
	if port == 0 {
		t.Fatalf("kubectl port-forward says no port: %v", lines.Err())
	}
	return port
}

// read returns what the bucket has of the run.
func (s *store) read(t *testing.T, run *v1alpha1.MotorRun) (archive.Manifest, error) {
	t.Helper()
	b, err := bucket.Open(t.Context(), s.outside)
	must(t, err)
	defer b.Close()
	in, err := b.Read(t.Context(), archive.Key(run))
	if err != nil {
		return archive.Manifest{}, err
	}
	defer in.Close()
	return archive.Read(in, "")
}

// leave makes the server one that no manager reaches: its Service selects nothing. It waits until no address is left.
func (s *store) leave(t *testing.T) {
	t.Helper()
	s.lead(t, "away", 0)
}

// comeBack ends leave.
func (s *store) comeBack(t *testing.T) {
	t.Helper()
	s.lead(t, storeName, 1)
}

func (s *store) lead(t *testing.T, to string, addresses int) {
	t.Helper()
	kubectl(t, "-n", s.namespace, "patch", "service", storeName, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"selector":{"app.kubernetes.io/name":%q}}}`, to))
	of := client.MatchingLabels{"kubernetes.io/service-name": storeName}
	must(t, await(t.Context(), soon, &discoveryv1.EndpointSliceList{}, []client.ListOption{client.InNamespace(s.namespace), of}, func(ctx context.Context) (bool, error) {
		var slices discoveryv1.EndpointSliceList
		err := suite.client.List(ctx, &slices, client.InNamespace(s.namespace), of)
		n := 0
		for i := range slices.Items {
			n += len(slices.Items[i].Endpoints)
		}
		return n == addresses, err
	}))
}

// archiveInto has the managers archive into the bucket as config/archive has it, or without the archive being required. Runs that need not be
// kept are so for archiveWait. At the end of the test the managers are as they were.
func archiveInto(t *testing.T, s *store, required bool) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: archiveSecret}, StringData: s.credentials}
	// It must not be there: it would be somebody's.
	must(t, suite.client.Create(t.Context(), secret))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*soon)
		defer cancel()
		err := errors.Join(rememberLogs(ctx), restoreManagers(ctx), suite.client.Delete(ctx, secret), managersAreReady(ctx))
		if err != nil {
			t.Errorf("have the managers work without an archive again: %v", err)
		}
	})
	must(t, rememberLogs(t.Context()))
	patch := []string{"-n", managerNamespace, "patch", "deployment", managerDeployment.Name, "--type=json"}
	kubectl(t, append(patch, "--patch-file="+archivePatch)...)
	const container = "/spec/template/spec/containers/0"
	at, wait := container+"/args/-", fmt.Sprintf("%q", "--archive-wait="+archiveWait.String())
	if !required {
		at, wait = container+"/args", "["+wait+"]"
	}
	kubectl(t, append(patch, "-p", fmt.Sprintf(`[{"op":"add","path":%q,"value":%s},{"op":"add","path":%q,"value":{"name":"ARCHIVE_BUCKET","value":%q}}]`,
		at, wait, container+"/env/-", s.inside))...)
	must(t, managersAreReady(t.Context()))
}

// rememberLogs keeps the logs of managers that are about to be replaced.
func rememberLogs(ctx context.Context) error {
	pods, err := managerPods(ctx)
	for i := range pods {
		log, logErr := managerLog(ctx, pods[i].Name)
		err = errors.Join(err, client.IgnoreNotFound(logErr))
		suite.mu.Lock()
		suite.logs[pods[i].Name] = log
		delete(suite.managers, pods[i].Name)
		suite.mu.Unlock()
	}
	return err
}

// awaitNoSteps waits until the cluster has no steps of the run.
func awaitNoSteps(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	of := []client.ListOption{client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}}
	must(t, await(t.Context(), soon, &v1alpha1.MotorStepList{}, of, func(ctx context.Context) (bool, error) {
		list, err := steps(ctx, run)
		return len(list) == 0, err
	}))
}
