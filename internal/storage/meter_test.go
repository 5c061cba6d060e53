// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func sized(namespace, name string, bytes int64) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{}
	s.Namespace, s.Name, s.Labels = namespace, name, map[string]string{v1alpha1.LabelRun: "of-" + name}
	Note(s, bytes)
	return s
}

// Whatever comes and goes, the meter has the sum of what is there.
func TestMeterHasTheSum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random, m, there := rand.New(rand.NewPCG(seed, 1)), &Meter{}, map[string]*v1alpha1.MotorStep{} //nolint:gosec // a test repeats its seeds
		for range 500 {
			ns, name := fmt.Sprintf("ns-%d", random.IntN(3)), fmt.Sprintf("s-%d", random.IntN(20))
			before, now := there[ns+name], sized(ns, name, random.Int64N(1000))
			switch {
			case before == nil:
				there[ns+name] = now
				m.OnAdd(now, false)
			case random.IntN(3) == 0:
				delete(there, ns+name)
				if random.IntN(2) == 0 {
					m.OnDelete(toolscache.DeletedFinalStateUnknown{Key: ns + "/" + name, Obj: before})
				} else {
					m.OnDelete(before)
				}
			default:
				there[ns+name] = now
				m.OnUpdate(before, now)
			}
		}
		want := map[string]int64{}
		for _, s := range there {
			want[s.Namespace] += Of(s)
		}
		for i := range 3 {
			if ns := fmt.Sprintf("ns-%d", i); m.Used(ns) != want[ns] {
				t.Fatalf("seed %d: %s keeps %d, want %d", seed, ns, m.Used(ns), want[ns])
			}
		}
		for i := range 20 {
			name := fmt.Sprintf("s-%d", i)
			if has := m.HasSteps("ns-0", "of-"+name); has != (there["ns-0"+name] != nil) {
				t.Fatalf("seed %d: %s has steps: %t", seed, name, has)
			}
		}
		for _, s := range there {
			m.OnDelete(s)
		}
		if left := m.Namespaces(); len(left) > 0 {
			t.Fatalf("seed %d: %q are remembered although they keep nothing", seed, left)
		}
	}
}

// informers are those of a cache. Each kind has one.
type informers struct {
	cache.Informers
	fails bool
	kinds []string
	added []toolscache.ResourceEventHandler
	has   bool
}

func (i *informers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i.kinds = append(i.kinds, fmt.Sprintf("%T", o))
	return informer{of: i}, nil
}

type informer struct {
	cache.Informer
	of *informers
}

func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if i.of.fails {
		return nil, errors.New("stopped")
	}
	i.of.added = append(i.of.added, h)
	return registration{of: i.of}, nil
}

type registration struct {
	toolscache.ResourceEventHandlerRegistration
	of *informers
}

func (r registration) HasSynced() bool { return r.of.has }

func TestMeterFollowsRunsAndSteps(t *testing.T) {
	t.Parallel()
	m, from := &Meter{}, &informers{}
	if m.HasSynced() {
		t.Error("a meter that follows nothing has counted everything")
	}
	if err := m.Watch(t.Context(), from); err != nil || len(from.added) != 2 || from.kinds[0] != "*v1alpha1.MotorRun" || from.kinds[1] != "*v1alpha1.MotorStep" {
		t.Errorf("it follows %q, %v", from.kinds, err)
	}
	if m.HasSynced() {
		t.Error("it has counted everything before the cache has it")
	}
	if from.has = true; !m.HasSynced() {
		t.Error("it has not counted everything")
	}
	if err := (&Meter{}).Watch(t.Context(), &informers{fails: true}); err == nil {
		t.Error("it follows a cache that has ended")
	}
}
