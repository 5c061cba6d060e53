// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// stored answers Get from JSON texts.
type stored map[string]string

func (s stored) Get(_ context.Context, kind, name string, into any) error {
	text, ok := s[kind+"/"+name]
	if !ok {
		return fmt.Errorf("%w: %s/%s", cluster.ErrNotFound, kind, name)
	}
	return json.Unmarshal([]byte(text), into)
}

func readRun(t *testing.T, status string) motorRun {
	t.Helper()
	var r motorRun
	if err := json.Unmarshal([]byte(`{"status":`+status+`}`), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhatARunClaims(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]task.Claim{
		`{"conditions":[{"type":"Succeeded","status":"True","reason":"Completed"}],"result":{"summary":"All is done."}}`:   task.Succeeded,
		`{"conditions":[{"type":"Succeeded","status":"True","reason":"Completed"}],"result":{"summary":"FAILED: no way"}}`: task.Failed,
		`{"conditions":[{"type":"Succeeded","status":"True","reason":"Completed"}]}`:                                       task.Succeeded,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"Partial"}],"result":{"summary":"half"}}`:            task.Partial,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"Failed"}]}`:                                         task.Failed,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"MaxIterations"}]}`:                                  task.GaveUp,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"AcceptanceFailed"}]}`:                               task.GaveUp,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"RepeatedToolFailure"}]}`:                            task.Ended,
		`{"conditions":[{"type":"Succeeded","status":"False","reason":"SandboxLost"}]}`:                                    task.Ended,
		`{}`: task.Ended,
	} {
		if got, _ := claimOf(readRun(t, status)); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

func TestTheSummaryAndTheValue(t *testing.T) {
	t.Parallel()
	for status, want := range map[string][2]string{
		`{}`: {"", ""},
		`{"result":{"summary":"s","value":"{\"a\":1}"}}`: {"s", `{"a":1}`},
		`{"result":{"summary":"s","value":{"a":1}}}`:     {"s", `{"a":1}`},
	} {
		if summary, value := summaryOf(readRun(t, status)); summary != want[0] || value != want[1] {
			t.Errorf("%s: %q %q", status, summary, value)
		}
	}
}

func TestWhatWasKeptIsRead(t *testing.T) {
	t.Parallel()
	g := stored{
		"configmap/one": `{"binaryData":{"content":"AP8="}}`, "configmap/two": `{"data":{"content":"text"}}`,
		"skillrevision/s-1": `{"spec":{"configMapNames":["p0","p1"],"files":[{"path":"SKILL.md","size":3},{"path":"scripts/a.py","size":2}]}}`,
		"configmap/p0":      `{"data":{"content":"abc1"}}`, "configmap/p1": `{"data":{"content":"2"}}`,
		"skillrevision/s-2": `{"spec":{"configMapNames":["p1"],"files":[{"path":"SKILL.md","size":9}]}}`,
	}
	r := readRun(t, `{"result":{"artifacts":[{"path":"artifacts/b.bin","configMapName":"one"},{"path":"a.txt","configMapName":"two"},{"path":"big","skipped":"TooLarge"}],
		"skills":{"created":[{"name":"new","revisionName":"s-1"}],"updated":[{"name":"old","revisionName":"s-1"}]}}}`)
	got, err := readKept(t.Context(), g, r)
	want := kept{
		artifacts: tree.Tree{"artifacts/b.bin": {0, 255}, "a.txt": []byte("text")},
		skills:    tree.Tree{"skills/new/SKILL.md": []byte("abc"), "skills/new/scripts/a.py": []byte("12"), "SKILL.md": []byte("abc"), "scripts/a.py": []byte("12")},
	}
	if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(kept{})) {
		t.Errorf("%v %s", err, cmp.Diff(want, got, cmp.AllowUnexported(kept{})))
	}
	for _, status := range []string{
		`{"result":{"artifacts":[{"path":"a","configMapName":"none"}]}}`, `{"result":{"skills":{"created":[{"name":"n","revisionName":"none"}]}}}`,
		`{"result":{"skills":{"updated":[{"name":"n","revisionName":"s-2"}]}}}`,
	} {
		if _, err := readKept(t.Context(), g, readRun(t, status)); err == nil {
			t.Errorf("%s is read", status)
		}
	}
	if got, err := readKept(t.Context(), g, motorRun{}); err != nil || len(got.artifacts) != 0 {
		t.Errorf("without a result: %v %v", got, err)
	}
}

func TestWhatThePersonHas(t *testing.T) {
	t.Parallel()
	given := tree.Tree{"a.txt": []byte("one\n"), "gone.txt": []byte("x\n")}
	diff := "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" +
		"diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
		"diff --git a/new/b.txt b/new/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+b\n"
	for name, tt := range map[string]struct {
		kept kept
		want tree.Tree
		bad  bool
	}{
		"nothing":               {kept{}, given, false},
		"a diff":                {kept{artifacts: tree.Tree{diffName: []byte(diff)}}, tree.Tree{"a.txt": []byte("two\n"), "new/b.txt": []byte("b\n")}, false},
		"a diff of other files": {kept{artifacts: tree.Tree{diffName: []byte("--- a/no\n+++ b/no\n@@ -1 +1 @@\n-q\n+r\n")}}, given, true},
		"an artifact": {kept{artifacts: tree.Tree{"artifacts/a.txt": []byte("3")}},
			given.With(tree.Tree{"artifacts/a.txt": []byte("3"), "a.txt": []byte("3")}), false},
		"an artifact beside the file": {kept{artifacts: tree.Tree{"artifacts/a.txt": []byte("3"), "a.txt": []byte("4")}},
			given.With(tree.Tree{"artifacts/a.txt": []byte("3"), "a.txt": []byte("4")}), false},
		"an artifact beside the diff": {kept{artifacts: tree.Tree{"artifacts/a.txt": []byte("3"), diffName: []byte(diff)}},
			tree.Tree{"artifacts/a.txt": []byte("3"), "a.txt": []byte("two\n"), "new/b.txt": []byte("b\n")}, false},
		"a skill that the diff has too": {kept{artifacts: tree.Tree{diffName: []byte(diff)}, skills: tree.Tree{"a.txt": []byte("two\n"), "new/b.txt": []byte("b\n")}},
			tree.Tree{"a.txt": []byte("two\n"), "new/b.txt": []byte("b\n")}, false},
		"a skill": {kept{skills: tree.Tree{"SKILL.md": []byte("s")}}, given.With(tree.Tree{"SKILL.md": []byte("s")}), false},
	} {
		got, err := delivered(t.Context(), given, tt.kept)
		if (err != nil) != tt.bad || !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(tt.want, got))
		}
	}
}
