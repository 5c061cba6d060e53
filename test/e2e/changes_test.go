// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A run that changes the files that it was given leaves a diff, with which a person has the same files.
func TestChangesReachThePerson(t *testing.T) {
	t.Parallel()
	given := map[string]string{"src/numbers.txt": "one\ntwo\n", "old.txt": "x\n", "kept.txt": "same\n"}
	done := wantCompleted(t, startRun(t, "changes", func(r *v1alpha1.MotorRun) {
		for path, content := range given {
			r.Spec.Files = append(r.Spec.Files, v1alpha1.InputFile{Path: path, Content: &content})
		}
	}), soon)
	a := artifact(done.Status.Result.Artifacts, toolapi.DiffName)
	if a == nil || a.ConfigMapName == "" || len(done.Status.Result.Artifacts) != 1 {
		t.Fatalf("the artifacts are %+v", done.Status.Result.Artifacts)
	}
	var cm corev1.ConfigMap
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: done.Namespace, Name: a.ConfigMapName}, &cm))
	diff := []byte(cm.Data["content"])
	if head, _, _ := strings.Cut(string(diff), "diff --git "); !strings.Contains(head, "node_modules/") {
		t.Errorf("what is left out is not named:\n%s", head)
	}

	dir := t.TempDir()
	for path, content := range given {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "git", "apply")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, diff)
	}
	for path, want := range map[string]string{
		"src/numbers.txt": "one\nTWO\n", "src/a new file.txt": "three, without an end", "src/zeros": strings.Repeat("\x00", 64), "run.sh": "#!/bin/sh\n",
		"kept.txt": "same\n", "old.txt": "", "node_modules/x/index.js": "",
	} {
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if string(content) != want {
			t.Errorf("%s is %q, want %q", path, content, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run.sh is no program: %v, %v", info, err)
	}
}
