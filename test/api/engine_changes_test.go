// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// withFiles returns the run files.
func withFiles(files map[string]string) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		for path, content := range files {
			run.Spec.Files = append(run.Spec.Files, v1alpha1.InputFile{Path: path, Content: &content})
		}
	}
}

// changes are the files that a person has who applies the run's diff to what was given, by those names; a file that there is not is "".
func (r *engineRig) changes(list *v1alpha1.ArtifactList, given map[string]string, names ...string) map[string]string {
	r.t.Helper()
	var diff string
	if list != nil {
		for _, a := range list.Files {
			if a.Path == "workspace.diff" {
				diff = r.configMaps()[a.ConfigMapName]
				if a.Skipped != "" || a.SHA256 != hexSum(diff) || a.MediaType != "text/x-diff" {
					r.t.Errorf("%+v", a)
				}
			}
		}
	}
	if diff == "" {
		r.t.Fatalf("there is no diff in %+v", list)
	}
	dir := r.t.TempDir()
	for path, content := range given {
		must(r.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		must(r.t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644))
	}
	cmd := exec.CommandContext(r.ctx, "git", "apply")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader([]byte(diff))
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git apply: %v\n%s\n%s", err, out, diff)
	}
	got := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			r.t.Fatal(err)
		}
		got[name] = string(content)
	}
	return got
}

// isKept compares the list with path= of what is kept and path!reason of what is not.
func isKept(t *testing.T, list *v1alpha1.ArtifactList, want ...string) {
	t.Helper()
	var got []string
	if list != nil {
		for _, a := range list.Files {
			if a.Skipped != "" {
				got = append(got, a.Path+"!"+string(a.Skipped))
			} else {
				got = append(got, a.Path+"=")
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}

// What a model does to the files that it was given reaches the person, at a pause and at the end.
func TestEngineKeepsChanges(t *testing.T) {
	given := map[string]string{"src/a.txt": "one\ntwo\n", "gone.txt": "x\n"}
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("echo ONE > src/a.txt; echo new > src/b.txt; mkdir -p artifacts dist; echo out > artifacts/out.txt; echo js > dist/app.js")),
		says("", call("ask_user", `{"question":"Go on?"}`)),
		says("", bashCall("rm gone.txt; echo more >> src/b.txt")),
		says("", call("finish", `{"status":"Succeeded","summary":"Done.","files":["dist"]}`)),
	}}, withFiles(given))
	r.startEngineWith("worker-1", callsFinish)
	steps := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 2 && s[1].Status.Artifacts != nil })
	isKept(t, steps[1].Status.Artifacts, "artifacts/out.txt=", "workspace.diff=")
	if got := r.changes(steps[1].Status.Artifacts, given, "src/a.txt", "src/b.txt", "gone.txt", "dist/app.js"); got["src/a.txt"] != "ONE\n" || got["src/b.txt"] != "new\n" || got["gone.txt"] != "x\n" || got["dist/app.js"] != "" {
		t.Errorf("at the pause there is %q", got)
	}
	respond(r.ctx, t, r.run, runpolicy.ReadJournal(r.run, steps).Pending.ID, "yes")
	steps = r.ended(5)
	list := steps[len(steps)-1].Status.Artifacts
	isKept(t, list, "artifacts/out.txt=", "workspace.diff=")
	if got := r.changes(list, given, "src/b.txt", "gone.txt", "dist/app.js"); got["src/b.txt"] != "new\nmore\n" || got["gone.txt"] != "" || got["dist/app.js"] != "js\n" {
		t.Errorf("at the end there is %q", got)
	}
	r.waitFor(func() bool { return len(r.configMaps()) == 2 })
}

func TestEngineKeepsChangesOfOtherEnds(t *testing.T) {
	t.Parallel()
	given := map[string]string{"a.txt": "one\n"}
	edit := bashCall("echo two > a.txt; touch ready")
	for name, tt := range map[string]struct {
		answers []chat.Answer
		cancel  bool
		reason  string
	}{
		"the model fails": {[]chat.Answer{says("", edit), says("", call("finish", `{"status":"Failed","summary":"It cannot be done."}`))}, false, v1alpha1.ReasonFailed},
		"partly":          {[]chat.Answer{says("", edit), says("", call("finish", `{"status":"Partial","summary":"Half."}`))}, false, v1alpha1.ReasonPartial},
		"answers used up": {[]chat.Answer{says("", edit), says("", bashCall("true"))}, false, outcome.ReasonMaxIterations},
		"cancelled":       {[]chat.Answer{says("", bashCall("echo two > a.txt; touch ready; "+loops))}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: tt.answers}, withFiles(given), func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 2 })
			r.startEngineWith("worker-1", callsFinish)
			waitForFile(r.ctx, t, filepath.Join(r.workspace, "ready"))
			if tt.cancel {
				r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 1 })
				r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
					st.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCancelled}
				})
			}
			steps := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) > 0 && s[len(s)-1].Status.Closed != nil })
			last := steps[len(steps)-1]
			if tt.reason != "" && (last.Spec.Outcome == nil || last.Spec.Outcome.Reason != tt.reason) {
				t.Errorf("it ended with %+v", last.Spec.Outcome)
			}
			if got := r.changes(last.Status.Artifacts, given, "a.txt"); got["a.txt"] != "two\n" {
				t.Errorf("there is %q", got)
			}
		})
	}
}

func TestEngineKeepsWhatTheRunSays(t *testing.T) {
	t.Parallel()
	for keep, want := range map[v1alpha1.RunKeep][]string{
		v1alpha1.KeepChanges: {"artifacts/a=", "workspace.diff="}, v1alpha1.KeepArtifacts: {"artifacts/a="}, v1alpha1.KeepNothing: nil,
	} {
		t.Run(string(keep), func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", bashCall("mkdir artifacts; echo x > artifacts/a; echo new > b.txt")), says("done"),
			}}, func(run *v1alpha1.MotorRun) { run.Spec.Keep = keep })
			r.startEngine("worker-1", nil)
			isKept(t, r.ended(2)[1].Status.Artifacts, want...)
			if keep == v1alpha1.KeepNothing && len(r.configMaps()) > 0 {
				t.Errorf("kept are %v", r.configMaps())
			}
		})
	}
}

// A file with a secret is left out, and costs nothing else.
func TestEngineKeepsChangesWithoutSecrets(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall(`printf 'key = `+leak[:10]+`' > leak.txt; printf `+leak[10:]+` >> leak.txt; echo fine > fine.txt; echo mine > workspace.diff`)), says("done"),
	}})
	r.startEngine("worker-1", nil)
	list := r.ended(2)[1].Status.Artifacts
	isKept(t, list, "workspace.diff=")
	if got := r.changes(list, nil, "fine.txt", "leak.txt", "workspace.diff"); got["fine.txt"] != "fine\n" || got["leak.txt"] != "" || got["workspace.diff"] != "mine\n" {
		t.Errorf("there is %q", got)
	}
	diff := r.configMaps()[list.Files[0].ConfigMapName]
	if !strings.Contains(diff, "#   leak.txt: it holds what looks like a secret (aws-access-token)\n") || strings.Contains(diff, leak) {
		t.Errorf("it says\n%s", diff)
	}
}

// A file that was changed, and changed back, leaves no diff, and what was kept of it at a pause goes.
func TestEngineKeepsNoDiffWithoutAChange(t *testing.T) {
	given := map[string]string{"a.txt": "one\n"}
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("echo two > a.txt"), call("ask_user", `{"question":"Go on?"}`)), says("", bashCall("echo one > a.txt")), says("done"),
	}}, withFiles(given))
	r.startEngine("worker-1", nil)
	steps := r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 1 && s[0].Status.Artifacts != nil })
	isKept(t, steps[0].Status.Artifacts, "workspace.diff=")
	respond(r.ctx, t, r.run, runpolicy.ReadJournal(r.run, steps).Pending.ID, "yes")
	isKept(t, r.ended(3)[2].Status.Artifacts)
	r.waitFor(func() bool { return len(r.configMaps()) == 0 })
}

// Each attempt in a sandbox is compared with what that sandbox was given, and not with what the attempt before left.
func TestEngineKeepsChangesOfAllAttempts(t *testing.T) {
	given := map[string]string{"a.txt": "one\n"}
	r := newEngineRig(t, &stubModel{
		answers: []chat.Answer{says("", bashCall("echo two >> a.txt")), says("", bashCall("true"))},
		retry:   []chat.Answer{says("", bashCall("echo three >> a.txt")), says("done")},
	}, withFiles(given), func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 2 })
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	if got := r.changes(steps[len(steps)-1].Status.Artifacts, given, "a.txt"); got["a.txt"] != "one\ntwo\n" {
		t.Errorf("the first attempt leaves %q", got)
	}
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry, RecoveryContext: "Go on."})
	})
	steps = r.steps(func(s []v1alpha1.MotorStep) bool { return journalEnded(s) && s[len(s)-1].Spec.Attempt == 2 })
	if got := r.changes(steps[len(steps)-1].Status.Artifacts, given, "a.txt"); got["a.txt"] != "one\ntwo\nthree\n" {
		t.Errorf("the second attempt leaves %q", got)
	}
}
