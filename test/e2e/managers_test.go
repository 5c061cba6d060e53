// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	managerNamespace = "motorcortex-system"
	managerSelector  = "app.kubernetes.io/name=motorcortex,app.kubernetes.io/component=manager"
)

var (
	managerDeployment = types.NamespacedName{Namespace: managerNamespace, Name: "motorcortex-manager"}
	leaderLease       = types.NamespacedName{Namespace: managerNamespace, Name: "manager.motorcortex.dev"}
	managerLabels     = client.MatchingLabels{"app.kubernetes.io/name": "motorcortex", "app.kubernetes.io/component": "manager"}
	workerLabels      = client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}
)

func managerPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := suite.client.List(ctx, &list, client.InNamespace(managerNamespace), managerLabels)
	return list.Items, err
}

// leader returns the Pod that leads the managers, or nil if it is gone.
func leader(ctx context.Context) (*corev1.Pod, error) {
	var lease coordinationv1.Lease
	if err := suite.client.Get(ctx, leaderLease, &lease); err != nil || lease.Spec.HolderIdentity == nil {
		return nil, client.IgnoreNotFound(err)
	}
	// The identity is the Pod's name, an underscore and a UUID.
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if name == "" {
		return nil, nil
	}
	var pod corev1.Pod
	found, err := exists(ctx, types.NamespacedName{Namespace: managerNamespace, Name: name}, &pod)
	if err != nil || !found || pod.DeletionTimestamp != nil {
		return nil, err
	}
	return &pod, nil
}

// managersAreReady waits until all replicas run, one of them leads, and the Leases of workers are theirs: a run that is
// given to a dead one stands still until its Lease is over.
func managersAreReady(ctx context.Context) error {
	if err := deploymentIsAvailable(ctx, managerDeployment); err != nil {
		return fmt.Errorf("deployment %s: %w", managerDeployment.Name, err)
	}
	err := await(ctx, soon, &coordinationv1.LeaseList{}, one(leaderLease), func(ctx context.Context) (bool, error) {
		pod, err := leader(ctx)
		return pod != nil, err
	})
	if err != nil {
		return fmt.Errorf("no manager leads: %w", err)
	}
	workers := []client.ListOption{client.InNamespace(managerNamespace), workerLabels}
	if err := await(ctx, soon, &coordinationv1.LeaseList{}, workers, workersAreManagers); err != nil {
		return fmt.Errorf("the Leases of workers are not those of the managers: %w", err)
	}
	return nil
}

func workersAreManagers(ctx context.Context) (bool, error) {
	var leases coordinationv1.LeaseList
	if err := suite.client.List(ctx, &leases, client.InNamespace(managerNamespace), workerLabels); err != nil {
		return false, err
	}
	pods, err := managerPods(ctx)
	if err != nil || len(leases.Items) != len(pods) {
		return false, err
	}
	for i := range leases.Items {
		holder := leases.Items[i].Spec.HolderIdentity
		if holder == nil || !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return strings.HasPrefix(*holder, p.Name+"-") }) {
			return false, nil
		}
	}
	return true, nil
}

func rememberManagers(ctx context.Context) error {
	var d appsv1.Deployment
	if err := suite.client.Get(ctx, managerDeployment, &d); err != nil {
		return err
	}
	suite.replicas, suite.template = *d.Spec.Replicas, d.Spec.Template
	pods, err := managerPods(ctx)
	if err != nil {
		return err
	}
	suite.managers = map[string]int32{}
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			suite.managers[pods[i].Name] = restarts(&pods[i])
		}
	}
	return nil
}

func scaleManagers(ctx context.Context, replicas int32) error {
	var d appsv1.Deployment
	d.Namespace, d.Name = managerDeployment.Namespace, managerDeployment.Name
	text := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	return suite.client.Patch(ctx, &d, client.RawPatch(types.MergePatchType, []byte(text)))
}

// restoreManagers restores the arguments and the environment that the managers had at the beginning.
func restoreManagers(ctx context.Context) error {
	if len(suite.template.Spec.Containers) == 0 {
		return nil // They were never looked at.
	}
	var d appsv1.Deployment
	if err := suite.client.Get(ctx, managerDeployment, &d); err != nil || equality.Semantic.DeepEqual(d.Spec.Template, suite.template) {
		return err
	}
	template, err := json.Marshal(suite.template)
	if err != nil {
		return err
	}
	return suite.client.Patch(ctx, &d, client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":"/spec/template","value":%s}]`, template)))
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

// keepLog keeps the log of a manager that a test is about to remove, for the end.
func keepLog(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	log, err := managerLog(t.Context(), pod.Name)
	must(t, err)
	suite.mu.Lock()
	defer suite.mu.Unlock()
	suite.logs[pod.Name] += log
	delete(suite.managers, pod.Name)
}

// deleteManager deletes a manager's Pod.
func deleteManager(t *testing.T, pod *corev1.Pod, how ...client.DeleteOption) {
	t.Helper()
	keepLog(t, pod)
	must(t, suite.client.Delete(t.Context(), pod, how...))
}

// removeAllManagers takes all managers away and waits until they are gone. The function that it gives brings managers
// back; the end of the test does so too.
func removeAllManagers(t *testing.T) (bringBack func()) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*soon)
		defer cancel()
		if err := errors.Join(scaleManagers(ctx, suite.replicas), managersAreReady(ctx)); err != nil {
			t.Errorf("bring the managers back: %v", err)
		}
	})
	pods, err := managerPods(t.Context())
	must(t, err)
	for i := range pods {
		keepLog(t, &pods[i])
	}
	must(t, scaleManagers(t.Context(), 0))
	of := []client.ListOption{client.InNamespace(managerNamespace), managerLabels}
	must(t, await(t.Context(), soon, &corev1.PodList{}, of, func(ctx context.Context) (bool, error) {
		pods, err := managerPods(ctx)
		return len(pods) == 0, err
	}))
	return func() { must(t, scaleManagers(t.Context(), suite.replicas)) }
}

// killManager ends the process of a manager so that it can do nothing more, which no request to the API server does.
func killManager(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	keepLog(t, pod)
	signalPod(t, pod, "KILL")
	suite.mu.Lock()
	defer suite.mu.Unlock()
	suite.managers[pod.Name] = restarts(pod) + 1
}

// isOn reports whether the manager in that Pod carries the run on. A worker is a process; it is named after its Pod.
func isOn(run *v1alpha1.MotorRun, pod *corev1.Pod) bool {
	return strings.HasPrefix(run.Status.Execution.Worker, pod.Name+"-")
}

// otherManager returns a Pod of the managers that does not lead them.
func otherManager(ctx context.Context) (*corev1.Pod, error) {
	first, err := leader(ctx)
	if err != nil {
		return nil, err
	}
	if first == nil {
		return nil, errors.New("nobody leads the managers")
	}
	pods, err := managerPods(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if pods[i].Name != first.Name && pods[i].DeletionTimestamp == nil {
			return &pods[i], nil
		}
	}
	return nil, fmt.Errorf("%s is the only manager", first.Name)
}

func managerLog(ctx context.Context, pod string) (string, error) {
	return containerLog(ctx, pod, &corev1.PodLogOptions{})
}

func containerLog(ctx context.Context, pod string, o *corev1.PodLogOptions) (string, error) {
	raw, err := suite.clientset.CoreV1().Pods(managerNamespace).GetLogs(pod, o).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", pod, err)
	}
	return string(raw), nil
}

func noManagerRestarted(ctx context.Context) error {
	if err := managersAreReady(ctx); err != nil || managersMayRestart {
		return err
	}
	pods, err := managerPods(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	there := map[string]bool{}
	for i := range pods {
		p := &pods[i]
		there[p.Name] = true
		if n := restarts(p); n != suite.managers[p.Name] {
			wrong = append(wrong, fmt.Errorf("manager %s restarted %d times: %v", p.Name, n-suite.managers[p.Name], p.Status.ContainerStatuses))
		}
	}
	for name := range suite.managers {
		if !there[name] {
			wrong = append(wrong, fmt.Errorf("manager %s is gone, and no test deleted it", name))
		}
	}
	return errors.Join(wrong...)
}

var panicked = regexp.MustCompile(`(?i)panic|runtime error|DATA RACE|fatal error`)

func noManagerPanickedOrLoggedASecret(ctx context.Context) error {
	pods, err := managerPods(ctx)
	if err != nil {
		return err
	}
	for _, p := range pods {
		log, err := managerLog(ctx, p.Name)
		if err != nil {
			return err
		}
		suite.logs[p.Name] += log
		if restarts(&p) == 0 {
			continue
		}
		if log, err = containerLog(ctx, p.Name, &corev1.PodLogOptions{Previous: true}); err != nil {
			return err
		}
		suite.logs[p.Name] += log
	}
	var wrong []error
	for name, log := range suite.logs {
		var failures []string
		for line := range strings.Lines(log) {
			switch {
			case panicked.MatchString(line):
				wrong = append(wrong, fmt.Errorf("manager %s: %s", name, line))
			case strings.Contains(line, suite.key), strings.Contains(line, suite.wrongKey):
				wrong = append(wrong, fmt.Errorf("manager %s logged an API key: %s", name, line))
			case strings.Contains(line, `"level":"ERROR"`):
				failures = append(failures, line)
			}
		}
		// Not a failure: a conflict of two managers over the Lease is an error to one of them. But somebody should look.
		fmt.Printf("    manager %s: %d bytes of log, %d lines of level ERROR\n    %s\n", name, len(log), len(failures), strings.Join(failures, "    "))
	}
	return errors.Join(wrong...)
}
