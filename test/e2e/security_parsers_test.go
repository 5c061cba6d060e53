// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// hostileFiles are what the parsers of the manager like least, each as large as a skill may be in the object itself.
func hostileFiles() map[string]string {
	const size = 128 << 10
	files := map[string]string{}
	for name, unit := range map[string]string{
		"pipes": "a|", "lists": "a&&", "not": "! ", "conditions": "if ", "times": "time ", "arithmetic": "$((", "parameters": "${a:", "tests": "[[ ! ", "brackets": "(", "commands": "$(", "functions": "f()",
		"documents": "<<a\n", "lines": "a\n", "keys": "api_key = '", "hosts": "https://a.example/ ", "base64": "QUJD",
	} {
		files[name] = strings.Repeat(unit, size/len(unit))
	}
	return files
}

// A tenant with nothing but edit does its worst to whoever reads its skills. The runs of another one go on meanwhile, and no manager ends.
func TestSecurityParsersHold(t *testing.T) {
	t.Parallel()
	ns, other := newNamespace(t, "parsers"), modelNamespace(t, "beside")
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: ` + ns + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`
	if _, stderr, err := tryKubectl(t.Context(), role, "apply", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
	before := restartsOfManagers(t)
	var names []string
	for kind, content := range hostileFiles() {
		s := &v1alpha1.Skill{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skill"}, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deep-" + kind}}
		files := []v1alpha1.SkillFile{{Path: "SKILL.md", Content: "---\nname: " + s.Name + "\ndescription: x\n---\n"}}
		// The cluster stores an object with < and & written as six bytes each, and takes none of more than 1.5 MiB.
		stored, err := json.Marshal(content)
		must(t, err)
		for i := range min(3, 1<<20/len(stored)) {
			files = append(files, v1alpha1.SkillFile{Path: fmt.Sprintf("scripts/%d.sh", i), Content: content})
		}
		s.Spec.Source = &v1alpha1.SkillSource{Files: files}
		manifest, err := json.Marshal(s)
		must(t, err)
		if _, stderr, err := tryKubectl(t.Context(), string(manifest), "--as=mallory", "create", "-f", "-"); err != nil {
			t.Fatal(err, stderr)
		}
		names = append(names, s.Name)
	}
	for range 3 {
		run := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Namespace = other })
		wantCompleted(t, run, 2*soon)
	}
	for _, name := range names {
		awaitSkill(t, ns, name, 4*soon, "reviewed", func(s *v1alpha1.Skill) bool { return s.Status.State == v1alpha1.SkillReviewed })
	}
	for name, n := range restartsOfManagers(t) {
		if was, there := before[name]; there && n != was {
			t.Errorf("the manager %s was started %d times more", name, n-was)
		}
	}
}

// restartsOfManagers is how often each manager was started again.
func restartsOfManagers(t *testing.T) map[string]int32 {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	list := map[string]int32{}
	for i := range pods {
		list[pods[i].Name] = restarts(&pods[i])
	}
	return list
}
