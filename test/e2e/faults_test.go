// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The tests named TestFault… run against a manager that is built with the faults in it: `make test-faults`. Those that
// are not parallel take something away from all runs, and come first.

// managersMayRestart reports whether it is no failure that managers restarted.
const managersMayRestart = true

// long reports whether the faults take the time that they take in the wild.
func long() bool { return os.Getenv("FAULTS_LONG") != "" }

// faultRuns is how many runs there are among which managers are killed.
func faultRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FAULTS_RUNS")
	if text == "" {
		return map[bool]int{false: 20, true: 100}[long()]
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// freshManagers replaces the managers that ended before, because a node takes longer each time to start one again, and
// waits until all are ready.
func freshManagers(t *testing.T) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	for i := range pods {
		if restarts(&pods[i]) > 0 && pods[i].DeletionTimestamp == nil {
			keepLog(t, &pods[i])
			must(t, client.IgnoreNotFound(suite.client.Delete(t.Context(), &pods[i], client.GracePeriodSeconds(0))))
		}
	}
	must(t, managersAreReady(t.Context()))
}

// configureManagers starts the managers again with these arguments, and without them at the end of the test.
func configureManagers(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*soon)
		defer cancel()
		if err := setManagerArgs(ctx, nil); err != nil {
			t.Errorf("have the managers work well again: %v", err)
		}
	})
	pods, err := managerPods(t.Context())
	must(t, err)
	for i := range pods {
		keepLog(t, &pods[i])
	}
	must(t, setManagerArgs(t.Context(), args))
}

func setManagerArgs(ctx context.Context, args []string) error {
	value, err := json.Marshal(args)
	if err != nil {
		return err
	}
	var d appsv1.Deployment
	d.Namespace, d.Name = managerDeployment.Namespace, managerDeployment.Name
	text := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"manager","args":%s}]}}}}`, value)
	if err := suite.client.Patch(ctx, &d, client.RawPatch(types.StrategicMergePatchType, []byte(text))); err != nil {
		return err
	}
	return managersAreReady(ctx)
}

// wantFaults fails unless the managers that run now had faults of each of these kinds. It gives how often a fault made a
// loop begin anew.
func wantFaults(t *testing.T, kinds ...string) (anew int) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	counts := map[string]int{}
	for _, pod := range pods {
		log, err := managerLog(t.Context(), pod.Name)
		must(t, err)
		for line := range strings.Lines(log) {
			var entry struct{ Msg, Kind string }
			switch err := json.Unmarshal([]byte(line), &entry); {
			case err != nil:
			case entry.Msg == "a fault":
				counts[entry.Kind]++
			case strings.HasPrefix(entry.Msg, "the loop stopped"):
				anew++
			}
		}
	}
	for _, kind := range kinds {
		if counts[kind] == 0 {
			t.Errorf("no fault of kind %s happened: %v", kind, counts)
		}
	}
	t.Logf("faults: %v; loops that began anew: %d", counts, anew)
	return anew
}

// sandboxPod is the run's Pod as it is now.
func sandboxPod(t *testing.T, run *v1alpha1.MotorRun) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	must(t, suite.client.Get(t.Context(), sandboxOf(run), &pod))
	return &pod
}

// managerClient writes as the managers do.
func managerClient(t *testing.T) client.Client {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	cfg.QPS = -1
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + managerNamespace + ":" + managerDeployment.Name, Groups: []string{"system:authenticated"},
	}
	c, err := client.New(cfg, client.Options{Scheme: suite.client.Scheme()})
	must(t, err)
	return c
}

// pauseOf is the time of a fault in CI, and in the wild.
func pauseOf(short, wild time.Duration) time.Duration {
	if long() {
		return wild
	}
	return short
}
