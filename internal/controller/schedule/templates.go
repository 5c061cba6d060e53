// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// usedTemplates is which schedules name which template. The cache has no spec of schedules, by which it could be looked up. Each schedule has a pass when
// the manager begins to lead and whenever its spec changes, so the passes know all of them.
type usedTemplates struct {
	mu sync.Mutex
	// of is the template of a schedule, users the schedules of a template.
	of    map[types.NamespacedName]types.NamespacedName
	users map[types.NamespacedName]map[types.NamespacedName]bool
}

// note keeps which template a schedule names, none for a nil reference. It comes before the template is read: a change after that is not missed.
func (u *usedTemplates) note(schedule types.NamespacedName, ref *v1alpha1.RunTemplateRef) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of, u.users = map[types.NamespacedName]types.NamespacedName{}, map[types.NamespacedName]map[types.NamespacedName]bool{}
	}
	if before, known := u.of[schedule]; known {
		delete(u.of, schedule)
		delete(u.users[before], schedule)
		if len(u.users[before]) == 0 {
			delete(u.users, before)
		}
	}
	if ref == nil {
		return
	}
	template := types.NamespacedName{Namespace: schedule.Namespace, Name: ref.Name}
	if u.users[template] == nil {
		u.users[template] = map[types.NamespacedName]bool{}
	}
	u.of[schedule], u.users[template][schedule] = template, true
}

// schedulesOf requests a pass over each schedule that names a template.
func (u *usedTemplates) schedulesOf(_ context.Context, template client.Object) []reconcile.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	var requests []reconcile.Request
	for schedule := range u.users[client.ObjectKeyFromObject(template)] {
		requests = append(requests, reconcile.Request{NamespacedName: schedule})
	}
	return requests
}
