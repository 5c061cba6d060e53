// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

const (
	// headAnnotation bounds an annotation that is retained. The longest that the manager reads are the gaps in a Lease.
	headAnnotation = 4096
	// A name has at most the length that the API server allows. That does not bound the names in an owner reference.
	headName       = 253
	headKind       = 63
	headAPIVersion = headName + 1 + headKind
	headUID        = 128
)

// headLabels are the labels that the manager reads of watched objects, and headAnnotations the annotations. Only builds with faults use the last
// one.
var (
	headLabels      = []string{v1alpha1.LabelRun, v1alpha1.LabelComponent, v1alpha1.LabelSkill, v1alpha1.LabelRunUID, v1alpha1.LabelManagedBy, v1alpha1.LabelPool, v1alpha1.LabelSchedule}
	headAnnotations = []string{
		v1alpha1.AnnotationDomains, timekeeper.GapsAnnotation, v1alpha1.AnnotationVersion, v1alpha1.AnnotationPool, v1alpha1.AnnotationAttempt,
		v1alpha1.AnnotationLeaving, v1alpha1.AnnotationTraceParent, v1alpha1.AnnotationScheduledAt, "faults.motorcortex.dev/kill",
	}
)

// metaHead builds the metadata that the cache has of an object. A client that may write the object can put more than a megabyte into owner
// references, labels, annotations and finalizers, and the manager holds all objects at once. Metadata that the manager does not read is missing, so
// cached metadata must not be written back except by a patch of something else.
func metaHead(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: strings.Clone(m.Name), Namespace: strings.Clone(m.Namespace), UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		Labels: kept(m.Labels, headLabels, headName), Annotations: kept(m.Annotations, headAnnotations, headAnnotation),
		OwnerReferences: ownerHeads(m.OwnerReferences, true),
	}
}

// kept returns the entries of all under keys whose values have at most that many bytes.
func kept(all map[string]string, keys []string, most int) map[string]string {
	var some map[string]string
	for _, k := range keys {
		if v, ok := all[k]; ok && len(v) <= most {
			if some == nil {
				some = make(map[string]string, 1)
			}
			some[k] = strings.Clone(v)
		}
	}
	return some
}

// ownerHeads picks the owners that can exist, or of those the controller alone: the strings of one that cannot have no bound.
func ownerHeads(all []metav1.OwnerReference, controller bool) []metav1.OwnerReference {
	var some []metav1.OwnerReference
	for i := range all {
		o := &all[i]
		if controller && (o.Controller == nil || !*o.Controller) ||
			len(o.Name) > headName || len(o.Kind) > headKind || len(o.APIVersion) > headAPIVersion || len(o.UID) > headUID {
			continue
		}
		c := *o.DeepCopy()
		c.Name, c.Kind, c.APIVersion = strings.Clone(o.Name), strings.Clone(o.Kind), strings.Clone(o.APIVersion)
		some = append(some, c)
	}
	return slices.Clip(some)
}

// anyHead cuts the metadata of a cached object of a kind that needs no more than that.
func anyHead(o any) (any, error) {
	if m, ok := o.(metav1.ObjectMetaAccessor); ok {
		if meta, ok := m.GetObjectMeta().(*metav1.ObjectMeta); ok {
			*meta = metaHead(meta)
		}
	}
	return o, nil
}

// revisionHead retains all owners of a cached revision: one of them is its namespace if runs have used it. Only the manager writes revisions.
func revisionHead(o any) (any, error) {
	r, ok := o.(*v1alpha1.SkillRevision)
	if !ok {
		return o, nil
	}
	owners := ownerHeads(r.OwnerReferences, false)
	r.ObjectMeta = metaHead(&r.ObjectMeta)
	r.OwnerReferences = owners
	return r, nil
}
