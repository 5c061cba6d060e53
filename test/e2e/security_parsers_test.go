// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// worstFor is how long the tenant goes on, at least.
const worstFor = 2 * time.Minute

// A tenant with nothing but edit does its worst to whoever reads its objects, over and over. The runs of another one go on meanwhile, one
// after another, and no manager ends.
func TestSecurityParsersHold(t *testing.T) {
	t.Parallel()
	ns, other := newNamespace(t, "parsers"), modelNamespace(t, "beside")
	before, memory := restartsOfManagers(t), watchMemory(t)
	worst := newTenant(t, ns)
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- worst.until(t.Context(), began.Add(worstFor)) }()
	completed := 0
	for during := true; during || completed < 3; {
		run := startRun(t, "answer", inNamespace(other))
		wantCompleted(t, run, 2*soon)
		completed++
		select {
		case err := <-ended:
			must(t, err)
			during = false
		default:
		}
	}
	t.Logf("in %s the tenant wrote %s; beside it %d runs were completed", time.Since(began).Round(time.Second), worst, completed)
	for _, name := range worst.skills {
		awaitSkill(t, ns, name, 4*soon, "reviewed", func(s *v1alpha1.Skill) bool { return s.Status.State == v1alpha1.SkillAwaitingApproval })
	}
	must(t, suite.client.DeleteAllOf(t.Context(), &v1alpha1.MotorRun{}, client.InNamespace(ns)))
	for name, n := range restartsOfManagers(t) {
		if was, there := before[name]; there && n != was {
			t.Errorf("the manager %s was started %d times more", name, n-was)
		}
	}
	const most = 256 << 20
	for name, bytes := range memory() {
		t.Logf("the manager %s had %d MiB at most", name, bytes>>20)
		if bytes >= most {
			t.Errorf("the manager %s had %d bytes, and may have less than %d", name, bytes, most)
		}
	}
}

// watchMemory notes the working set of each manager, as its node's kubelet measures it, until the function that it gives is called. That
// gives the most of each.
func watchMemory(t *testing.T) (most func() map[string]uint64) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	nodes := map[string]bool{}
	for i := range pods {
		nodes[pods[i].Spec.NodeName] = true
	}
	ctx, stop := context.WithCancel(t.Context())
	peaks, ended := map[string]uint64{}, make(chan error, 1)
	go func() {
		// A kubelet measures every ten seconds or so: more often tells no more.
		ended <- wait.PollUntilContextCancel(ctx, 3*time.Second, true, func(ctx context.Context) (bool, error) {
			for node := range nodes {
				if err := noteMemory(ctx, node, peaks); err != nil && ctx.Err() == nil {
					return false, err
				}
			}
			return false, nil
		})
	}()
	t.Cleanup(stop)
	return func() map[string]uint64 {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("read the memory of the managers: %v", err)
		}
		if len(peaks) == 0 {
			t.Error("no kubelet tells how much memory a manager has")
		}
		return peaks
	}
}

// noteMemory keeps the larger one of what is known and what the managers on a node have now.
func noteMemory(ctx context.Context, node string, peaks map[string]uint64) error {
	raw, err := suite.clientset.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
	if err != nil {
		return err
	}
	var summary struct {
		Pods []struct {
			PodRef     struct{ Name, Namespace string }
			Containers []struct {
				Memory struct{ WorkingSetBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal(raw, &summary); err != nil {
		return err
	}
	for _, p := range summary.Pods {
		if p.PodRef.Namespace != managerNamespace || !strings.HasPrefix(p.PodRef.Name, "motorcortex-manager-") {
			continue
		}
		for _, c := range p.Containers {
			peaks[p.PodRef.Name] = max(peaks[p.PodRef.Name], c.Memory.WorkingSetBytes)
		}
	}
	return nil
}

// restartsOfManagers is how often each manager was started again.
func restartsOfManagers(t *testing.T) map[string]int32 {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	list := map[string]int32{}
	for i := range pods {
		list[pods[i].Name] = restarts(&pods[i])
	}
	return list
}
