// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestSkillsAreBounded(t *testing.T) {
	s := newSandbox(t)
	for i := range toolapi.MaxSkillFolders + 3 {
		s.write(fmt.Sprintf("skills/s%02d/SKILL.md", i), "x")
	}
	s.write("skills/s00/references/a", "x")
	for i := range toolapi.MaxSkillFiles {
		s.write(fmt.Sprintf("skills/s01/references/%04d", i), "x")
	}
	for i := range 11 {
		s.write(fmt.Sprintf("skills/s02/assets/%d", i), strings.Repeat("x", toolapi.MaxSkillFileBytes))
	}
	s.write("skills/s03/references/"+strings.Repeat("z/", maxDepth)+"file", "x")
	list := s.skills()
	if len(list.Folders) != toolapi.MaxSkillFolders || list.Omitted != 3 {
		t.Errorf("%d folders, and %d more", len(list.Folders), list.Omitted)
	}
	for i, f := range list.Folders {
		want := toolapi.SkillFolder{Path: fmt.Sprintf("skills/s%02d", i), Files: []toolapi.SkillFile{skillFile("SKILL.md", "x")}}
		switch i {
		case 0:
			want.Files = append(want.Files, skillFile("references/a", "x"))
		case 1, 2, 3:
			want.Files, want.Problem = nil, toolapi.ProblemTooLarge
		}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}

	// Files that belong to no skill have a bounded cost.
	s.write("SKILL.md", "x")
	s.write("assets/a", "x")
	s.write("scripts/a", "x")
	for i := range 2 * maxWalked / 3 {
		for _, dir := range []string{"assets", "scripts"} {
			ok(t, os.WriteFile(fmt.Sprintf("%s/%s/%05d.log", s.workspace, dir, i), nil, 0o600))
		}
	}
	list = s.skills()
	if len(list.Folders) != 1 || list.Folders[0].Problem != toolapi.ProblemTooLarge || list.Omitted == 0 {
		t.Errorf("%+v", list)
	}
}
