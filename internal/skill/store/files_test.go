// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// notedReads records the names of the objects that are read.
type notedReads struct {
	client.Reader
	names []string
}

func (n *notedReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	n.names = append(n.names, key.Name)
	return n.Reader.Get(ctx, key, o, opts...)
}

// large are files of several ConfigMaps, two of which end in the middle of a file.
func large() []skill.File {
	return []skill.File{
		{Path: "SKILL.md", Content: []byte("about")}, {Path: "assets/a", Content: bytes.Repeat([]byte("a"), skill.MaxFileBytes)},
		{Path: "assets/b", Content: bytes.Repeat([]byte("b"), skill.MaxFileBytes)}, {Path: "scripts/none", Content: []byte{}},
	}
}

// Only the ConfigMaps that hold a file are read for it.
func TestFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rev := r.put(large())
	reads := &notedReads{Reader: r.Live}
	store := &skillstore.Store{Client: r.Client, Live: reads}
	part := func(numbers ...int) (names []string) {
		for _, n := range numbers {
			names = append(names, fmt.Sprintf("%s-%d", rev.Name, n))
		}
		return names
	}
	for i, want := range [][]string{part(0), part(0, 1), part(1, 2), part(2)} {
		reads.names = nil
		f := large()[i]
		got, err := store.File(t.Context(), rev, f.Path)
		if err != nil || !cmp.Equal(got, f) {
			t.Errorf("%s: %d bytes, %v", f.Path, len(got.Content), err)
		}
		if f.Path != "scripts/none" && !slices.Equal(reads.names, want) {
			t.Errorf("for %s it reads %s, want %s", f.Path, reads.names, want)
		}
	}
	if _, err := store.File(t.Context(), rev, "assets/c"); !errors.Is(err, skillstore.ErrDamaged) {
		t.Errorf("what is not there: %v", err)
	}
	r.change(rev.Name+"-1", func(cm *corev1.ConfigMap) { cm.BinaryData["content"][9] ^= 1 })
	if _, err := store.File(t.Context(), rev, "assets/a"); !errors.Is(err, skillstore.ErrDamaged) {
		t.Errorf("another file: %v", err)
	}
	rev.Spec.Files[0].Size++
	if _, err := store.File(t.Context(), rev, "assets/b"); !errors.Is(err, skillstore.ErrDamaged) {
		t.Errorf("another place: %v", err)
	}
	rev.Spec.Files[0].Size = skillstore.MaxChunks * skillstore.ChunkBytes
	if _, err := store.File(t.Context(), rev, "SKILL.md"); !errors.Is(err, skillstore.ErrDamaged) {
		t.Errorf("more than there can be: %v", err)
	}
}

// A file is yielded before the next ConfigMap is read, and nothing more is read for a caller that stops.
func TestEachReadsAsItIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rev := r.put(large())
	reads := &notedReads{Reader: r.Live}
	store := &skillstore.Store{Client: r.Client, Live: reads}
	var got []int
	for _, err := range store.Each(t.Context(), rev) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, len(reads.names))
	}
	if diff := cmp.Diff([]int{1, 2, 3, 3}, got); diff != "" {
		t.Errorf("ConfigMaps read with each file (-want +got):\n%s", diff)
	}
	reads.names = nil
	for range store.Each(t.Context(), rev) {
		break
	}
	if len(reads.names) != 1 {
		t.Errorf("for one file it reads %s", reads.names)
	}
	rev.Spec.ConfigMapNames[1] = "missing"
	var errs []error
	for _, err := range store.Each(t.Context(), rev) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], skillstore.ErrMissing) {
		t.Errorf("without a part it gives %v", errs)
	}
}
