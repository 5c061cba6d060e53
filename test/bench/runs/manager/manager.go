// SPDX-License-Identifier: Apache-2.0

// Package manager reaches the managers of an installed operator: the requests that they made, their memory, and their end.
package manager

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Namespace is where the managers are.
const Namespace = "motorcortex-system"

// pause is the time between two looks at what is waited for.
const pause = 100 * time.Millisecond

// Managers are all replicas of the manager. Each method asks the cluster anew. They are for one goroutine.
type Managers struct {
	Client client.Client
	// Kubectl is the program that forwards ports and starts processes in Pods.
	Kubectl string
	// Account is the namespace of the ServiceAccount Reader, which may read the metrics.
	Account string

	// token is that of Reader, and tokenAt when it was given.
	token   string
	tokenAt time.Time
}

// Pods returns the Pods of the managers that do not end.
func (m *Managers) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := m.Client.List(ctx, &list, client.InNamespace(Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "motorcortex", "app.kubernetes.io/component": "manager"})
	if err != nil {
		return nil, fmt.Errorf("list the managers: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// PodOf returns the Pod of the manager that has the id of a worker, such as status.execution.worker of a run.
func (m *Managers) PodOf(ctx context.Context, worker string) (*corev1.Pod, error) {
	pods, err := m.Pods(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if isOf(worker, pods[i].Name) {
			return &pods[i], nil
		}
	}
	return nil, fmt.Errorf("no manager is the worker %q", worker)
}

// isOf reports whether the id of a worker is that of the manager in a Pod.
func isOf(worker, pod string) bool { return strings.HasPrefix(worker, pod+"-") }

// Lease returns how long the Lease of a worker counts without being renewed, and how many loops all workers have together.
func (m *Managers) Lease(ctx context.Context) (duration time.Duration, loops int, err error) {
	leases, err := m.leases(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := range leases {
		l := &leases[i]
		if s := l.Spec.LeaseDurationSeconds; s != nil {
			duration = max(duration, time.Duration(*s)*time.Second)
		}
		slots, err := strconv.Atoi(l.Annotations[v1alpha1.AnnotationSlots])
		if err != nil {
			return 0, 0, fmt.Errorf("the Lease %s does not say how many loops its manager has: %w", l.Name, err)
		}
		loops += slots
	}
	if duration == 0 {
		return 0, 0, fmt.Errorf("none of %d Leases of managers says how long it counts", len(leases))
	}
	return duration, loops, nil
}

func (m *Managers) leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	err := m.Client.List(ctx, &list, client.InNamespace(Namespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentWorker})
	if err != nil {
		return nil, fmt.Errorf("list the Leases of the managers: %w", err)
	}
	return list.Items, nil
}

// AwaitReady waits until so many managers are ready and the Leases of workers are theirs: a run that is given to a dead one stands still
// until its Lease is over.
func (m *Managers) AwaitReady(ctx context.Context, replicas int) error {
	for {
		pods, err := m.Pods(ctx)
		if err != nil {
			return err
		}
		leases, err := m.leases(ctx)
		if err != nil {
			return err
		}
		if ready(pods) == replicas && len(pods) == replicas && heldBy(leases, pods, time.Now()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d managers are ready: %w", ready(pods), replicas, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func ready(pods []corev1.Pod) (count int) {
	for i := range pods {
		if slices.ContainsFunc(pods[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			count++
		}
	}
	return count
}

// heldBy reports whether each Pod, and none but them, holds a Lease that was renewed in time.
func heldBy(leases []coordinationv1.Lease, pods []corev1.Pod, now time.Time) bool {
	if len(leases) != len(pods) {
		return false
	}
	for i := range leases {
		s := &leases[i].Spec
		if s.HolderIdentity == nil || s.RenewTime == nil || s.LeaseDurationSeconds == nil ||
			now.Sub(s.RenewTime.Time) > time.Duration(*s.LeaseDurationSeconds)*time.Second ||
			!slices.ContainsFunc(pods, func(p corev1.Pod) bool { return isOf(*s.HolderIdentity, p.Name) }) {
			return false
		}
	}
	return true
}
