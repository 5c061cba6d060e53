// SPDX-License-Identifier: Apache-2.0

// Package budget keeps what the runs of a namespace have in the cluster within its bound: a run that has not begun waits for room, archived runs make
// room before their time, and far above the bound runs under way wait too.
package budget

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/storage"
)

// Usage knows how many bytes the runs of a namespace keep in the cluster.
type Usage interface {
	Used(namespace string) int64
}

// Budget compares the use of each namespace with its bound. A nil Budget has no bound.
type Budget struct {
	// Cache has the MotorCortexes and the runs.
	Cache client.Reader
	Usage Usage
}

// sayHow says what makes room.
const sayHow = "Delete finished runs, lower their retention, set up the archive (--archive-bucket of the manager), or raise maxStorage if etcd has room."

// bound returns the bound of a namespace.
func (b *Budget) bound(ctx context.Context, namespace string) (int64, error) {
	c, err := cortex.Get(ctx, b.Cache, namespace)
	if err != nil {
		return 0, err
	}
	return storage.Bound(c.Spec.Retention), nil
}

// Admit is the step of a run that waits for room. A run that has begun has passed it.
func (b *Budget) Admit(ctx context.Context, s *pass.Run) (bool, error) {
	if b == nil || pass.IsAccepted(s.Run) {
		return true, nil
	}
	bound, err := b.bound(ctx, s.Run.Namespace)
	if err != nil {
		return false, err
	}
	if storage.LevelOf(b.Usage.Used(s.Run.Namespace), bound) < storage.Full {
		return true, nil
	}
	most := storage.Quantity(bound)
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonStorageFull, fmt.Sprintf("The runs of the namespace keep the %s in the cluster that they may "+
		"(spec.retention.maxStorage of the MotorCortex). This one waits for room. %s", most.String(), sayHow), false)
	// Watch wakes the run when there is room. This is for a run that was refused while another took the last of it.
	s.Wake(s.Now.Add(s.Pause()))
	return false, nil
}

// Held returns why no run of the namespace may ask its model for another step, "" if runs may. It is for runs that have begun: each has its bound,
// but many together can fill etcd.
func (b *Budget) Held(ctx context.Context, namespace string) (string, error) {
	if b == nil {
		return "", nil
	}
	bound, err := b.bound(ctx, namespace)
	if err != nil {
		return "", err
	}
	if storage.LevelOf(b.Usage.Used(namespace), bound) < storage.Over {
		return "", nil
	}
	most := storage.Quantity(bound)
	return fmt.Sprintf("The model is not asked, because the runs of the namespace keep a quarter more in the cluster than the %s that they may "+
		"(spec.retention.maxStorage of the MotorCortex). %s", most.String(), sayHow), nil
}

// Early reports whether a finished run is deleted before its time, to make room.
func (b *Budget) Early(ctx context.Context, run *v1alpha1.MotorRun) (bool, error) {
	if b == nil || run.Status.Archive == nil {
		return false, nil
	}
	early, err := b.early(ctx, run.Namespace)
	if err != nil {
		return false, err
	}
	for _, r := range early {
		if r.UID == run.UID {
			return true, nil
		}
	}
	return false, nil
}

func (b *Budget) early(ctx context.Context, namespace string) ([]*v1alpha1.MotorRun, error) {
	bound, err := b.bound(ctx, namespace)
	if err != nil {
		return nil, err
	}
	used := b.Usage.Used(namespace)
	if storage.LevelOf(used, bound) < storage.Low {
		return nil, nil
	}
	runs, err := pass.RunsOf(ctx, b.Cache, namespace)
	if err != nil {
		return nil, err
	}
	var steps v1alpha1.MotorStepList
	if err := b.Cache.List(ctx, &steps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list steps: %w", err)
	}
	withSteps := map[string]bool{}
	for i := range steps.Items {
		withSteps[steps.Items[i].Labels[v1alpha1.LabelRun]] = true
	}
	return storage.Early(runs, withSteps, used, bound), nil
}
