// SPDX-License-Identifier: Apache-2.0

package bucket_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
)

// bucketKinds stands in the error of every other URL.
const bucketKinds = "s3://NAME, gs://NAME, azblob://CONTAINER or file:///FOLDER"

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ url, want string }{
		"a folder":             {"file://" + folder, ""},
		"a part of it":         {"file://" + folder + "?prefix=a/b/", ""},
		"nothing":              {"", bucketKinds},
		"a path":               {folder, bucketKinds},
		"two slashes":          {"file://archives/steps", "three slashes"},
		"relative":             {"file:archives", "three slashes"},
		"no such folder":       {"file://" + folder + "/missing", "no such file"},
		"a file":               {"file://" + file, "not a directory"},
		"unknown parameter":    {"file://" + folder + "?creat_dir=1", "creat_dir"},
		"one key for all":      {"file://" + folder + "?key=a", "one object"},
		"another kind":         {"ftp://archives", bucketKinds},
		"no URL":               {"s3://a b\x7f", "no URL"},
		"S3 without a name":    {"s3:///archives", "name of the bucket is missing"},
		"S3 unknown parameter": {"s3://archives?regio=eu-1", "regio"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bucket.Open(t.Context(), tt.url)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Check(t.Context()); err != nil {
					t.Error(err)
				}
				_ = b.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := bucket.Open(t.Context(), "ftp://user:hidden@archives"); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error shows the password: %v", err)
	}
}

// text writes a text.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, b *bucket.Bucket, key string) string {
	t.Helper()
	r, err := b.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tryBucket checks the requirements on every kind of bucket.
func tryBucket(t *testing.T, url string) {
	b, err := bucket.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	const key = "ns/run/uid.jsonl"
	if _, err := b.Read(t.Context(), key); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("reading nothing: %v", err)
	}
	stop := errors.New("stop")
	err = b.Write(t.Context(), key, func(w io.Writer) error { return errors.Join(text("half")(w), stop) })
	if !errors.Is(err, stop) {
		t.Errorf("a write that was given up: %v", err)
	}
	if _, err := b.Read(t.Context(), key); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("half of a write is there: %v", err)
	}
	whole := strings.Repeat("a line\n", 2_000_000) // more than one part
	if err := b.Write(t.Context(), key, text(whole)); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), key, text("other")); !errors.Is(err, archive.ErrExists) {
		t.Errorf("a second write: %v", err)
	}
	if err := b.Write(t.Context(), key, text("other\n"+whole)); !errors.Is(err, archive.ErrExists) {
		t.Errorf("a second write of more than one part: %v", err)
	}
	if got := read(t, b, key); got != whole {
		t.Errorf("it holds %d bytes, %d were written", len(got), len(whole))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ended, "ns/run/other.jsonl", text("x")); err == nil {
		t.Error("a write without time for it succeeded")
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tryBucket(t, "file://"+folder)
	tryBucket(t, "file://"+folder+"?prefix=a/b/")
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, folder))
		}
		return err
	})
	if diff := cmp.Diff([]string{"/a/b/ns/run/uid.jsonl", "/ns/run/uid.jsonl"}, files); diff != "" || err != nil {
		t.Errorf("files in the folder (-want +got), %v:\n%s", err, diff)
	}
}

func TestKeysStayInTheFolder(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	folder := filepath.Join(outer, "archives")
	b, err := bucket.Open(t.Context(), "file://"+folder+"?create_dir=1")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, key := range []string{"../out.jsonl", "ns/../../out.jsonl", "/../out.jsonl"} {
		// It may be refused, or be another name. It must not be outside.
		_ = b.Write(t.Context(), key, text("x"))
	}
	if entries, err := os.ReadDir(outer); err != nil || len(entries) != 1 {
		t.Errorf("the outer folder has %v (%v)", entries, err)
	}
}

func TestFolderThatGoes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "archives")
	b, err := bucket.Open(t.Context(), "file://"+folder+"?create_dir=1")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), "ns/run/uid.jsonl", text("x")); err == nil || errors.Is(err, archive.ErrExists) {
		t.Errorf("got %v", err)
	}
}
