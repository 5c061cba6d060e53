// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"slices"

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

// skillOfRevision maps a revision to its skill, also to one that is gone: the garbage collector takes away the reference to it.
func skillOfRevision(_ context.Context, o client.Object) []reconcile.Request {
	rev, ok := o.(*v1alpha1.SkillRevision)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: rev.Namespace, Name: rev.Spec.SkillName}}}
}

// skillsOfConfigMap maps a ConfigMap to the skills that it has files of: of their sources, or of their revisions.
func (r *Reconciler) skillsOfConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	return r.skillsThat(ctx, o.GetNamespace(), func(sk *v1alpha1.Skill) bool {
		return o.GetLabels()[v1alpha1.LabelSkill] == v1alpha1.SkillLabel(sk.Name) ||
			sk.Spec.Source != nil && slices.ContainsFunc(sk.Spec.Source.ConfigMaps, func(c v1alpha1.SkillConfigMap) bool { return c.Name == o.GetName() })
	})
}

// skillsWithPackages maps a MotorCortex to the skills that depend on where packages are installed from.
func (r *Reconciler) skillsWithPackages(ctx context.Context, o client.Object) []reconcile.Request {
	return r.skillsThat(ctx, o.GetNamespace(), func(sk *v1alpha1.Skill) bool { return sk.Spec.Policy.Dependencies != nil })
}

func (r *Reconciler) skillsThat(ctx context.Context, namespace string, concern func(*v1alpha1.Skill) bool) []reconcile.Request {
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
