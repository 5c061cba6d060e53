// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Managers are ended in any way at any time, while runs come and go.
func TestFaultManagersAreKilledAtRandom(t *testing.T) {
	needNodeShell(t)
	freshManagers(t)
	const atATime = 6
	c := newCheck(t, "effects")
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	// The killer goes on for as long as there are runs, and at least for that time.
	atLeast := time.Now().Add(pauseOf(time.Minute, 10*time.Minute))
	kills := map[string]int{}
	next := time.Now().Add(4 * time.Second)
	total := faultRuns(t)
	var open []*v1alpha1.MotorRun
	for len(c.runs) < total || len(open) > 0 || time.Now().Before(atLeast) {
		for len(open) < atATime && (len(c.runs) < total || time.Now().Before(atLeast)) {
			open = append(open, c.start("0.4", func(r *v1alpha1.MotorRun) { r.Spec.Limits.ActiveDeadlineSeconds = 1200 }))
		}
		ctx, cancel := context.WithDeadline(t.Context(), next)
		open = unfinished(ctx, t, open)
		cancel()
		must(t, t.Context().Err())
		if time.Now().Before(next) || len(open) == 0 {
			continue
		}
		kills[killSomeManager(t, random)]++
		// Sometimes the next one comes before the last has recovered.
		next = time.Now().Add(2*time.Second + rand.N(10*time.Second))
	}
	var epochs int64
	for _, run := range c.runs {
		epochs += wantCompleted(t, run, takeoverWithin).Status.Execution.Epoch
	}
	t.Logf("%d runs, managers ended: %v, runs moved: %d", len(c.runs), kills, epochs-int64(len(c.runs)))
	c.wantInvariants(t)
}

// unfinished waits until one of the runs has ended, or the context has, and gives those that have not.
func unfinished(ctx context.Context, t *testing.T, runs []*v1alpha1.MotorRun) []*v1alpha1.MotorRun {
	t.Helper()
	var left []*v1alpha1.MotorRun
	of := []client.ListOption{client.InNamespace(runs[0].Namespace)}
	err := await(ctx, time.Hour, &v1alpha1.MotorRunList{}, of, func(ctx context.Context) (bool, error) {
		var list v1alpha1.MotorRunList
		if err := suite.client.List(ctx, &list, of...); err != nil {
			return false, err
		}
		ended := map[string]bool{}
		for i := range list.Items {
			ended[string(list.Items[i].UID)] = isTrue(&list.Items[i], v1alpha1.ConditionFinished)
		}
		left = nil
		for _, run := range runs {
			if !ended[string(run.UID)] {
				left = append(left, run)
			}
		}
		return len(left) < len(runs), nil
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if left == nil && err != nil {
		return runs
	}
	return left
}

// killSomeManager ends one of the managers, and says how. One that was killed more often is replaced, because its node
// would take ever longer to start it again.
func killSomeManager(t *testing.T, random *rand.Rand) string {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	var alive []*corev1.Pod
	for i := range pods {
		if p := &pods[i]; p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Running != nil {
			alive = append(alive, p)
		} else if p.DeletionTimestamp == nil && restarts(p) > 0 {
			must(t, client.IgnoreNotFound(suite.client.Delete(t.Context(), p, client.GracePeriodSeconds(0))))
		}
	}
	if len(alive) == 0 {
		return "none was alive"
	}
	victim := alive[random.IntN(len(alive))]
	keepLog(t, victim)
	switch way := random.IntN(3); {
	case way == 0:
		must(t, client.IgnoreNotFound(suite.client.Delete(t.Context(), victim)))
		return "deleted"
	case way == 1 || restarts(victim) > 0:
		must(t, client.IgnoreNotFound(suite.client.Delete(t.Context(), victim, client.GracePeriodSeconds(0))))
		return "deleted at once"
	}
	signalPod(t, victim, "KILL")
	return "killed"
}
