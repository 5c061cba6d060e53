// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// rig is a store on an API that assigns UIDs, as the real one does.
type rig struct {
	*skillstore.Store
	t     *testing.T
	owner *v1alpha1.Skill
	// writes are the objects that were created.
	writes []string
	// fail is given to the creation of the object of that name.
	fail map[string]error
	// during is called before each creation.
	during func(name string)
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, fail: map[string]error{}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if r.during != nil {
				r.during(o.GetName())
			}
			if err := r.fail[o.GetName()]; err != nil {
				return err
			}
			if o.GetUID() == "" {
				o.SetUID(types.UID("uid-of-" + o.GetName()))
			}
			err := c.Create(ctx, o, opts...)
			if err == nil {
				r.writes = append(r.writes, o.GetName())
			}
			return err
		},
	}).Build()
	r.Store = &skillstore.Store{Client: c, Live: c}
	r.owner = &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "weather", Namespace: "ns", UID: "skill-uid"}}
	return r
}

func (r *rig) put(files []skill.File) *v1alpha1.SkillRevision {
	r.t.Helper()
	rev, err := r.Put(r.t.Context(), r.owner, v1alpha1.SkillRevisionSpec{Description: "Tells the weather.", Origin: "main@sha1:abc"}, files)
	if err != nil {
		r.t.Fatal(err)
	}
	return rev
}

// change changes the stored bytes.
func (r *rig) change(name string, change func(*corev1.ConfigMap)) {
	r.t.Helper()
	var cm corev1.ConfigMap
	err := r.Live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &cm)
	if err == nil {
		change(&cm)
		err = r.Client.Update(r.t.Context(), &cm)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// some are files that take two ConfigMaps, one of them with nothing in it, in no order.
func some() []skill.File {
	return []skill.File{
		{Path: "scripts/send.sh", Content: []byte("#!/bin/sh\n"), Executable: true}, {Path: "SKILL.md", Content: []byte("about")},
		{Path: "assets/large", Content: bytes.Repeat([]byte("12345678"), 100<<10)}, {Path: "assets/none", Content: []byte{}},
	}
}

func sorted() []skill.File {
	return slices.SortedFunc(slices.Values(some()), func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) })
}

func TestPutAndFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rev := r.put(some())
	hash := skill.ContentHash(sorted())
	name := "weather-" + hash[len("sha256:"):][:12]
	want := &v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID("uid-of-" + name), ResourceVersion: rev.ResourceVersion,
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelSkill: "weather"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "motorcortex.dev/v1alpha1", Kind: "Skill", Name: "weather", UID: "skill-uid", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: v1alpha1.SkillRevisionSpec{
			SkillName: "weather", ContentHash: hash, Description: "Tells the weather.", Origin: "main@sha1:abc",
			Files: skill.Listed(sorted()), ConfigMapNames: []string{name + "-0", name + "-1"},
		},
	}
	if diff := cmp.Diff(want, rev); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(r.writes, []string{name, name + "-0", name + "-1"}) {
		t.Errorf("written are %s", r.writes)
	}
	var cm corev1.ConfigMap
	if err := r.Live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name + "-1"}, &cm); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelSkill: "weather", v1alpha1.LabelComponent: v1alpha1.ComponentSkill}
	if owner := metav1.GetControllerOf(&cm); cm.Immutable == nil || !*cm.Immutable || owner == nil || owner.UID != rev.UID || owner.Kind != "SkillRevision" || !cmp.Equal(cm.Labels, labels) {
		t.Errorf("a part is %v", cm.ObjectMeta)
	}
	files, err := r.Files(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(), files); diff != "" {
		t.Error("the files are others than were put")
	}
}

func TestPutIsIdempotent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail["weather-"+skill.ContentHash(sorted())[len("sha256:"):][:12]+"-1"] = errors.New("the server is gone")
	if _, err := r.Put(t.Context(), r.owner, v1alpha1.SkillRevisionSpec{}, some()); err == nil {
		t.Fatal("a part was not stored, and nobody says so")
	}
	var half v1alpha1.SkillRevision
	if err := r.Live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: skillstore.RevisionName("weather", skill.ContentHash(sorted()))}, &half); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Files(t.Context(), &half); !errors.Is(err, skillstore.ErrMissing) {
		t.Errorf("the files of half a revision: %v", err)
	}
	clear(r.fail)
	first := r.put(some())
	if _, err := r.Files(t.Context(), first); err != nil {
		t.Errorf("the revision is not completed: %v", err)
	}
	written := len(r.writes)
	if again := r.put(sorted()); again.UID != first.UID || again.Spec.Description != "" || len(r.writes) != written {
		t.Errorf("putting the same again gives %v and writes %s", again.Spec.Description, r.writes[written:])
	}
	if other := r.put(some()[:2]); other.Name == first.Name {
		t.Error("other files have the same revision")
	}
}

// mark marks a revision as one that is about to be deleted.
func (r *rig) mark(name string) {
	r.t.Helper()
	var rev v1alpha1.SkillRevision
	err := r.Live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &rev)
	if err == nil {
		rev.Annotations = map[string]string{v1alpha1.AnnotationLeaving: "true", "example.org/other": "stays"}
		err = r.Client.Update(r.t.Context(), &rev)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// What is put again is wanted, whenever it was marked. Who marked it deletes only the version that has the mark.
func TestPutKeepsWhatIsAboutToBeDeleted(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"before": "", "while the first bytes are stored": "-0", "while the last ones are": "-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			revision := r.put(some()).Name
			if when == "" {
				r.mark(revision)
			}
			r.during = func(name string) {
				if name == revision+when && when != "" {
					r.mark(revision)
				}
			}
			rev := r.put(some())
			var there v1alpha1.SkillRevision
			if err := r.Live.Get(t.Context(), client.ObjectKeyFromObject(rev), &there); err != nil {
				t.Fatal(err)
			}
			if _, leaves := there.Annotations[v1alpha1.AnnotationLeaving]; leaves || there.Annotations["example.org/other"] != "stays" {
				t.Errorf("it has the annotations %v", there.Annotations)
			}
			if rev.ResourceVersion != there.ResourceVersion {
				t.Error("the version that is returned is an earlier one")
			}
			r.during = nil
			if again := r.put(some()); again.ResourceVersion != there.ResourceVersion {
				t.Error("one that is not marked is written")
			}
		})
	}
}

// Bytes of a revision that is deleted meanwhile go with it.
func TestPutOfWhatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rev := r.put(some())
	r.during = func(name string) {
		if name == rev.Name+"-1" {
			if err := r.Client.Delete(t.Context(), rev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := r.Put(t.Context(), r.owner, v1alpha1.SkillRevisionSpec{}, some()); !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v: the caller takes it for stored", err)
	}
}

// A revision that was made again meanwhile does not own the bytes that were stored for the one before.
func TestPutOfWhatIsMadeAgainMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	last := "weather-" + skill.ContentHash(sorted())[len("sha256:"):][:12] + "-1"
	r.fail[last] = errors.New("the server is gone")
	if _, err := r.Put(t.Context(), r.owner, v1alpha1.SkillRevisionSpec{}, some()); err == nil {
		t.Fatal("the bytes are all there")
	}
	delete(r.fail, last)
	r.during = func(name string) {
		if name != last {
			return
		}
		r.during = nil
		var rev v1alpha1.SkillRevision
		if err := r.Live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: strings.TrimSuffix(last, "-1")}, &rev); err != nil {
			t.Fatal(err)
		}
		if err := r.Client.Delete(t.Context(), &rev); err != nil {
			t.Fatal(err)
		}
		rev.UID, rev.ResourceVersion = "later", ""
		if err := r.Client.Create(t.Context(), &rev); err != nil {
			t.Fatal(err)
		}
	}
	if rev, err := r.Put(t.Context(), r.owner, v1alpha1.SkillRevisionSpec{}, some()); !errors.Is(err, skillstore.ErrFormer) {
		t.Errorf("%+v, %v", rev, err)
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.SkillRevision)
		chunk  func(*corev1.ConfigMap)
		want   error
		says   string
	}{
		"a revision of a former skill": {
			change: func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences[0].UID = "former" },
			want:   skillstore.ErrFormer, says: "is of an earlier Skill weather: it is going to be deleted",
		},
		"a revision of another skill": {change: func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences[0].Name = "wind" }, want: skillstore.ErrTaken, says: "not of the Skill weather"},
		"a revision of nobody":        {change: func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences = nil }, want: skillstore.ErrTaken},
		"other files":                 {change: func(rev *v1alpha1.SkillRevision) { rev.Spec.ContentHash = "sha256:00" }, want: skillstore.ErrTaken, says: "has other files"},
		"a list of other files":       {change: func(rev *v1alpha1.SkillRevision) { rev.Spec.Files[0].SHA256 = "00" }, want: skillstore.ErrTaken},
		"other parts":                 {change: func(rev *v1alpha1.SkillRevision) { rev.Spec.ConfigMapNames[0] = "mine" }, want: skillstore.ErrTaken},
		"one that is deleted": {
			change: func(rev *v1alpha1.SkillRevision) {
				rev.DeletionTimestamp, rev.Finalizers = new(metav1.Now()), []string{"example.org/wait"}
			}, want: skillstore.ErrFormer,
		},
		"a part of somebody else":       {chunk: func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }, want: skillstore.ErrTaken},
		"a part of a former revision":   {chunk: func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].UID = "former" }, want: skillstore.ErrFormer},
		"a part with something else":    {chunk: func(cm *corev1.ConfigMap) { cm.BinaryData["content"][0] ^= 1 }, want: skillstore.ErrDamaged},
		"a part with nothing":           {chunk: func(cm *corev1.ConfigMap) { cm.BinaryData = nil }, want: skillstore.ErrDamaged},
		"a part under the name of text": {chunk: func(cm *corev1.ConfigMap) { cm.BinaryData, cm.Data = nil, map[string]string{"content": "about"} }, want: skillstore.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newRig(t)
			rev := first.put(some())
			var cm corev1.ConfigMap
			if err := first.Live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: rev.Name + "-0"}, &cm); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(rev)
			}
			if tt.chunk != nil {
				tt.chunk(&cm)
			}
			r := newRig(t, rev, &cm)
			_, err := r.Put(t.Context(), r.owner, v1alpha1.SkillRevisionSpec{}, some())
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v, want %v with %q", err, tt.want, tt.says)
			}
		})
	}
}

func TestFilesAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		part func(*corev1.ConfigMap)
		rev  func(*v1alpha1.SkillRevision)
		want error
	}{
		"a byte is another":                {part: func(cm *corev1.ConfigMap) { cm.BinaryData["content"][7] ^= 1 }, want: skillstore.ErrDamaged},
		"a byte is missing":                {part: func(cm *corev1.ConfigMap) { cm.BinaryData["content"] = cm.BinaryData["content"][1:] }, want: skillstore.ErrDamaged},
		"a byte is added":                  {part: func(cm *corev1.ConfigMap) { cm.BinaryData["content"] = append(cm.BinaryData["content"], 1) }, want: skillstore.ErrDamaged},
		"a part belongs to another object": {part: func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].UID = "other" }, want: skillstore.ErrDamaged},
		"a part is nobody's":               {part: func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }, want: skillstore.ErrDamaged},
		"a part is not there":              {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.ConfigMapNames[1] = "missing" }, want: skillstore.ErrMissing},
		"a part is not named":              {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.ConfigMapNames = rev.Spec.ConfigMapNames[:1] }, want: skillstore.ErrDamaged},
		"another content hash":             {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.ContentHash = "sha256:00" }, want: skillstore.ErrDamaged},
		"a program is none":                {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.Files[3].Executable = false }, want: skillstore.ErrDamaged},
		"a size below nothing":             {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.Files[0].Size = -1 }, want: skillstore.ErrDamaged},
		"parts beyond measure":             {rev: func(rev *v1alpha1.SkillRevision) { rev.Spec.ConfigMapNames = make([]string, 33) }, want: skillstore.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			rev := r.put(some())
			if tt.part != nil {
				r.change(rev.Name+"-1", tt.part)
			}
			if tt.rev != nil {
				tt.rev(rev)
			}
			if files, err := r.Files(t.Context(), rev); !errors.Is(err, tt.want) || files != nil {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
		})
	}
}

func TestEnsureSkill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	credentials := []v1alpha1.SkillCredential{{Name: "weather_key", Hosts: []v1alpha1.Domain{"api.example.org"}}}
	made, created, err := r.EnsureSkill(t.Context(), "ns", "weather", "run-uid", credentials)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	want := &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{
			Name: "weather", Namespace: "ns", UID: made.UID, ResourceVersion: made.ResourceVersion,
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRunUID: "run-uid"},
		},
		Spec: v1alpha1.SkillSpec{Policy: v1alpha1.SkillPolicy{Credentials: credentials}},
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	again, created, err := r.EnsureSkill(t.Context(), "ns", "weather", "later-uid", nil)
	if err != nil || created || again.UID != made.UID || !cmp.Equal(again.Spec, made.Spec) || !cmp.Equal(again.Labels, made.Labels) {
		t.Errorf("a skill that is there: %v, %t, %v", again, created, err)
	}
	r.fail["wind"] = errors.New("refused")
	if _, created, err := r.EnsureSkill(t.Context(), "ns", "wind", "run-uid", nil); err == nil || created {
		t.Errorf("%t, %v", created, err)
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Skill", Name: "weather", UID: "uid", Controller: new(true)}
	for name, tt := range map[string]struct{ size, parts int }{
		"nothing": {0, 0}, "a byte": {1, 1}, "one part": {skillstore.ChunkBytes, 1}, "a byte more": {skillstore.ChunkBytes + 1, 2},
		"three parts": {skillstore.ChunkBytes*2 + 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			content := make([]byte, tt.size)
			for i := range content {
				content[i] = byte(i>>8 ^ i)
			}
			names, err := skillstore.WriteChunks(t.Context(), r.Client, owner, "ns", "weather-packages-12", map[string]string{"a": "b"}, content)
			if err != nil || len(names) != tt.parts {
				t.Fatal(names, err)
			}
			if len(names) > 0 && names[len(names)-1] != fmt.Sprintf("weather-packages-12-%d", tt.parts-1) {
				t.Errorf("the names are %s", names)
			}
			got, err := skillstore.ReadChunks(t.Context(), r.Live, "ns", names, "uid")
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes are read, %v", len(got), err)
			}
		})
	}
	r := newRig(t)
	tooMuch := make([]byte, skillstore.ChunkBytes*skillstore.MaxChunks+1)
	if _, err := skillstore.WriteChunks(t.Context(), r.Client, owner, "ns", "weather", nil, tooMuch); err == nil || len(r.writes) > 0 {
		t.Errorf("more than there may be: %v, %s", err, r.writes)
	}
}

func TestRevisionName(t *testing.T) {
	t.Parallel()
	for hash, want := range map[string]string{"sha256:" + strings.Repeat("ab", 32): "weather-abababababab", "sha256:12": "weather-12", "": "weather-"} {
		if got := skillstore.RevisionName("weather", hash); got != want {
			t.Errorf("%s: %s, want %s", hash, got, want)
		}
	}
}
