// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	of := func(uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "motorcortex.dev/v1alpha1", Kind: "Skill", Name: "send", UID: uid, Controller: new(true)}
	}
	held := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: "ns", UID: "n"}
	revision := func(name string, owners ...metav1.OwnerReference) v1alpha1.SkillRevision {
		return v1alpha1.SkillRevision{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: v1alpha1.SkillRevisionSpec{SkillName: "send"},
		}
	}
	deleted, other := revision("deleted", held), revision("of-another-skill", held)
	deleted.DeletionTimestamp = new(metav1.Now())
	other.Spec.SkillName = "other"
	all := []v1alpha1.SkillRevision{
		revision("present", of("now"), held), revision("never-used", of("before")), revision("earlier", of("before"), held), revision("collected", held),
		revision("of-nobody"), deleted, other,
		revision("collected-since-0.2", metav1.OwnerReference{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: "run", UID: "r"}),
	}
	for uid, want := range map[types.UID][]string{
		"now": {"earlier", "collected", "collected-since-0.2"},
		"":    {"present", "earlier", "collected", "collected-since-0.2"},
	} {
		var got []string
		for _, rev := range leftBehind(all, "send", uid) {
			got = append(got, rev.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with the Skill %q left behind are %q, want %q", uid, got, want)
		}
	}
}
