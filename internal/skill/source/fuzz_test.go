// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

// FuzzArtifact has a registry answer anything: its manifest, and one body for all that the manifest names. "<digest>" and "<size>" in the
// manifest stand for those of that body. The result is files within a skill's bounds, or a problem that can be displayed.
func FuzzArtifact(f *testing.F) {
	f.Add("application/vnd.oci.image.manifest.v1+json", []byte(`{"layers":[{"digest":"<digest>","size":<size>,"annotations":{"org.opencontainers.image.title":"SKILL.md"}}]}`), []byte(manifest))
	f.Fuzz(func(t *testing.T, kind string, text, body []byte) {
		text = bytes.ReplaceAll(text, []byte("<digest>"), []byte(digest(body)))
		text = bytes.ReplaceAll(text, []byte("<size>"), strconv.AppendInt(nil, int64(len(body)), 10))
		answers := transport(func(req *http.Request) (*http.Response, error) {
			content, media := body, "application/octet-stream"
			if strings.HasSuffix(req.URL.Path, "/manifests/tag") {
				content, media = text, kind
			} else if strings.Contains(req.URL.Path, "/manifests/") {
				media = "application/vnd.oci.image.manifest.v1+json"
			}
			header := http.Header{"Content-Type": {media}, "Docker-Content-Digest": {digest(content)}}
			return &http.Response{
				StatusCode: http.StatusOK, Header: header, ContentLength: int64(len(content)), Body: io.NopCloser(bytes.NewReader(content)), Request: req,
			}, nil
		})
		reader := skillsource.Reader{HTTP: &http.Client{Transport: answers}}
		got, err := reader.Read(t.Context(), "ns", &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "registry.test/team/skill:tag"}})
		if p, ok := errors.AsType[*skillsource.Problem](err); err != nil && (!ok || len(p.Message) > 4<<10 || strings.ContainsFunc(p.Message, func(c rune) bool { return c < ' ' })) {
			t.Fatalf("no problem that can be shown, but %v", err)
		}
		size, seen := 0, map[string]bool{}
		for _, file := range got.Files {
			size += len(file.Content)
			if seen[file.Path] {
				t.Errorf("the path %q is there twice", file.Path)
			}
			seen[file.Path] = true
		}
		if err != nil && len(got.Files) > 0 || size > skill.MaxTotalBytes+64<<20 {
			t.Errorf("%d files of %d bytes, and %v", len(got.Files), size, err)
		}
		if err == nil && got.Origin != digest(text) {
			t.Errorf("the origin is %s", got.Origin)
		}
		if _, files, err := skill.Check("", got.Files); err == nil {
			for _, file := range files {
				if path.IsAbs(file.Path) || path.Clean(file.Path) != file.Path || strings.HasPrefix(file.Path, "../") {
					t.Errorf("the path %q is a skill's", file.Path)
				}
			}
		}
	})
}
