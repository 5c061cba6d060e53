// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestRefuseFiles(t *testing.T) {
	t.Parallel()
	rev := &v1alpha1.SkillRevision{Spec: v1alpha1.SkillRevisionSpec{Files: []v1alpha1.RevisionFile{{Path: "SKILL.md"}, {Path: "scripts/send.py"}}}}
	for path, refused := range map[string]bool{
		"data.csv": false, "SKILL.md.txt": false, "skill.md": false, "scripts/other.py": true, "assets/a.csv": true, "scripts/send.py.bak": true,
		"sitecustomize.py": true, "requests/__init__.py": true, ".gitconfig": true, "in/.curlrc": true, "core/__pycache__/x.pyc": true, "node_modules/a/x": true,
		"inputs/module.py": false, "data/run.sh": false, "inputs/.npmrc": true,
		"SKILL.md": true, "scripts/send.py": true, "scripts": true, "SKILL.md/x": true, "scripts/send.py/x/y": true,
	} {
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Files: []v1alpha1.InputFile{{Path: "first"}, {Path: path}}}}
		r := RefuseFiles(run, &v1alpha1.RunSkill{Name: "mail", Approved: true}, rev)
		if (r != nil) != refused {
			t.Errorf("%s: %+v", path, r)
		}
		if r != nil && (r.Reason != v1alpha1.ReasonSkillPolicyExceeded || !r.Final || !strings.HasPrefix(r.Message, "spec.files[1]: "+path+" ")) {
			t.Errorf("%s: %+v", path, r)
		}
		if r := RefuseFiles(run, &v1alpha1.RunSkill{Name: "mail"}, rev); r != nil {
			t.Errorf("%s, where nothing was approved: %+v", path, r)
		}
	}
}
