// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// RunCache is the memory of this process about each run that is not over, between two passes. All of it can be found out again. One pass of a run
// at a time uses the memory of that run.
type RunCache[T any] struct {
	mu    sync.Mutex
	byRun map[types.UID]*remembered[T]
}

type remembered[T any] struct {
	key  types.NamespacedName
	what T
}

// Of returns the memory of a run, the zero value at first.
func (c *RunCache[T]) Of(run *v1alpha1.MotorRun) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.byRun[run.UID]
	if m == nil {
		m = &remembered[T]{key: types.NamespacedName{Namespace: run.Namespace, Name: run.Name}}
		if c.byRun == nil {
			c.byRun = map[types.UID]*remembered[T]{}
		}
		c.byRun[run.UID] = m
	}
	return &m.what
}

// Forget forgets a run.
func (c *RunCache[T]) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byRun, uid)
}

// ForgetGone forgets the runs of that name, when there is no run of that name any more.
func (c *RunCache[T]) ForgetGone(key types.NamespacedName) {
	for uid := range c.Gone(key) {
		c.Forget(uid)
	}
}

// Gone returns the memory of the runs of that name, when no run of that name exists any more.
func (c *RunCache[T]) Gone(key types.NamespacedName) map[types.UID]*T {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[types.UID]*T{}
	for uid, m := range c.byRun {
		if m.key == key {
			list[uid] = &m.what
		}
	}
	return list
}
