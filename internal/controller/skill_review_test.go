// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/skillstore"
)

// TestReviewIsMarkedFirst has processes end after the mark and before the facts: the third one leaves the files alone.
func TestReviewIsMarkedFirst(t *testing.T) {
	scheme := apiruntime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	errEnded := errors.New("the process has ended")
	ends := true
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.SkillRevision{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if rev, ok := o.(*v1alpha1.SkillRevision); ok && rev.Status.ReviewedAt != nil && ends {
				return errEnded
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	sk := &v1alpha1.Skill{}
	sk.Name, sk.Namespace, sk.UID = "send", "default", "u"
	store := &skillstore.Store{Client: c, Live: c}
	_, files, err := skill.Check("send", []skill.File{{Path: "SKILL.md", Content: []byte("---\nname: send\ndescription: Sends.\n---\n")}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := store.Put(t.Context(), sk, v1alpha1.SkillRevisionSpec{Skill: "send", Description: "Sends."}, files)
	if err != nil {
		t.Fatal(err)
	}
	look := func(r *SkillReconciler) (v1alpha1.SkillRevisionStatus, error) {
		t.Helper()
		rev := &v1alpha1.SkillRevision{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), rev); err != nil {
			t.Fatal(err)
		}
		err := r.gather(t.Context(), newSkillScope(sk, r.memories.of(sk), time.Now()), rev)
		if getErr := c.Get(t.Context(), client.ObjectKeyFromObject(stored), rev); getErr != nil {
			t.Fatal(getErr)
		}
		return rev.Status, err
	}
	for process := range int32(2) {
		r := &SkillReconciler{Client: c, Store: store}
		// A process that lives on counts once, however often it fails to write.
		for range 3 {
			if st, err := look(r); !errors.Is(err, errEnded) || st.ReviewStarts != process+1 {
				t.Fatalf("process %d: %v, %+v", process, err, st)
			}
		}
	}
	if st, err := look(&SkillReconciler{Client: c, Store: store}); err != nil || st.ReviewStarts != 2 || st.ReviewedAt != nil {
		t.Errorf("the third process: %v, %+v", err, st)
	}
	ends = false
	if st, err := look(&SkillReconciler{Client: c, Store: store}); err != nil || st.ReviewedAt != nil {
		t.Errorf("it is not looked at again: %v, %+v", err, st)
	}
}
