// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

func TestThePushedFolderIsWhatTheOperatorReads(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/skills/weather:v1"
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "weather")
	fill(t, dir, map[string]string{"SKILL.md": manifest, "scripts/send.sh": "#!/bin/sh\n", "assets/logo.png": "\x89\xff\x00", "node_modules/x.js": "no part"})
	r.want(0, []string{"push", dir, "oci://" + reference}, "reference:   "+reference, "digest:      sha256:")
	got, err := (&skillsource.Reader{}).Read(t.Context(), "ns", &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: reference}})
	if err != nil {
		t.Fatal(err)
	}
	_, files, err := skill.Check("weather", got.Files)
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	// What is pushed, and what an approval would bind, are the same.
	r.want(0, []string{"push", dir, reference}, "digest:      "+got.Origin+"\n", "contentHash: "+skill.ContentHash(files)+"\n")
	r.want(1, []string{"push", t.TempDir(), reference}, "SKILL.md: it is missing")
	r.want(1, []string{"push", dir, strings.TrimSuffix(reference, ":v1")}, "is not REGISTRY/REPOSITORY:TAG")
	r.want(4, []string{"push", dir}, "the REGISTRY/REPOSITORY:TAG is missing")
}
