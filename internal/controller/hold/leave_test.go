// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// listed lets a Holder list runs, in pages of one run, and calls before with each list. The fake API selects by no fields.
func listed(t *testing.T, h *Holder, before func()) {
	t.Helper()
	fakeAPI, ok := h.Live.(client.WithWatch)
	if !ok {
		t.Fatalf("the live reader is a %T", h.Live)
	}
	h.Live = interceptor.NewClient(fakeAPI, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			before()
			var o client.ListOptions
			o.ApplyOptions(opts)
			want := "spec.skillRef.name=mail,status.phase!=Completed,status.phase!=Failed,status.phase!=Cancelled"
			if o.FieldSelector == nil || o.FieldSelector.String() != want || o.Limit != pageSize {
				t.Errorf("the list is of %v, at most %d", o.FieldSelector, o.Limit)
			}
			if err := c.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
				return err
			}
			page, from := list.(*v1alpha1.MotorRunList), 0
			if o.Continue != "" {
				if _, err := fmt.Sscan(o.Continue, &from); err != nil {
					return err
				}
			}
			if from+1 < len(page.Items) {
				page.Continue = fmt.Sprint(from + 1)
			}
			page.Items = page.Items[min(from, len(page.Items)):min(from+1, len(page.Items))]
			return nil
		},
	})
}

func TestLetGo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revision *v1alpha1.SkillRevision
		runs     []client.Object
		gone     bool
	}{
		"there is no run":                     {revision("mail-1"), nil, true},
		"it is marked":                        {revision("mail-1", leaving), nil, true},
		"others use others":                   {revision("mail-1"), []client.Object{runOf("a", "mail-2", false), runOf("b", "", false)}, true},
		"its run has ended":                   {revision("mail-1"), []client.Object{runOf("a", "mail-1", true)}, true},
		"a run uses it":                       {revision("mail-1"), []client.Object{runOf("a", "mail-1", false)}, false},
		"a run of the last page uses it":      {revision("mail-1"), []client.Object{runOf("a", "mail-2", false), runOf("b", "", false), runOf("c", "mail-1", false)}, false},
		"a run is its owner, as in 0.2":       {revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "a", "uid-a")), []client.Object{runOf("a", "", false)}, false},
		"a run was its owner, as in 0.2":      {revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "a", "uid-a")), []client.Object{runOf("a", "", true)}, true},
		"a run that is gone is its owner too": {revision("mail-1", ownedBy("motorcortex.dev/v1alpha1", "MotorRun", "a", "uid-a")), nil, true},
	} {
		h := holder(t, append(tt.runs, tt.revision)...)
		first := true
		listed(t, h, func() {
			if first && !IsLeaving(get(t, h, "mail-1")) {
				t.Errorf("%s: it is not marked before the list", name)
			}
			first = false
		})
		cached := get(t, h, "mail-1")
		gone, err := h.LetGo(t.Context(), cached, nil)
		if err != nil || gone != tt.gone {
			t.Errorf("%s: gone %t, %v", name, gone, err)
		}
		if marked := isMarked(cached); marked != isMarked(tt.revision) {
			t.Errorf("%s: what belongs to the cache was changed", name)
		}
		err = h.Get(t.Context(), client.ObjectKeyFromObject(tt.revision), &v1alpha1.SkillRevision{})
		if apierrors.IsNotFound(err) != tt.gone {
			t.Errorf("%s: %v", name, err)
		}
		if tt.gone {
			if gone, err := h.LetGo(t.Context(), cached, nil); !gone || err != nil {
				t.Errorf("%s: once more: %t, %v", name, gone, err)
			}
			continue
		}
		if ok, err := h.Confirm(t.Context(), runOf("late", "mail-1", false)); ok || err != nil {
			t.Errorf("%s: a later run gets it: %t, %v", name, ok, err)
		}
		if err := h.Keep(t.Context(), get(t, h, "mail-1")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ok, err := h.Confirm(t.Context(), runOf("later", "mail-1", false)); !ok || err != nil {
			t.Errorf("%s: a later run does not get it although it stays: %t, %v", name, ok, err)
		}
	}
}

// A leader that was set aside for a while has the list of an earlier time. What it marked may be in use.
func TestLetGoOfWhatIsWantedAgain(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1"))
	listed(t, h, func() {
		rev := get(t, h, "mail-1")
		if !isMarked(rev) {
			return
		}
		if err := h.Keep(t.Context(), rev); err != nil {
			t.Error(err)
		}
	})
	if gone, err := h.LetGo(t.Context(), get(t, h, "mail-1"), nil); gone || !apierrors.IsConflict(err) {
		t.Errorf("gone %t, %v", gone, err)
	}
	if IsLeaving(get(t, h, "mail-1")) {
		t.Error("it is marked again")
	}
}

// Of a revision that lacks bytes, a run may store the rest while it is marked.
func TestLetGoOfWhatIsWantedForAnotherReason(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1"))
	listed(t, h, func() {})
	for _, stays := range []bool{true, false} {
		marked := func() bool { return IsLeaving(get(t, h, "mail-1")) }
		gone, err := h.LetGo(t.Context(), get(t, h, "mail-1"), func(context.Context) (bool, error) {
			if !marked() {
				t.Error("it is asked before the mark: what is stored between the two is not seen")
			}
			return stays, nil
		})
		if gone == stays || err != nil {
			t.Errorf("wanted %t: gone %t, %v", stays, gone, err)
		}
		if stays && IsLeaving(get(t, h, "mail-1")) {
			t.Error("it is still marked")
		}
	}
	failed := errors.New("not known")
	h = holder(t, revision("mail-1"))
	listed(t, h, func() {})
	if gone, err := h.LetGo(t.Context(), get(t, h, "mail-1"), func(context.Context) (bool, error) { return false, failed }); gone || !errors.Is(err, failed) {
		t.Errorf("where it is not known: gone %t, %v", gone, err)
	}
}

func TestLetGoWithAnOldVersion(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1"))
	listed(t, h, func() {})
	old := get(t, h, "mail-1")
	if ok, err := h.Confirm(t.Context(), runOf("run", "mail-1", false)); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	if gone, err := h.LetGo(t.Context(), old, nil); gone || !apierrors.IsConflict(err) {
		t.Errorf("gone %t, %v", gone, err)
	}
}

// The cache has no annotations but those that the manager reads.
func TestKeepRemovesTheMarkAlone(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1", leaving, func(rev *v1alpha1.SkillRevision) { rev.Annotations["example.org/other"] = "stays" }))
	cached := get(t, h, "mail-1")
	delete(cached.Annotations, "example.org/other")
	if err := h.Keep(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	rev := get(t, h, "mail-1")
	if IsLeaving(rev) || rev.Annotations["example.org/other"] != "stays" {
		t.Errorf("the annotations are %v", rev.Annotations)
	}
	if err := h.Keep(t.Context(), cached); !apierrors.IsConflict(err) {
		t.Errorf("with an old version: %v", err)
	}
}

func TestKeepWritesOnlyWhatIsMarked(t *testing.T) {
	t.Parallel()
	h := holder(t, revision("mail-1"))
	before := get(t, h, "mail-1")
	if err := h.Keep(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if after := get(t, h, "mail-1"); after.ResourceVersion != before.ResourceVersion {
		t.Error("it was written")
	}
}
