// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// confirmWorld has a run that names a revision, and a reconciler that counts what it reads past the cache.
type confirmWorld struct {
	rec  *Reconciler
	live int
}

func newConfirmWorld(t *testing.T, objects ...client.Object) *confirmWorld {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(skillScheme(t)).WithObjects(objects...).Build()
	w := &confirmWorld{}
	w.rec = &Reconciler{Client: c, Live: interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			w.live++
			return c.Get(ctx, key, o, opts...)
		},
	})}
	return w
}

func skillScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func TestARunLooksOnceWhetherItsRevisionIsThere(t *testing.T) {
	t.Parallel()
	rev := &v1alpha1.SkillRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail-1"}}
	w := newConfirmWorld(t, rev, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "n"}})
	run := pinRun("one", false)
	run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", RevisionName: rev.Name}
	for range 3 {
		if goOn, err := w.rec.skill(t.Context(), pass.NewRun(run, time.Now())); !goOn || err != nil {
			t.Fatalf("%t, %v", goOn, err)
		}
	}
	if w.live != 2 {
		t.Errorf("%d reads past the cache, want one of the revision and one of the namespace", w.live)
	}
	// Another leader knows nothing of that, and an accepted run is not looked at again.
	w.rec.confirmed = pass.RunCache[bool]{}
	accepted := run.DeepCopy()
	accepted.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}
	if goOn, err := w.rec.skill(t.Context(), pass.NewRun(accepted, time.Now())); !goOn || err != nil || w.live != 2 {
		t.Errorf("%t, %v after %d reads", goOn, err, w.live)
	}
	if goOn, err := w.rec.skill(t.Context(), pass.NewRun(run, time.Now())); !goOn || err != nil || w.live != 3 {
		t.Errorf("%t, %v after %d reads", goOn, err, w.live)
	}
}

func TestARunChoosesAgainWithoutItsRevision(t *testing.T) {
	t.Parallel()
	w := newConfirmWorld(t)
	run := pinRun("one", false)
	run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", RevisionName: "mail-1"}
	s := pass.NewRun(run, time.Now())
	goOn, err := w.rec.skill(t.Context(), s)
	if goOn || err != nil || s.Run.Status.Skill != nil || s.Before.Status.Skill == nil || s.Message == "" {
		t.Errorf("%t, %v, the skill is %+v, the message is %q", goOn, err, s.Run.Status.Skill, s.Message)
	}
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

func TestAwaitingSkill(t *testing.T) {
	t.Parallel()
	waits, other, pinned, none := pinRun("waits", false), pinRun("other", false), pinRun("pinned", false), pinRun("none", false)
	other.Spec.SkillRef.Name = "post"
	pinned.Status.Skill = &v1alpha1.RunSkill{Name: "mail"}
	none.Spec.SkillRef = nil
	elsewhere := pinRun("waits", false)
	elsewhere.Namespace = "other"
	w := newConfirmWorld(t, waits, other, pinned, none, elsewhere, pinRun("over", true))
	requests := w.rec.awaitingSkill(t.Context(), &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail"}})
	if len(requests) != 1 || requests[0].Name != "waits" || requests[0].Namespace != "ns" {
		t.Errorf("%v", requests)
	}
}
