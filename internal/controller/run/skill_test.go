// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// pinWorld has a Skill, two revisions of it, and a reconciler that counts what it reads past the cache.
type pinWorld struct {
	*testing.T
	client client.WithWatch
	rec    *Reconciler
	live   int
}

func newPinWorld(t *testing.T, objects ...client.Object) *pinWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail", UID: "skill"}}
	objects = append(objects, sk, revisionOf(sk, "mail-1"), revisionOf(sk, "mail-2"))
	w := &pinWorld{T: t, client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
	live := interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.live++
			return c.List(ctx, list, opts...)
		},
	})
	w.rec = &Reconciler{Client: w.client, Live: live}
	return w
}

func revisionOf(sk *v1alpha1.Skill, name string) *v1alpha1.SkillRevision {
	return &v1alpha1.SkillRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{v1alpha1.LabelSkill: sk.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sk, v1alpha1.GroupVersion.WithKind("Skill"))},
	}}
}

func pinRun(name string, finished bool) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       v1alpha1.MotorRunSpec{SkillRef: &v1alpha1.SkillRef{Name: "mail"}},
	}
	if finished {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	}
	return run
}

// get returns a revision, nil if there is none.
func (w *pinWorld) get(name string) *v1alpha1.SkillRevision {
	w.Helper()
	rev := &v1alpha1.SkillRevision{}
	err := w.client.Get(w.Context(), client.ObjectKey{Namespace: "ns", Name: name}, rev)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return rev
}

func (w *pinWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// owners returns the names of a revision's owners.
func (w *pinWorld) owners(name string) []string {
	w.Helper()
	rev := w.get(name)
	if rev == nil {
		return []string{"gone"}
	}
	var names []string
	for _, o := range rev.OwnerReferences {
		names = append(names, o.Name)
		if o.Name != "mail" && (o.Controller != nil || o.BlockOwnerDeletion != nil || o.Kind != "MotorRun" || o.APIVersion != "motorcortex.dev/v1alpha1") {
			w.Errorf("the hold is %+v", o)
		}
	}
	return names
}

func (w *pinWorld) wantOwners(revision string, want ...string) {
	w.Helper()
	if got := w.owners(revision); !slices.Equal(got, want) {
		w.Errorf("%s has the owners %q, want %q", revision, got, want)
	}
}

func TestHoldAndLetGo(t *testing.T) {
	t.Parallel()
	w := newPinWorld(t)
	one, two := pinRun("one", true), pinRun("two", true)
	for _, run := range []*v1alpha1.MotorRun{one, two, one} {
		w.must(w.rec.hold(t.Context(), run, w.get("mail-1")))
	}
	// A pass that failed before it could write which revision it had held.
	w.must(w.rec.hold(t.Context(), one, w.get("mail-2")))
	w.wantOwners("mail-1", "mail", "one", "two")

	for range 2 {
		w.must(w.rec.letGo(t.Context(), &pass.Run{Before: one, Run: one}))
	}
	w.wantOwners("mail-1", "mail", "two")
	w.wantOwners("mail-2", "mail")
	if w.live != 0 {
		t.Errorf("%d reads past the cache for a run that is finished since long", w.live)
	}

	// The Skill is deleted, and the garbage collector has taken it off the list.
	rev := w.get("mail-1")
	rev.OwnerReferences = slices.DeleteFunc(rev.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Skill" })
	w.must(w.client.Update(t.Context(), rev))
	w.must(w.rec.letGo(t.Context(), &pass.Run{Before: one, Run: one}))
	w.wantOwners("mail-1", "two")
	w.must(w.rec.letGo(t.Context(), &pass.Run{Before: pinRun("two", false), Run: two}))
	w.wantOwners("mail-1", "gone")
	if w.live != 1 {
		t.Errorf("%d reads past the cache for a run that has just ended", w.live)
	}
	w.must(w.rec.letGo(t.Context(), &pass.Run{Before: two, Run: two}))
	without := pinRun("three", true)
	without.Spec.SkillRef = nil
	w.must(w.rec.letGo(t.Context(), &pass.Run{Before: pinRun("three", false), Run: without}))
}

// A hold does not overwrite what another writer wrote meanwhile.
func TestHoldIsNotBlind(t *testing.T) {
	t.Parallel()
	w := newPinWorld(t)
	old := w.get("mail-1")
	w.must(w.rec.hold(t.Context(), pinRun("one", false), old.DeepCopy()))
	if err := w.rec.hold(t.Context(), pinRun("two", false), old); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
	w.wantOwners("mail-1", "mail", "one")
}

func TestAwaitingSkill(t *testing.T) {
	t.Parallel()
	waits, other, pinned, none := pinRun("waits", false), pinRun("other", false), pinRun("pinned", false), pinRun("none", false)
	other.Spec.SkillRef.Name = "post"
	pinned.Status.Skill = &v1alpha1.RunSkill{Name: "mail"}
	none.Spec.SkillRef = nil
	elsewhere := pinRun("waits", false)
	elsewhere.Namespace = "other"
	w := newPinWorld(t, waits, other, pinned, none, elsewhere, pinRun("over", true))
	requests := w.rec.awaitingSkill(t.Context(), &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail"}})
	if len(requests) != 1 || requests[0].Name != "waits" || requests[0].Namespace != "ns" {
		t.Errorf("%v", requests)
	}
}
