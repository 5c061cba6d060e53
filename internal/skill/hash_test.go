// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// TestContentHash has the hash of a skill for good: an approval is bound to it.
func TestContentHash(t *testing.T) {
	t.Parallel()
	files := []File{
		{Path: "scripts/run", Content: []byte("#!/bin/sh\necho ü\n"), Executable: true},
		{Path: "SKILL.md", Content: []byte(manifest)},
		{Path: "references/a b.md"},
	}
	const want = "sha256:a7d6655e830af5d0ec95ef7124be4cffa5a4f877abd58260f3e497a1aec53368"
	if got := ContentHash(files); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := ContentHash(nil); got != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("no files: %s", got)
	}
	// A computation of the hash by hand.
	cmd := exec.Command("bash", "-c", `set -euo pipefail; mkdir scripts references; : > "references/a b.md"
		printf '#!/bin/sh\necho ü\n' > scripts/run; chmod 755 scripts/run; printf %s "$1" > SKILL.md
		find . -type f -printf '%P\n' | LC_ALL=C sort | while read -r p; do echo "$([[ -x $p ]] && echo 755 || echo 644) $(sha256sum < "$p" | cut -c-64) $p"; done | sha256sum | cut -c-64`, "bash", manifest)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil || "sha256:"+string(out) != want+"\n" {
		t.Errorf("by hand: %s, %v", out, err)
	}
}

func randomFiles(r *rand.Rand) []File {
	files := make([]File, 0, 8)
	for i := range 1 + r.IntN(7) {
		content := make([]byte, r.IntN(20))
		for j := range content {
			content[j] = byte(r.Uint32())
		}
		files = append(files, File{Path: fmt.Sprintf("assets/%d %x", i, r.Uint32()), Content: content, Executable: r.IntN(2) == 0})
	}
	return files
}

// TestHashIsOfAllThereIs: the hash is that of the list, and another one as soon as a byte, a path or a mode is.
func TestHashIsOfAllThereIs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		files := randomFiles(r)
		hash := ContentHash(files)
		listed := Listed(files)
		if HashOf(listed) != hash {
			t.Fatalf("%v: %s, of the list %s", files, hash, HashOf(listed))
		}
		for i, f := range listed[1:] {
			if f.Path <= listed[i].Path {
				t.Fatalf("%v is not in the order of the paths", listed)
			}
		}
		slices.Reverse(listed)
		if HashOf(listed) != hash {
			t.Fatalf("%v: the order of the list matters", files)
		}
		shuffled := slices.Clone(files)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if ContentHash(shuffled) != hash {
			t.Fatalf("%v: the order matters", files)
		}
		i := r.IntN(len(files))
		change := func(name string, do func(f *File)) {
			other := slices.Clone(files)
			do(&other[i])
			if ContentHash(other) == hash {
				t.Errorf("%s of %v does not matter", name, files[i])
			}
			d := Compare(listed, Listed(other))
			if d.Changed == nil && (d.Added == nil || d.Deleted == nil) {
				t.Errorf("%s of %v is no change: %v", name, files[i], d)
			}
		}
		change("mode", func(f *File) { f.Executable = !f.Executable })
		change("path", func(f *File) { f.Path += "x" })
		change("one byte more", func(f *File) { f.Content = append(slices.Clone(f.Content), 0) })
		if len(files[i].Content) > 0 {
			change("a bit", func(f *File) {
				f.Content = slices.Clone(f.Content)
				f.Content[r.IntN(len(f.Content))] ^= 1 << r.IntN(8)
			})
		}
		if ContentHash(slices.Delete(slices.Clone(files), i, i+1)) == hash || ContentHash(append(slices.Clone(files), File{Path: "new"})) == hash {
			t.Error("a file more or less does not matter")
		}
	}
}

// TestHashKeepsFilesApart: moving bytes from one file into another changes the hash.
func TestHashKeepsFilesApart(t *testing.T) {
	t.Parallel()
	a := []File{{Path: "assets/a", Content: []byte("12")}, {Path: "assets/b", Content: []byte("3")}}
	b := []File{{Path: "assets/a", Content: []byte("1")}, {Path: "assets/b", Content: []byte("23")}}
	c := []File{{Path: "assets/a", Content: []byte("3")}, {Path: "assets/b", Content: []byte("12")}}
	if ContentHash(a) == ContentHash(b) || ContentHash(a) == ContentHash(c) {
		t.Error("two skills have one hash")
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	got := Listed([]File{{Path: "b", Content: []byte("abc"), Executable: true}, {Path: "a"}})
	want := []v1alpha1.RevisionFile{
		{Path: "a", SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{Path: "b", Size: 3, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Executable: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	of := func(files ...string) []v1alpha1.RevisionFile {
		var all []v1alpha1.RevisionFile
		for _, f := range files {
			all = append(all, v1alpha1.RevisionFile{Path: f[:1], SHA256: f[1:2], Executable: len(f) > 2})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		base, now []v1alpha1.RevisionFile
		want      Diff
	}{
		{"nothing", nil, nil, Diff{}},
		{"the same in another order", of("a1", "b2x"), of("b2x", "a1"), Diff{}},
		{"all new", nil, of("b1", "a1"), Diff{Added: []string{"a", "b"}}},
		{"all gone", of("b1", "a1"), nil, Diff{Deleted: []string{"a", "b"}}},
		{"mode", of("a1", "b1x"), of("a1x", "b1"), Diff{Changed: []string{"a", "b"}}},
		{"renamed", of("a1"), of("b1"), Diff{Added: []string{"b"}, Deleted: []string{"a"}}},
		{"all kinds", of("a1", "b1", "c1", "d1"), of("e1", "d2", "b2", "c1"), Diff{Changed: []string{"b", "d"}, Added: []string{"e"}, Deleted: []string{"a"}}},
	} {
		if got := Compare(c.base, c.now); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
