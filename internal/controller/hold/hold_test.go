// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// holder returns a Holder in a cluster with a namespace and these objects.
func holder(t *testing.T, objects ...client.Object) *Holder {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "the-namespace"}}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(append(objects, ns)...).Build()
	return &Holder{Client: c, Live: c}
}

func revision(name string, change ...func(*v1alpha1.SkillRevision)) *v1alpha1.SkillRevision {
	rev := &v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{v1alpha1.LabelSkill: "mail"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "Skill", Name: "mail", UID: "skill", Controller: new(true)}},
		},
		Spec: v1alpha1.SkillRevisionSpec{SkillName: "mail"},
	}
	for _, c := range change {
		c(rev)
	}
	return rev
}

func ownedBy(apiVersion, kind, name string, uid types.UID) func(*v1alpha1.SkillRevision) {
	return func(rev *v1alpha1.SkillRevision) {
		rev.OwnerReferences = append(rev.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid})
	}
}

func leaving(rev *v1alpha1.SkillRevision) {
	rev.Annotations = map[string]string{v1alpha1.AnnotationLeaving: "true"}
}

func deleted(rev *v1alpha1.SkillRevision) {
	rev.DeletionTimestamp, rev.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.org/stays"}
}

// runOf is a run that has begun with a revision, with none if the name is empty.
func runOf(name, revision string, finished bool) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha1.MotorRunSpec{SkillRef: &v1alpha1.SkillRef{Name: "mail"}},
	}
	if revision != "" {
		run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", RevisionName: revision}
	}
	if finished {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	}
	return run
}

func get(t *testing.T, h *Holder, name string) *v1alpha1.SkillRevision {
	t.Helper()
	rev := &v1alpha1.SkillRevision{}
	if err := h.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, rev); err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revision *v1alpha1.SkillRevision
		want     bool
	}{
		"it is there":         {revision("mail-1"), true},
		"it was used before":  {revision("mail-1", ownedBy("v1", "Namespace", "ns", "the-namespace")), true},
		"0.2 held it":         {revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "other", "o")), true},
		"it is gone":          {revision("mail-2"), false},
		"it is about to go":   {revision("mail-1", leaving), false},
		"it is being deleted": {revision("mail-1", deleted), false},
	} {
		h := holder(t, tt.revision)
		got, err := h.Confirm(t.Context(), runOf("run", "mail-1", false))
		if err != nil || got != tt.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
		rev := get(t, h, tt.revision.Name)
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: "ns", UID: "the-namespace"}
		if held := slices.Contains(rev.OwnerReferences, owner); held != tt.want {
			t.Errorf("%s: the owners are %+v", name, rev.OwnerReferences)
		}
		if _, err := h.Confirm(t.Context(), runOf("another", "mail-1", false)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := get(t, h, tt.revision.Name); again.ResourceVersion != rev.ResourceVersion {
			t.Errorf("%s: the next run writes it again", name)
		}
	}
}

// An owner that is added to what was read a while ago must not undo what another writer wrote meanwhile.
func TestOwnIsNotBlind(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1"))
	old := get(t, h, "mail-1")
	changed := get(t, h, "mail-1")
	leaving(changed)
	if err := h.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if err := h.own(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
}

func TestWasHeld(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revision *v1alpha1.SkillRevision
		want     bool
	}{
		"by nothing":            {revision("mail-1"), false},
		"by the namespace":      {revision("mail-1", ownedBy("v1", "Namespace", "ns", "n")), true},
		"by a run, as in 0.2":   {revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "run", "r")), true},
		"by a run of another":   {revision("mail-1", ownedBy("example.org/v1", "MotorRun", "run", "r")), false},
		"by something foreign":  {revision("mail-1", ownedBy("v1", "ConfigMap", "c", "c")), false},
		"by another Namespace":  {revision("mail-1", ownedBy("example.org/v1", "Namespace", "ns", "n")), false},
		"without its Skill too": {revision("mail-1", func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences = nil }), false},
	} {
		if got := WasHeld(tt.revision); got != tt.want {
			t.Errorf("held %s: %t", name, got)
		}
	}
}
