// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// The largest skill that there can be is kept, and no user changes it.
func TestSkillStore(t *testing.T) {
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	store := &skillstore.Store{Client: manager, Live: manager}
	owner, created, err := store.EnsureSkill(ctx, ns, "large", "run", []v1alpha1.SkillCredential{{Name: "large_key", Hosts: []v1alpha1.Domain{"api.example.org"}}})
	must(t, err)
	if again, twice, err := store.EnsureSkill(ctx, ns, "large", "run", nil); !created || twice || err != nil || again.UID != owner.UID || again.Spec.Policy.Credentials[0].Slot.Type != v1alpha1.SlotBearer {
		t.Errorf("the skill is made %t, and again %t: %v, %v", created, twice, again, err)
	}
	files := []skill.File{{Path: "SKILL.md", Content: []byte("---\nname: large\ndescription: Has much.\n---\n")}}
	left := skill.MaxTotalBytes - len(files[0].Content)
	for i := range skill.MaxFiles - 1 {
		n := min(left, skill.MaxFileBytes)
		left -= n
		files = append(files, skill.File{Path: "assets/" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Content: bytes.Repeat([]byte{byte(i)}, n)})
	}
	_, files, err = skill.Check("large", files)
	must(t, err)
	rev, err := store.Put(ctx, owner, v1alpha1.SkillRevisionSpec{Description: "Has much."}, files)
	must(t, err)
	read := &v1alpha1.SkillRevision{}
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(rev), read))
	got, err := store.Files(ctx, read)
	must(t, err)
	if len(read.Spec.ConfigMapNames) != 14 || !slices.EqualFunc(got, files, func(a, b skill.File) bool {
		return a.Path == b.Path && a.Executable == b.Executable && bytes.Equal(a.Content, b.Content)
	}) {
		t.Errorf("the files are others than were put, out of %s", read.Spec.ConfigMapNames)
	}
	again, err := store.Put(ctx, owner, v1alpha1.SkillRevisionSpec{Description: "Another."}, files)
	must(t, err)
	if diff := cmp.Diff(read, again); diff != "" {
		t.Errorf("putting the same again gives another: %s", diff)
	}
	wantRefused(t, mergePatch(ctx, read.DeepCopy(), `{"spec":{"origin":"elsewhere"}}`), "never changes")
	part := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: rev.Name + "-0"}}
	wantRefused(t, mergePatch(ctx, part, `{"binaryData":{"content":"YQ=="}}`), "immutable")
	// A later skill of the name waits until what the former had is gone. There is no garbage collector here.
	must(t, admin.Delete(ctx, owner))
	later, _, err := store.EnsureSkill(ctx, ns, "large", "run", nil)
	must(t, err)
	if _, err := store.Put(ctx, later, v1alpha1.SkillRevisionSpec{}, files); !errors.Is(err, skillstore.ErrFormer) {
		t.Errorf("the revision of a former skill: %v", err)
	}
	must(t, admin.Delete(ctx, read))
	if _, err := store.Files(ctx, read); err != nil {
		t.Errorf("the parts are not there without their revision: %v", err)
	}
	if _, err := store.Put(ctx, later, v1alpha1.SkillRevisionSpec{}, files); !errors.Is(err, skillstore.ErrFormer) {
		t.Errorf("the parts of a former revision: %v", err)
	}
}
