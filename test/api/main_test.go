// SPDX-License-Identifier: Apache-2.0

// Package api_test tries the API, the journal and the controller against a real kube-apiserver. There is no kubelet, no
// scheduler and no garbage collector: the tests play the Pod's status by hand.
package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/go-logr/logr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	managerNamespace = "motorcortex-system"
	managerUser      = "system:serviceaccount:motorcortex-system:motorcortex-manager"
)

// The one control plane of the package, and its two users: an administrator, and the manager with no more rights than
// config/rbac gives it.
var (
	adminConfig *rest.Config
	// etcdURL is where etcd serves its metrics.
	etcdURL string
	scheme  = runtime.NewScheme()
	admin   client.WithWatch
	manager client.WithWatch
)

func TestMain(m *testing.M) {
	if isControlPlane() {
		os.Exit(becomeControlPlane())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS is not set: it is the folder with etcd and kube-apiserver. Run `make test-api`, which sets it.")
		return 1
	}
	ctrl.SetLogger(logr.Discard())
	programs, err := controlPlanePrograms()
	if err != nil {
		fmt.Fprintln(os.Stderr, "find the programs of the control plane:", err)
		return 1
	}
	defer os.RemoveAll(programs)
	env := &envtest.Environment{
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: filepath.Join(programs, "etcd")},
			APIServer: &envtest.APIServer{Path: filepath.Join(programs, "kube-apiserver")},
		},
		CRDDirectoryPaths:        []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 5 * time.Minute,
		ControlPlaneStopTimeout:  2 * time.Minute,
	}
	cfg, err := env.Start()
	if err == nil {
		etcdURL = env.ControlPlane.Etcd.URL.String()
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the control plane:", err)
		}
	}()
	if err == nil {
		err = prepare(cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the control plane:", err)
		return 1
	}
	return m.Run()
}

// prepare makes the clients, installs what config has beside the kinds, and waits until the policies are in force.
func prepare(cfg *rest.Config) error {
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	adminConfig = cfg
	var err error
	if admin, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if manager, err = clientAs(managerUser); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	operators := namespace(managerNamespace)
	metav1.SetMetaDataLabel(&operators.ObjectMeta, withQuestions, "true")
	if err := admin.Create(ctx, operators); err != nil {
		return err
	}
	for _, file := range []string{"rbac/service_account.yaml", "rbac/role.yaml", "rbac/role_binding.yaml", "rbac/metrics.yaml", "rbac/user_roles.yaml", "egressproxy/rbac.yaml"} {
		if err := install(ctx, filepath.Join("..", "..", "config", filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	if err := installAdmission(ctx); err != nil {
		return err
	}
	// A policy takes a moment until the API server has compiled it, and a binding until the authorizer knows of it.
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		refused := admin.Create(ctx, policyProbe(), client.DryRunAll)
		allowed := manager.Create(ctx, policyProbe(), client.DryRunAll)
		pod := admin.Create(ctx, podProbe(), client.DryRunAll)
		return apierrors.IsForbidden(refused) && allowed == nil && apierrors.IsForbidden(pod) && admissionInForce(ctx), nil
	})
}

func policyProbe() *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Epoch: 1}}
	s.Name, s.Namespace = "probe", "default"
	return s
}

func podProbe() *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	p.Name, p.Namespace = "probe", "default"
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: "run", UID: "u"}}
	return p
}

func clientAs(user string, groups ...string) (client.WithWatch, error) {
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return client.NewWithWatch(cfg, client.Options{Scheme: scheme})
}

func install(ctx context.Context, path string, change ...func(*unstructured.Unstructured)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		for _, c := range change {
			c(o)
		}
		if err := admin.Create(ctx, o); err != nil {
			return err
		}
	}
}
