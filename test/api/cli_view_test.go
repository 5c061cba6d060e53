// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestRunsAreListedAndShown(t *testing.T) {
	r := askingRig(t)
	dana := r.sits("dana@"+r.ns, mayRespond, mayRead)
	first := turnAt(1, "", "bash:"+gitPush)
	first.Results[0] = okResult("one\ntwo\x1b[2J\n", 3)
	r.said(first)
	r.asked(2, `{"question":"Which?","options":["a"]}`)
	// Runs of the same second are ordered by name.
	createRun(r.ctx, t, r.ns, named("second"))
	dana.want(0, "list", "NAME ", "WAITS FOR", "question: Which?", "second")
	dana.want(0, "list -o name", "motorrun.motorcortex.dev/run\nmotorrun.motorcortex.dev/second\n")
	dana.want(1, "list -A", "forbidden")
	dana.want(0, "get run", r.ns+"/run  AwaitingInput (Question)", "count the words", "Asks (question)", "  1  a", `kubectl motor answer run -n `+r.ns+` --id `)
	dana.want(0, "get second", "No manager has looked at it yet")
	dana.want(0, "get run -o yaml", "kind: MotorRun\n", "task: count the words\n")
	dana.want(4, "get run -o wide", "none of json, jsonl, yaml, name")
	dana.want(0, "why run", "Last steps:", "bash    git push origin main", "Answer with:")
	dana.want(0, "steps run", "=== attempt 1, step 1", "argument command:\n  | git push origin main", "  > one\n  > two\\u001b[2J\n", "=== attempt 1, step 2")
	dana.want(0, "steps run -o name --step 2", "motorstep.motorcortex.dev/run-a01-s0002\n")
	dana.want(1, "steps run --attempt 2", "error: there is no attempt 2: it has 1\n")
	dana.want(1, "steps run --step 99 -o json", "error: there is no step 99: it has 1 to 2\n")
	_, out, _ := dana.does("steps", "run", "-o", "json")
	var list struct{ Items []v1alpha1.MotorStep }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 2 || list.Items[0].Kind != "MotorStep" || list.Items[0].Status.Results[0].Output != "one\ntwo\x1b[2J\n" {
		t.Errorf("%v in\n%s", err, out)
	}
	// Who may not read steps is told so, and sees the rest.
	blind := r.sits("bob@"+r.ns, mayRespond)
	blind.want(0, "why run", "note: its steps are left out", "Answer with:")
	blind.want(1, "steps run", "forbidden")
}

// What a run left is checked before it is written, and never written over what is there.
func TestAnArtifactIsFetched(t *testing.T) {
	r := askingRig(t)
	dana := r.sits("dana@"+r.ns, mayRespond, "get configmaps")
	dana.want(0, "artifacts run", "run has no artifacts.")
	sum := sha256.Sum256([]byte("a report\x1b[2J\n"))
	for name, data := range map[string]map[string]string{"kept": {"content": "a report\x1b[2J\n"}, "changed": {"content": "another"}, "empty": {}} {
		must(t, admin.Create(r.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}, Data: data}))
	}
	run := r.run()
	before := run.DeepCopy()
	for _, name := range []string{"kept", "changed", "empty", "missing"} {
		run.Status.Artifacts = append(run.Status.Artifacts, v1alpha1.Artifact{Path: name, Size: 10, ConfigMapName: name, SHA256: hex.EncodeToString(sum[:]), Provenance: "Web"})
	}
	run.Status.Artifacts = append(run.Status.Artifacts, v1alpha1.Artifact{Path: "big", Skipped: v1alpha1.SkippedTooLarge, Message: "2 MiB"}, v1alpha1.Artifact{Path: "far", ObjectKey: "k/1"})
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(before)))
	dana.want(0, "artifacts run", "NAME ", "kept", "ConfigMap kept (may come from the web)", "not kept: TooLarge. 2 MiB", "bucket k/1")
	if code, out, errs := dana.does("artifacts", "run", "get", "kept"); code != 0 || out != "a report\x1b[2J\n" {
		t.Errorf("exit code %d, %q, %s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "report.md")
	dana.want(0, "artifacts run get kept -o "+file, "13 bytes")
	if content := readText(t, file); content != "a report\x1b[2J\n" {
		t.Errorf("the file has %q", content)
	}
	dana.want(1, "artifacts run get kept -o "+file, "file exists")
	for name, says := range map[string]string{
		"changed": "does not have the content that the run left", "empty": "does not have the content", "missing": "not found", "big": "was not kept: TooLarge", "far": "under the key k/1", "none": `no artifact "none"`,
	} {
		dana.want(1, "artifacts run get "+name, says)
	}
	for _, line := range []string{"artifacts run put x", "artifacts run get", "artifacts run -o x"} {
		dana.want(4, line)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	return string(content)
}

func TestARunIsSteered(t *testing.T) {
	r := askingRig(t)
	dana, rita := r.sits("dana@"+r.ns, maySteer), r.sits("rita@"+r.ns, mayRespond)
	rita.want(1, "suspend run", r.ns+"/run was not suspended", "rita@"+r.ns+" may not steer this run")
	dana.want(0, "resume run", "note: run is not suspended")
	dana.want(0, "suspend run", "motorrun/run suspended")
	if s := r.run().Spec; !s.Suspend || s.SuspendedBy != "dana@"+r.ns {
		t.Errorf("spec %+v", s)
	}
	dana.want(0, "suspend run", "note: run is suspended already")
	dana.want(0, "resume run", "motorrun/run resumed")
	dana.want(0, "cancel run", "motorrun/run cancelled")
	if s := r.run().Spec; s.Suspend || !s.Cancel || s.CancelledBy != "dana@"+r.ns {
		t.Errorf("spec %+v", s)
	}
	r.settle()
	dana.want(0, "cancel run", "note: run is cancelled already")
	dana.want(1, "suspend run", "run has ended already (Cancelled)")
	dana.want(1, "cancel runs", "no MotorRun runs")
}

// A shell offers the runs to which a verb applies.
func TestNamesAreCompleted(t *testing.T) {
	r := askingRig(t)
	r.asked(1, `{"question":"Which?"}`)
	createRun(r.ctx, t, r.ns, named("other"))
	dana := r.sits("dana@"+r.ns, mayRespond)
	for name, want := range map[string]string{"answer": "run\tWhich?\n:4\n", "approve": ":4\n", "get": "other\tcount the words\nrun\tWhich?\n:4\n", "resume": ":4\n"} {
		var o, e strings.Builder
		plugIn(t, verb.Streams{Out: &o, Err: &e}, "__complete", "--kubeconfig", dana.config, name, "")
		out, errs := o.String(), e.String()
		if !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q, want %q, %s", name, out, want, errs)
		}
	}
}
