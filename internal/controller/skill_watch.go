// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// skillOfRun maps a run to the skill that it used.
func skillOfRun(_ context.Context, o client.Object) []reconcile.Request {
	run, ok := o.(*v1alpha1.MotorRun)
	if !ok || run.Status.Skill == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: run.Namespace, Name: run.Status.Skill.Name}}}
}

// skillsOfConfigMap maps a ConfigMap to the skills that it has files of: of their sources, or of their revisions.
func (r *SkillReconciler) skillsOfConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	return r.skillsThat(ctx, o.GetNamespace(), func(sk *v1alpha1.Skill) bool {
		return o.GetLabels()[v1alpha1.LabelSkill] == v1alpha1.SkillLabel(sk.Name) ||
			sk.Spec.Source != nil && slices.ContainsFunc(sk.Spec.Source.ConfigMaps, func(c v1alpha1.SkillConfigMap) bool { return c.Name == o.GetName() })
	})
}

// skillsWithPackages maps a MotorCortex to the skills that depend on where packages are installed from.
func (r *SkillReconciler) skillsWithPackages(ctx context.Context, o client.Object) []reconcile.Request {
	return r.skillsThat(ctx, o.GetNamespace(), func(sk *v1alpha1.Skill) bool { return sk.Spec.Policy.Dependencies != nil })
}

func (r *SkillReconciler) skillsThat(ctx context.Context, namespace string, concern func(*v1alpha1.Skill) bool) []reconcile.Request {
	var skills v1alpha1.SkillList
	if err := r.List(ctx, &skills, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the skills that a change concerns")
		return nil
	}
	var requests []reconcile.Request
	for i := range skills.Items {
		if concern(&skills.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&skills.Items[i])})
		}
	}
	return requests
}

// skillMemory is what this process remembers of a skill between two passes. All of it can be found out again. One pass of a
// skill at a time has it.
type skillMemory struct {
	uid types.UID
	// read is what the source was when it was read last: see sourceVersion.
	read string
	// failures is how many times in a row the source could not be read.
	failures int
	// told are the revisions that were told of because they cannot be used.
	told map[types.UID]bool
	// begun are the revisions whose review this process has begun.
	begun map[types.UID]bool
}

// skillMemories are those of all skills.
type skillMemories struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*skillMemory
}

// of gives the memory of a skill, an empty one if there is none, or one of another skill of that name.
func (l *skillMemories) of(sk *v1alpha1.Skill) *skillMemory {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := client.ObjectKeyFromObject(sk)
	m := l.byKey[key]
	if m == nil || m.uid != sk.UID {
		m = &skillMemory{uid: sk.UID, told: map[types.UID]bool{}, begun: map[types.UID]bool{}}
		if l.byKey == nil {
			l.byKey = map[types.NamespacedName]*skillMemory{}
		}
		l.byKey[key] = m
	}
	return m
}

func (l *skillMemories) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byKey, key)
}
