// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// sample builds a small image of a program file that was last changed at the given time.
func sample(t *testing.T, content string, changed time.Time) v1.Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(program, changed, changed); err != nil {
		t.Fatal(err)
	}
	layer, err := Layer(
		Entry{Path: "/usr/bin/program", Mode: 0o755, From: program},
		Entry{Path: "/workspace/", Mode: 0o755, Owner: Nonroot},
		Entry{Path: "/etc/passwd", Mode: 0o644, Content: []byte("root\n")},
	)
	if err != nil {
		t.Fatal(err)
	}
	img, err := New(v1.Config{Entrypoint: []string{"/usr/bin/program"}, User: "65532:65532"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func reference(t *testing.T, img v1.Image) string {
	t.Helper()
	name, err := Reference("sample", img)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSameContentSameDigest(t *testing.T) {
	now := time.Now()
	first := reference(t, sample(t, "program", now))
	if second := reference(t, sample(t, "program", now.Add(time.Hour))); first != second {
		t.Errorf("built twice: %s and %s", first, second)
	}
	if other := reference(t, sample(t, "another", now)); first == other {
		t.Errorf("different content has the same name %s", other)
	}
	if !strings.HasPrefix(first, "motorcortex.dev/sample:dev-") {
		t.Errorf("the name is %s", first)
	}
}

func TestLayerHoldsFoldersBeforeTheirFiles(t *testing.T) {
	layers, err := sample(t, "program", time.Now()).Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	type file struct {
		Name  string
		Mode  int64
		Owner int
	}
	var got []file
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, file{header.Name, header.Mode, header.Uid})
		if !header.ModTime.Equal(epoch) {
			t.Errorf("%s has the time %s", header.Name, header.ModTime)
		}
	}
	want := []file{
		{"etc/", 0o755, 0}, {"etc/passwd", 0o644, 0}, {"usr/", 0o755, 0}, {"usr/bin/", 0o755, 0},
		{"usr/bin/program", 0o755, 0}, {"workspace/", 0o755, Nonroot},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestArchiveRoundTrip(t *testing.T) {
	img := sample(t, "program", time.Now())
	name := reference(t, img)
	file := filepath.Join(t.TempDir(), "deep", "sample.tar")
	if err := WriteArchive(file, name, img); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	gotName, gotDigest, err := ReadName(file)
	if err != nil || gotName != name || gotDigest != digest.String() {
		t.Errorf("ReadName() = %s, %s, %v; want %s, %s", gotName, gotDigest, err, name, digest)
	}
	read, cleanup, err := ReadArchive(file)
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	if err := validate.Image(read); err != nil {
		t.Errorf("the image that was read back is invalid: %v", err)
	}
	if again, err := read.Digest(); err != nil || again != digest {
		t.Errorf("it was written as %s and read as %s, %v", digest, again, err)
	}
}

func TestReadNameOfSomethingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.tar")
	if err := os.WriteFile(file, make([]byte, 2048), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadName(file); err == nil {
		t.Error("an archive without an index was accepted")
	}
}

func TestStoredLayerIsTheLayerItWasMadeOf(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "root.tar")
	out, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	writer := tar.NewWriter(out)
	if err := writeEntry(writer, Entry{Path: "/hello", Mode: 0o644, Content: []byte("hello")}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	stored, err := StoreLayer(archive, filepath.Join(dir, "root.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := LayerFrom(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []func(v1.Layer) (v1.Hash, error){v1.Layer.Digest, v1.Layer.DiffID} {
		want, err := question(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := question(stored); err != nil || got != want {
			t.Errorf("stored %s, want %s, %v", got, want, err)
		}
	}
}
