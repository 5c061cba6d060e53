// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e_test tries the operator on a real cluster, from outside: it applies objects, deletes what it must survive
// the loss of, and reads what a user can read. `make test-e2e` runs it.
//
// Environment: KUBECONFIG of a cluster on which the operator is installed, KUBECTL and MOTOR (the programs kubectl and kubectl-motor), SANDBOX_IMAGE and
// MODELSERVER_IMAGE as the cluster knows them; DEVCLUSTER (the program) if it is the development cluster.
package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// parallel is how many tests run at a time: a test mostly waits, but each has a sandbox to start.
const parallel = "3"

// suite is what all tests share.
var suite struct {
	id        string
	client    client.WithWatch
	clientset *kubernetes.Clientset
	kubectl   string
	// motor is the program kubectl-motor.
	motor        string
	sandboxImage string
	modelImage   string
	// devcluster is the program of the development cluster, "" on another one.
	devcluster string
	// namespace holds the model servers and every run that needs no namespace of its own.
	namespace string
	// key is what the second model server demands; wrongKey is what a test sends instead.
	key, wrongKey string

	mu sync.Mutex
	// replicas is how many managers there were at the beginning, template what their Pods were made from.
	replicas int32
	template corev1.PodTemplateSpec
	// managers are the Pods that ran at the beginning, with the restarts that they should have, but for those that a
	// test deleted.
	managers map[string]int32
	// logs are those of the managers that a test deleted.
	logs map[string]string

	// ended is how the runs ended of which a test saw the end.
	ended map[types.UID]verdict

	shellMu sync.Mutex
	// shells are Pods that see the processes of a node, by the node's name.
	shells map[string]client.ObjectKey
}

func TestMain(m *testing.M) {
	// A number on the command line comes later and wins.
	_ = flag.Set("test.parallel", parallel)
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := configure(); err != nil {
		fmt.Fprintln(os.Stderr, "the end-to-end tests cannot start:", err)
		return 1
	}
	defer func() {
		if err := errors.Join(restoreManagers(context.Background()), scaleManagers(context.Background(), suite.replicas), removeNamespaces(context.Background()), stopWorld(context.Background())); err != nil {
			fmt.Fprintln(os.Stderr, "clean up after the tests:", err)
		}
	}()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the end-to-end tests cannot start:", err)
		return 1
	}
	ended := make(chan int, 1)
	go func() { ended <- m.Run() }()
	select {
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "the end-to-end tests were interrupted")
		return 130
	case code := <-ended:
		return max(code, afterwards(ctx))
	}
}

// afterwardsCheck is something that must be true when all tests are done.
type afterwardsCheck struct {
	name string
	run  func(context.Context) error
}

// afterwards checks what must be true when all tests are done, and gives the exit code.
func afterwards(ctx context.Context) int {
	began := time.Now()
	code := 0
	checks := []afterwardsCheck{
		{"NoSandboxIsLeft", noSandboxIsLeft},
		{"NoStepIsLeft", noStepIsLeft},
		{"NoLeaseIsLeft", noLeaseIsLeft},
		{"NoEndChanged", noEndChanged},
		{"NoManagerRestarted", noManagerRestarted},
		{"NoManagerPanickedOrLoggedASecret", noManagerPanickedOrLoggedASecret},
	}
	for _, check := range append(checks, furtherChecks...) {
		verdict := "PASS"
		err := check.run(ctx)
		if err != nil {
			verdict, code = "FAIL", 1
		}
		fmt.Printf("--- %s: Afterwards/%s (%.2fs)\n", verdict, check.name, time.Since(began).Seconds())
		if err != nil {
			fmt.Printf("    %v\n", err)
		}
	}
	return code
}

func configure() error {
	for name, to := range map[string]*string{
		"KUBECTL": &suite.kubectl, "MOTOR": &suite.motor, "SANDBOX_IMAGE": &suite.sandboxImage, "MODELSERVER_IMAGE": &suite.modelImage,
	} {
		if *to = os.Getenv(name); *to == "" {
			return fmt.Errorf("%s is not set; run `make test-e2e`, which sets it", name)
		}
	}
	if os.Getenv("KUBECONFIG") == "" {
		return errors.New("KUBECONFIG is not set; run `make test-e2e`, which sets it")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	cfg.QPS = -1 // The tests do not poll; what they ask for, they need now.
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if suite.client, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	suite.clientset, err = kubernetes.NewForConfig(cfg)
	suite.id = rand.String(5)
	suite.devcluster = os.Getenv("DEVCLUSTER")
	suite.logs, suite.shells, suite.ended = map[string]string{}, map[string]client.ObjectKey{}, map[types.UID]verdict{}
	return err
}

// start removes what an interrupted suite left, and prepares what the tests share.
func start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*soon)
	defer cancel()
	if err := removeOldNamespaces(ctx); err != nil {
		return fmt.Errorf("remove the namespaces of an earlier suite: %w", err)
	}
	if err := managersAreReady(ctx); err != nil {
		return fmt.Errorf("the operator is not ready: %w", err)
	}
	if err := rememberManagers(ctx); err != nil {
		return err
	}
	var err error
	if suite.namespace, err = createNamespace(ctx, "all", restricted); err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	suite.key, suite.wrongKey = "sk-right-"+rand.String(24), "sk-wrong-"+rand.String(24)
	if err := startModelServers(ctx); err != nil {
		return fmt.Errorf("start the model servers: %w", err)
	}
	if err := createCortex(ctx, suite.namespace, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}); err != nil {
		return err
	}
	return startWorld(ctx)
}
