// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// The skill in Git carries the hashes of what lies beside it, and every sample skill is one.
func TestSampleSkillsAreSkills(t *testing.T) {
	t.Parallel()
	for file, folder := range map[string]string{
		"gitops/release-notes.yaml": "gitops/skills/release-notes", "skills/agentmail.yaml": "skills/agentmail",
		"skills/sales-report.yaml": "skills/sales-report", "skills/unit-tests.yaml": "skills/unit-tests",
	} {
		var s v1alpha1.Skill
		if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join("config/samples", file))), &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_, files, err := skill.Check(s.Name, folderFiles(t, filepath.Join(root, "config/samples", folder)))
		if err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		if err := skill.CheckPolicy(&s.Spec.Policy); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if a := s.Spec.Approval; a != nil && (a.ContentHash != skill.ContentHash(files) || a.PolicyHash != skill.PolicyHash(&s.Spec.Policy)) {
			t.Errorf("%s approves %s %s, and is %s %s", file, a.ContentHash, a.PolicyHash, skill.ContentHash(files), skill.PolicyHash(&s.Spec.Policy))
		}
	}
}

func folderFiles(t *testing.T, dir string) []skill.File {
	t.Helper()
	var files []skill.File
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, skill.File{Path: filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))), Content: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
