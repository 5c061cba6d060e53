// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

const manifest = "---\nname: weather\ndescription: Tells the weather.\n---\nAsk the service.\n"

// cluster is an API with these objects.
func cluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		o.SetNamespace("ns")
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// problem fails the test unless the error is a Problem with that reason, all of these parts, and no secret.
func problem(t *testing.T, err error, reason string, parts ...string) *skillsource.Problem {
	t.Helper()
	p, ok := errors.AsType[*skillsource.Problem](err)
	if !ok {
		t.Fatalf("no problem, but %v", err)
	}
	if p.Reason != reason {
		t.Errorf("the reason is %s, want %s: %s", p.Reason, reason, p.Message)
	}
	for _, part := range parts {
		if !strings.Contains(p.Message, part) {
			t.Errorf("the message does not say %q: %s", part, p.Message)
		}
	}
	for _, secret := range []string{"hunter2", "signature"} {
		if strings.Contains(p.Message, secret) {
			t.Errorf("the message has a secret: %s", p.Message)
		}
	}
	return p
}

// texts are files by their path, an x before the content of programs.
func texts(files []skill.File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Path] = string(f.Content)
		if f.Executable {
			m[f.Path] = "x " + m[f.Path]
		}
	}
	return m
}

// wantFiles fails the test unless these are the files.
func wantFiles(t *testing.T, got []skill.File, want map[string]string) {
	t.Helper()
	if have := texts(got); !maps.Equal(have, want) || len(got) != len(want) {
		t.Errorf("the files are %q, want %q", have, want)
	}
}

// entry of an archive.
type entry struct {
	name, content string
	kind          byte
	mode          int64
	link          string
}

// packed is a tar archive.
func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Linkname: e.link, Size: int64(len(e.content))}
		switch e.kind {
		case tar.TypeXGlobalHeader:
			h = &tar.Header{Typeflag: e.kind, PAXRecords: map[string]string{"comment": e.content}}
		case 0:
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(e.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packedFiles is an archive of files.
func packedFiles(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, entry{name: name, content: files[name], mode: 0o644})
	}
	return packed(t, entries...)
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
