// SPDX-License-Identifier: Apache-2.0

// Package budget keeps what the runs of a namespace have in the cluster within its bound: a run that has not begun waits for room, archived runs make
// room before their time, and far above the bound runs under way wait too.
package budget

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/storage"
)

// Usage knows how many bytes the runs of a namespace keep in the cluster, and whether a run has steps there.
type Usage interface {
	Used(namespace string) int64
	HasSteps(namespace, run string) bool
}

// Budget compares the use of each namespace with its bound. A nil Budget has no bound.
type Budget struct {
	// Cache has the MotorCortexes and the runs.
	Cache client.Reader
	Usage Usage
	// Now is the time of the API server, by which runs end.
	Now func() time.Time

	mu sync.Mutex
	// early are the runs that make room, by their namespace. They are chosen now and then and not in the pass of each run, for which all runs of the
	// namespace would have to be listed.
	early map[string][]types.UID
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

// Early reports whether a finished run is deleted before its time, to make room. Runs has chosen it, and there is still too little room.
func (b *Budget) Early(ctx context.Context, run *v1alpha1.MotorRun) (bool, error) {
	if b == nil || run.Status.Archive == nil || !b.isChosen(run) {
		return false, nil
	}
	bound, err := b.bound(ctx, run.Namespace)
	return err == nil && storage.LevelOf(b.Usage.Used(run.Namespace), bound) >= storage.Low, err
}

func (b *Budget) isChosen(run *v1alpha1.MotorRun) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.early[run.Namespace], run.UID)
}

// choose chooses the runs that make room, among all runs of a namespace.
func (b *Budget) choose(ctx context.Context, namespace string, runs []v1alpha1.MotorRun) ([]*v1alpha1.MotorRun, error) {
	bound, err := b.bound(ctx, namespace)
	if err != nil {
		return nil, err
	}
	hasSteps := func(run string) bool { return b.Usage.HasSteps(namespace, run) }
	early := storage.Early(runs, hasSteps, b.Usage.Used(namespace), bound, b.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early == nil {
		b.early = map[string][]types.UID{}
	}
	delete(b.early, namespace)
	for _, run := range early {
		b.early[namespace] = append(b.early[namespace], run.UID)
	}
	return early, nil
}
