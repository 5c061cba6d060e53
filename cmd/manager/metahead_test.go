// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
)

// fatMeta has in each field that one may write as much as a request can bring.
func fatMeta() metav1.ObjectMeta {
	fat := strings.Repeat("A", 1_400_000)
	m := metav1.ObjectMeta{
		Name: "fat", Namespace: "tenant", UID: "7", ResourceVersion: "9", GenerateName: fat,
		CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0)), Finalizers: []string{fat}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: fat}},
		Labels: map[string]string{v1alpha1.LabelSkill: fat, v1alpha1.LabelRun: "r", "other": fat}, Annotations: map[string]string{"a": fat, v1alpha1.AnnotationDomains: fat},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "X", Name: fat, UID: "a", Controller: new(true)}, {APIVersion: fat, Kind: "X", Name: "x", UID: "b", Controller: new(true)},
			{APIVersion: "v1", Kind: fat, Name: "x", UID: "c", Controller: new(true)}, {APIVersion: "v1", Kind: "X", Name: "x", UID: "d", Controller: new(true)},
			{APIVersion: "v1", Kind: "X", Name: "x", UID: "e"},
		},
	}
	for i := range 10_000 {
		k := fmt.Sprintf("n%05d", i)
		m.Labels[k], m.Annotations["motorcortex.dev/"+k] = "v", "v"
		m.Finalizers = append(m.Finalizers, "f/"+k)
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "X", Name: k, UID: "x"})
	}
	return m
}

// transformOf returns the transform of the manager's cache for objects of a kind.
func transformOf(o client.Object) toolscache.TransformFunc {
	opts := cacheOptions("motorcortex-system", nil)
	for kind, by := range opts.ByObject {
		if fmt.Sprintf("%T", kind) == fmt.Sprintf("%T", o) && by.Transform != nil {
			return by.Transform
		}
	}
	return opts.DefaultTransform
}

func TestTheCacheHasNoFatMetadata(t *testing.T) {
	t.Parallel()
	m := fatMeta()
	kinds := map[string]client.Object{
		"run": &v1alpha1.MotorRun{ObjectMeta: m}, "step": &v1alpha1.MotorStep{ObjectMeta: m}, "skill": &v1alpha1.Skill{ObjectMeta: m},
		"cortex": &v1alpha1.MotorCortex{ObjectMeta: m}, "pod": &corev1.Pod{ObjectMeta: m}, "policy": &networkingv1.NetworkPolicy{ObjectMeta: m},
		"lease": &coordinationv1.Lease{ObjectMeta: m}, "node": &corev1.Node{ObjectMeta: m}, "secret": &corev1.Secret{ObjectMeta: m},
	}
	check := func(name string, transform toolscache.TransformFunc, o any) {
		t.Helper()
		o, err := transform(o)
		if err != nil {
			t.Fatal(err)
		}
		head := o.(client.Object)
		if encoded, err := json.Marshal(head); err != nil || len(encoded) > 4096 {
			t.Errorf("%s: the head has %d bytes, %v", name, len(encoded), err)
		}
		owner := metav1.GetControllerOf(head)
		if head.GetName() != "fat" || head.GetNamespace() != "tenant" || head.GetUID() != "7" || head.GetResourceVersion() != "9" ||
			!m.CreationTimestamp.Time.Equal(head.GetCreationTimestamp().Time) || owner == nil || owner.UID != "d" {
			t.Errorf("%s: the head is %+v", name, head)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		o := kinds[name].DeepCopyObject().(client.Object)
		check(name, transformOf(o), o)
	}
	check("configMap", transformOf(&corev1.ConfigMap{}), &metav1.PartialObjectMetadata{ObjectMeta: m})
	check("claim", transformOf(&corev1.PersistentVolumeClaim{}), &metav1.PartialObjectMetadata{ObjectMeta: m})
}

// The owners of a revision, and its mark, say what the reconciler of skills does with it when it is not wanted any more.
func TestRevisionHeadKeepsItsOwners(t *testing.T) {
	t.Parallel()
	owners := []metav1.OwnerReference{
		{APIVersion: "motorcortex.dev/v1alpha1", Kind: "Skill", Name: "s", UID: "1", Controller: new(true)},
		{APIVersion: "v1", Kind: "Namespace", Name: "ns", UID: "2"},
	}
	r := &v1alpha1.SkillRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "s-1", Annotations: map[string]string{v1alpha1.AnnotationLeaving: "true"}, OwnerReferences: append(slices.Clone(owners), metav1.OwnerReference{Kind: "MotorRun", Name: strings.Repeat("A", 1<<20), UID: "3"}),
	}}
	o, err := transformOf(r)(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(owners, o.(*v1alpha1.SkillRevision).OwnerReferences); diff != "" {
		t.Errorf("owners of the head (-want +got):\n%s", diff)
	}
	if !hold.IsLeaving(o.(*v1alpha1.SkillRevision)) || !hold.WasHeld(o.(*v1alpha1.SkillRevision)) {
		t.Errorf("the head of a revision that was used and leaves is %+v", o)
	}
}

// The cache has the parts of the Leases of replicas that the manager reads.
func TestLeaseHeadSaysTheVersion(t *testing.T) {
	t.Parallel()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "w", Annotations: map[string]string{v1alpha1.AnnotationVersion: "0.2.0"}}}
	head, err := transformOf(lease)(lease)
	if err != nil || head.(*coordinationv1.Lease).Annotations[v1alpha1.AnnotationVersion] != "0.2.0" {
		t.Errorf("%v, %v", head, err)
	}
}
