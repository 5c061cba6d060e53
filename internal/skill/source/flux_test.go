// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"archive/tar"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

// fluxObject is a GitRepository with an artifact.
func fluxObject(name string, artifact map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(skillsource.FluxVersion.WithKind("GitRepository"))
	o.SetName(name)
	if artifact != nil {
		o.Object["status"] = map[string]any{"artifact": artifact}
	}
	return o
}

func TestFlux(t *testing.T) {
	t.Parallel()
	repository := zipped(t, packed(t,
		entry{name: "README.md", content: "read"}, entry{name: "latest", kind: tar.TypeSymlink, link: "skills/weather"},
		entry{name: "skills/weather/", kind: tar.TypeDir}, entry{name: "skills/weather/SKILL.md", content: manifest},
		entry{name: "skills/weather/scripts/send.sh", content: "send", mode: 0o755}, entry{name: "skills/weather2/SKILL.md", content: "other"}))
	linked := zipped(t, packed(t, entry{name: "skills/weather/SKILL.md", kind: tar.TypeSymlink, link: "/etc/passwd"}))
	// Bytes after the archive are part of the digest too.
	long := append(zipped(t, packedFiles(t, map[string]string{"SKILL.md": manifest})), make([]byte, 51<<20)...)
	served := map[string][]byte{"/repository.tar.gz": repository, "/linked.tar.gz": linked, "/long.tar.gz": long}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		// File servers treat names that end in .gz like this.
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	artifact := func(path string, data []byte) map[string]any {
		return map[string]any{"url": server.URL + path, "digest": digest(data), "revision": "main@sha1:abc"}
	}
	live := cluster(t, fluxObject("good", artifact("/repository.tar.gz", repository)), fluxObject("linked", artifact("/linked.tar.gz", linked)),
		fluxObject("changed", artifact("/repository.tar.gz", linked)), fluxObject("long", artifact("/long.tar.gz", long)),
		fluxObject("gone", artifact("/gone.tar.gz", nil)), fluxObject("young", nil),
		fluxObject("sha512", map[string]any{"url": server.URL + "/repository.tar.gz", "digest": "sha512:00"}),
		fluxObject("plain", map[string]any{"url": "http://192.0.2.1/a.tar.gz", "digest": digest(nil)}),
		fluxObject("odd", map[string]any{"url": "file:///etc/passwd", "digest": digest(nil)}))
	weather := map[string]string{"SKILL.md": manifest, "scripts/send.sh": "x send"}
	tests := map[string]struct {
		name, path string
		want       map[string]string
		reason     string
		message    string
		transient  bool
	}{
		"a folder":                    {name: "good", path: "skills/weather", want: weather},
		"a folder, written otherwise": {name: "good", path: "./skills//weather/", want: weather},
		"no such folder":              {name: "good", path: "skills/wind", reason: v1alpha1.ReasonSourceNotFound, message: `no files in the folder "skills/wind"`},
		"a folder that is a link":     {name: "good", path: "latest", reason: v1alpha1.ReasonSkillInvalid, message: `"latest" in the archive is a link`},
		"a link below the folder":     {name: "linked", path: "skills/weather", reason: v1alpha1.ReasonSkillInvalid, message: `"skills/weather/SKILL.md" in the archive is a link`},
		"a link in all of it":         {name: "good", reason: v1alpha1.ReasonSkillInvalid, message: `"latest"`},
		"a file for a folder":         {name: "good", path: "README.md", reason: v1alpha1.ReasonSkillInvalid, message: `"README.md" in the archive is no folder`},
		"a path out of it":            {name: "good", path: "skills/../../secrets", reason: v1alpha1.ReasonSourceNotFound, message: "is not within the source"},
		"an absolute path":            {name: "good", path: "/etc", reason: v1alpha1.ReasonSourceNotFound, message: "is not within the source"},
		"other bytes":                 {name: "changed", path: "skills/weather", reason: v1alpha1.ReasonSourceUnavailable, message: "other bytes than its digest", transient: true},
		"too many bytes":              {name: "long", reason: v1alpha1.ReasonSkillTooLarge, message: "more than 50 MiB"},
		"no artifact yet":             {name: "young", reason: v1alpha1.ReasonSourceUnavailable, message: "The GitRepository young has no artifact yet", transient: true},
		"an artifact that is gone":    {name: "gone", reason: v1alpha1.ReasonSourceUnavailable, message: "the status 404", transient: true},
		"another digest":              {name: "sha512", reason: v1alpha1.ReasonSourceUnavailable, message: "no sha256 digest", transient: true},
		"no TLS":                      {name: "plain", reason: v1alpha1.ReasonSourceUnavailable, message: "without TLS", transient: true},
		"no address of the network":   {name: "odd", reason: v1alpha1.ReasonSourceUnavailable, message: "an address that is none", transient: true},
		"no such object":              {name: "missing", reason: v1alpha1.ReasonSourceNotFound, message: "There is no GitRepository missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&skillsource.Reader{Live: live}).Read(t.Context(), "ns",
				&v1alpha1.SkillSource{Flux: &v1alpha1.SkillFlux{Kind: "GitRepository", Name: tt.name, Path: tt.path}})
			if tt.reason != "" {
				if p := problem(t, err, tt.reason, tt.message); p.Transient != tt.transient {
					t.Errorf("transient is %t", p.Transient)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, got.Files, tt.want)
			if got.Origin != "main@sha1:abc" {
				t.Errorf("origin %q", got.Origin)
			}
		})
	}
}

func TestFluxIsNotInstalled(t *testing.T) {
	t.Parallel()
	live := interceptor.NewClient(cluster(t), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			kind := o.GetObjectKind().GroupVersionKind()
			return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
		},
	})
	_, err := (&skillsource.Reader{Live: live}).Read(t.Context(), "ns", &v1alpha1.SkillSource{Flux: &v1alpha1.SkillFlux{Kind: "Bucket", Name: "skills"}})
	if p := problem(t, err, v1alpha1.ReasonFluxNotInstalled, "no kind Bucket of source.toolkit.fluxcd.io/v1"); p.Transient {
		t.Error("it is said to go away by itself")
	}
}

// The end of the manager is no problem of a skill.
func TestTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	source := &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: strings.TrimPrefix(server.URL, "http://") + "/skill:v1"}}
	if _, err := (&skillsource.Reader{}).Read(ctx, "ns", source); err != context.Canceled { //nolint:errorlint // It says nothing else.
		t.Errorf("the error is %v", err)
	}
}
