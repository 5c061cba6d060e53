// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/printed"
)

const (
	operators = "motorcortex-system"
	account   = "system:serviceaccount:" + operators + ":motorcortex-manager"
	// long is how long managers may take: one follows another after its Lease, and its first requests compile policies.
	long = 5 * time.Minute
)

// cluster is an API server with the kinds and rights of this release, and a model.
type cluster struct {
	admin client.Client
	// kubeconfig is that of the managers, model the address of the model.
	kubeconfig, model string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: it is the folder with etcd and kube-apiserver. Run `make test-skew`, which sets it.")
	}
	ctrl.SetLogger(logr.Discard())
	root := filepath.Join("..", "..", "config")
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(root, "crd", "bases")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: long, ControlPlaneStopTimeout: 2 * time.Minute,
	}
	cfg, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the control plane: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("start the control plane: %v", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{model: startModel(t), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if c.admin, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(managersConfig(cfg), c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if err := c.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operators}}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"service_account", "role", "role_binding", "user_roles"} {
		if err := c.install(t.Context(), filepath.Join(root, "rbac", f+".yaml")); err != nil {
			t.Fatalf("install rbac/%s: %v", f, err)
		}
	}
	return c
}

// policies installs the policies of a release in the place of those that are there. A manager that starts waits for those of its own.
func (c *cluster) policies(t *testing.T, r release) {
	t.Helper()
	for _, kind := range []string{
		"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("admissionregistration.k8s.io/v1")
		o.SetKind(kind)
		if err := c.admin.DeleteAllOf(t.Context(), o); err != nil {
			t.Fatalf("delete every %s: %v", kind, err)
		}
	}
	for _, pattern := range []string{"*.yaml", "stamping/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(r.tree, "config", "admission", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("the %s release has no policies: %v", r.name, err)
		}
		for _, f := range files {
			if filepath.Base(f) == "kustomization.yaml" {
				continue
			}
			if err := c.install(t.Context(), f); err != nil {
				t.Fatalf("install %s: %v", f, err)
			}
		}
	}
}

// managersConfig is the way of a manager to the API server, with the rights of its account.
func managersConfig(cfg *rest.Config) clientcmdapi.Config {
	const name = "skew"
	return clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: "https://" + strings.TrimPrefix(cfg.Host, "https://"), CertificateAuthorityData: cfg.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Impersonate: account,
			ImpersonateGroups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + operators},
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}

func (c *cluster) install(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := c.admin.Create(ctx, o); err != nil {
			return err
		}
	}
}

// startModel starts the scripted model and gives its address.
func startModel(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "modelserver")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "motorcortex.dev/motorcortex/test/modelserver")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the model: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "--scripts", filepath.Join("testdata", "scripts"), "--listen", "127.0.0.1:0")
	said := &printed.Text{}
	cmd.Stderr = said
	start(t, cmd, syscall.SIGTERM)
	listens := regexp.MustCompile(`listening on (\S+)`)
	var address string
	poll(t, "the model", said.String, func() bool {
		m := listens.FindStringSubmatch(said.String())
		if m != nil {
			address = m[1]
		}
		return m != nil
	})
	return "http://" + address + "/v1"
}

// startManager starts the manager of a release, with its sandbox image, and ends it with the test.
func (c *cluster) startManager(t *testing.T, r release) (stop func() error) {
	t.Helper()
	cmd := exec.Command(r.operator,
		"--sandbox-image", image(r), "--namespace", operators, "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		// The tool servers run on this machine, and reach what it does.
		"--allow-unenforced-isolation", "--isolation-timeout", "1s", "--isolation-outside", "",
	)
	cmd.Env = []string{
		"KUBECONFIG=" + c.kubeconfig, "POD_NAME=manager-" + r.name, "OPENAI_BASE_URL=" + c.model, "OPENAI_API_KEY=none", "OPENAI_MODEL=scripted/move",
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"),
	}
	said := &printed.Text{}
	cmd.Stderr = said
	stop = start(t, cmd, syscall.SIGKILL)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the manager of the %s release said:\n%s", r.name, said)
		}
	})
	return stop
}

// image names the tool server of a release as an image.
func image(r release) string { return "sandbox.example.org/" + r.name + ":1" }

// namespace makes one for a test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "skew-"}}
	if err := c.admin.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// notYet are what the API server says of policies in the first seconds after the kinds are established: one that mutates needs the schema of the kind, and
// one with a parameter the objects of the parameter's kind.
var notYet = []string{"There can be a delay between when CustomResourceDefinitions are created", "not yet synced to use for admission"}

// create makes a run as soon as it can be made.
func (c *cluster) create(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	var err error
	poll(t, "the schema of the kind", func() string { return fmt.Sprint(err) }, func() bool {
		err = c.admin.Create(t.Context(), run)
		if err != nil && !slices.ContainsFunc(notYet, func(says string) bool { return strings.Contains(err.Error(), says) }) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// await reads the run until it is as it must be.
func (c *cluster) await(t *testing.T, what string, run *v1alpha1.MotorRun, is func() bool) {
	t.Helper()
	poll(t, what, func() string {
		st := run.Status
		return fmt.Sprintf("the run is %s: %s; worker %s, epoch %d, attempts %+v", st.Phase, st.Message, st.Execution.Worker, st.Execution.Epoch, st.Attempts)
	}, func() bool {
		if err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
		return is()
	})
}

// poll waits until something is so, and says how it stands if it never is.
func poll(t *testing.T, what string, stands func() string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(long); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s did not come within %s: %s", what, long, stands())
		}
	}
}

// kubelet runs the tool servers of the Pods of one namespace, on this machine.
type kubelet struct {
	t       *testing.T
	cluster *cluster
	ns      string
	// images are the programs by the names of their images.
	images map[string]string
	// workspaces are those of all Pods until now, in their order, and pods their UIDs.
	workspaces, pods []string
	// given are the files that every workspace has.
	given []string
}

// look starts what has to run. Pods without a node are gone when they are deleted, and their tool servers go on until the test ends.
func (k *kubelet) look() {
	k.t.Helper()
	var pods corev1.PodList
	if err := k.cluster.admin.List(k.t.Context(), &pods, client.InNamespace(k.ns)); err != nil {
		k.t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil || slices.Contains(k.pods, string(pod.UID)) {
			continue
		}
		k.pods = append(k.pods, string(pod.UID))
		k.run(pod)
	}
}

func (k *kubelet) run(pod *corev1.Pod) {
	k.t.Helper()
	box := &pod.Spec.Containers[0]
	program, ok := k.images[box.Image]
	if !ok {
		k.t.Fatalf("the Pod %s has the image %s", pod.Name, box.Image)
	}
	workspace, tables, ip := k.t.TempDir(), k.t.TempDir(), sandboxAddress(k.t)
	for _, name := range []string{"tcp", "udp"} {
		// Those of this machine have the connections of every process on it.
		if err := os.WriteFile(filepath.Join(tables, name), []byte("  sl  local_address rem_address   st\n"), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-listen", net.JoinHostPort(ip, strconv.Itoa(toolapi.Port)))
	cmd.Env = []string{
		"MOTOR_NET_TABLES=" + tables, "MOTOR_WORKSPACE=" + workspace, "MOTOR_STATE=" + k.t.TempDir(), "TMPDIR=" + k.t.TempDir(),
		"MOTOR_POD_UID=" + string(pod.UID), "MOTOR_POD_IP=127.0.0.1", "PATH=" + os.Getenv("PATH"),
	}
	for _, e := range box.Env {
		if e.Name == "MOTOR_MANAGER_KEY" {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
	}
	said := &printed.Text{}
	cmd.Stderr = said
	start(k.t, cmd, syscall.SIGTERM)
	k.t.Cleanup(func() {
		if k.t.Failed() {
			k.t.Logf("the tool server of %s (%s) said:\n%s", pod.Name, box.Image, said)
		}
	})
	k.workspaces = append(k.workspaces, workspace)
	for _, name := range k.given {
		k.put(workspace, name)
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	pod.Status.HostIP, pod.Status.HostIPs = "127.0.0.2", []corev1.HostIP{{IP: "127.0.0.2"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: box.Name, Image: box.Image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	if err := k.cluster.admin.Status().Update(k.t.Context(), pod); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kubelet) put(workspace, name string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(workspace, name), nil, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// give makes a file in every workspace, and in those that come later.
func (k *kubelet) give(name string) {
	k.t.Helper()
	k.given = append(k.given, name)
	for _, w := range k.workspaces {
		k.put(w, name)
	}
}

// has reports whether a workspace has the file.
func (k *kubelet) has(name string) bool {
	return slices.ContainsFunc(k.workspaces, func(w string) bool {
		_, err := os.Stat(filepath.Join(w, name))
		return err == nil
	})
}

// effects are those in all workspaces, in their order.
func (k *kubelet) effects() string {
	var all []string
	for _, w := range k.workspaces {
		if text, err := os.ReadFile(filepath.Join(w, "effects")); err == nil {
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return strings.Join(all, " ")
}
