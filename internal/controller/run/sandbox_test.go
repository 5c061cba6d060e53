// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// fakePools have one Pod, or none, or fail.
type fakePools struct {
	pod   *corev1.Pod
	err   error
	asked []pool.Wanted
}

func (p *fakePools) Take(_ context.Context, w pool.Wanted) (*corev1.Pod, error) {
	p.asked = append(p.asked, w)
	return p.pod, p.err
}

// observer notes what it was told last.
type observer string

func (o *observer) PoolAdopted(namespace, pool string) {
	*o = observer("adopted " + namespace + "/" + pool)
}
func (o *observer) PoolMissed(namespace, pool string) {
	*o = observer("missed " + namespace + "/" + pool)
}
func (o *observer) RunEnded(reason string, succeeded bool, took time.Duration) {
	*o = observer(fmt.Sprintf("ended %s %t %s", reason, succeeded, took))
}

// A run takes a sandbox from the pools that its namespace names, and gets a new one if they have none.
func TestASandboxIsTakenOrMade(t *testing.T) {
	t.Parallel()
	taken := pooledPod(podRun(1), 1, "pool-x-motor-sandbox")
	away := errors.New("away")
	for name, tt := range map[string]struct {
		pools Pools
		named []string
		// pod is the run's afterwards, and made is true if a new one was made.
		pod  string
		made bool
		err  error
		// told is what the observer is told.
		told string
		// wayOut is true for a run with domains.
		wayOut bool
	}{
		"taken, with a way out":    {&fakePools{pod: taken}, []string{"a"}, taken.Name, false, nil, "adopted ns/pool", true},
		"taken":                    {&fakePools{pod: taken}, []string{"a", "b"}, taken.Name, false, nil, "adopted ns/pool", false},
		"the pools have none":      {&fakePools{}, []string{"a", "b"}, "run-motor-sandbox", true, nil, "missed ns/a", false},
		"no pool is named":         {&fakePools{pod: taken}, nil, "run-motor-sandbox", true, nil, "", false},
		"a manager without pools":  {nil, []string{"a"}, "run-motor-sandbox", true, nil, "", false},
		"it may have been taken":   {&fakePools{err: away}, []string{"a"}, "", false, away, "", false},
		"taken, and with an error": {&fakePools{pod: taken, err: away}, []string{"a"}, "", false, away, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := retentionScheme(t)
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			run := podRun(1)
			if tt.wayOut {
				run.Spec.Domains = []v1alpha1.Domain{"example.org"}
			}
			baseline := sandbox.BaselineNetworkPolicy(run.Namespace, sandbox.Config{})
			baseline.UID, baseline.Generation = "policy", 3
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(baseline).Build()
			var told observer
			r := &Reconciler{Client: c, Live: c, Pools: tt.pools, Config: Config{WithoutNodes: true}, Observer: &told}
			s := pass.NewRun(run, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
			s.Pools = tt.named
			if goOn, err := r.policies().Baseline(t.Context(), s); !goOn || err != nil {
				t.Fatalf("the namespace is not closed: %v", err)
			}
			if err := r.createPod(t.Context(), s); !errors.Is(err, tt.err) {
				t.Fatal(err)
			}
			if string(told) != tt.told {
				t.Errorf("the observer is told %q, want %q", told, tt.told)
			}
			got := ""
			if s.Pod != nil {
				got = s.Pod.Name
			}
			if got != tt.pod || (s.PodState != nil) != (tt.pod != "") {
				t.Errorf("the run has %q, want %q", got, tt.pod)
			}
			var pods corev1.PodList
			if err := c.List(t.Context(), &pods); err != nil || (len(pods.Items) == 1) != tt.made {
				t.Errorf("%d Pods were made, %v", len(pods.Items), err)
			}
			p, _ := tt.pools.(*fakePools)
			if p == nil || tt.named == nil {
				if p != nil && len(p.asked) > 0 {
					t.Error("pools were asked that are not named")
				}
				return
			}
			// The pool offers what it has proved under the policy that the pass of the run has seen.
			if w := p.asked[0]; len(p.asked) != 1 || w.Run != run || !slices.Equal(w.Pools, tt.named) || w.Baseline != identityOf(t, c) || w.Pod.Name != "run-motor-sandbox" || w.WayOut != tt.wayOut {
				t.Errorf("asked for %+v", p.asked)
			}
		})
	}
}

// identityOf returns the identity of the namespace's closing policy, as a pool knows it.
func identityOf(t *testing.T, c client.Client) string {
	t.Helper()
	closed, _, err := (&Reconciler{Client: c, Live: c}).policies().CloseNamespace(t.Context(), "ns", false)
	if err != nil || closed == "" {
		t.Fatalf("closed %q, %v", closed, err)
	}
	return closed
}
