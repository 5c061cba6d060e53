// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestAnAnswerToWhatWasNotAskedIsRefused(t *testing.T) {
	t.Parallel()
	run := startRun(t, "ask")
	asked := awaitQuestion(t, run)
	id := asked.Status.Pending().ID
	wrong := asked.DeepCopy()
	wrong.Spec.Responses = append(wrong.Spec.Responses, v1alpha1.Response{ID: "a1-s1-c0-00000000", Answer: "green"})
	err := suite.client.Patch(t.Context(), wrong, client.MergeFrom(asked))
	if err == nil || !strings.Contains(err.Error(), "a1-s1-c0-00000000") || !strings.Contains(err.Error(), "status.pendingInputs[].id, which is "+id) {
		t.Fatalf("the refusal does not say which response it means and what to do: %v", err)
	}

	respond(t, run, id, "a dark \"green\",\nlike moss {{ .Last }}")
	done := wantCompleted(t, run, soon)
	if want := "It will be a dark \"green\",\nlike moss {{ .Last }}."; done.Status.Result.Summary != want {
		t.Errorf("the model was told something else than the answer: %q, want %q", done.Status.Result.Summary, want)
	}
	wantCondition(t, done, v1alpha1.ConditionResponsesValid, metav1.ConditionTrue, v1alpha1.ReasonResponsesValid)
	wantWholeJournal(t, done)
}

func TestNobodyCanAnswerBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	guesses := []v1alpha1.Response{{ID: "a1-s1-c0", Answer: "red"}, {ID: "call_0_0", Answer: "red"}}
	early := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, GenerateName: "early-"}, Spec: v1alpha1.MotorRunSpec{Task: "ask", Responses: guesses}}
	if err := suite.client.Create(t.Context(), early); err == nil || !strings.Contains(err.Error(), "it has asked nothing yet") {
		t.Errorf("answers at creation: %v", err)
	}
	run := startRun(t, "ask")
	asked := awaitQuestion(t, run)
	id := asked.Status.Pending().ID
	if !regexp.MustCompile(`^a1-s1-c0-[0-9a-f]{8}$`).MatchString(id) {
		t.Errorf("the id %s can be guessed", id)
	}
	respond(t, run, id, "blue")
	if s := wantCompleted(t, run, soon).Status.Result.Summary; s != "It will be blue." {
		t.Errorf("summary %q", s)
	}
}

// A person gives files while the run waits, as the plugin takes them. The model reads them as any other file.
func TestAPersonGivesFilesWithAnAnswer(t *testing.T) {
	t.Parallel()
	run := startRun(t, "askfile")
	asked := awaitQuestion(t, run)
	if files := asked.Status.Pending().Files; len(files) != 1 || files[0] != "the portfolio, as CSV" {
		t.Errorf("it wants the files %q", files)
	}
	path := filepath.Join(t.TempDir(), "portfolio.csv")
	must(t, os.WriteFile(path, []byte("ACME;44\n"), 0o600))
	notes := filepath.Join(t.TempDir(), "n")
	must(t, os.WriteFile(notes, []byte("keep it\n"), 0o600))
	out := motor(t, "answer", run.Name, "-n", run.Namespace, "--file", path, "--file", notes+"=notes.md")
	if !strings.Contains(out, "answered: Here: portfolio.csv, notes.md") {
		t.Errorf("the plugin says %q", out)
	}
	done := wantCompleted(t, run, soon)
	if want := "ACME;44\nkeep it"; done.Status.Result.Summary != want {
		t.Errorf("the model reads %q, want %q", done.Status.Result.Summary, want)
	}
	wantWholeJournal(t, done)
}

// A model words its question so that a terminal obeys it. A person who reads it by kubectl reads characters, and sees that there was more.
func TestATerminalObeysNoQuestion(t *testing.T) {
	t.Parallel()
	run := startRun(t, "escapes")
	asked := awaitQuestion(t, run)
	const question = `jsonpath={.status.pendingInputs[0].question}{"\n"}{.status.pendingInputs[0].options}{"\n"}{.status.pendingInputs[0].default}{"\n"}{.status.conditions[*].message}`
	wantPlain(t, kubectl(t, "-n", run.Namespace, "get", "motorrun", run.Name, "-o", question), "Approve: git status")
	respond(t, run, asked.Status.Pending().ID, "blue")
	wantCompleted(t, run, soon)
	wantPlain(t, kubectl(t, "-n", run.Namespace, "get", "motorrun", run.Name, "-o", `jsonpath={.status.result.summary}{"\n"}{.status.conditions[*].message}`), "It is done.")
	wantPlain(t, kubectl(t, "-n", run.Namespace, "get", "events", "-o", `jsonpath={.items[?(@.involvedObject.name=="`+run.Name+`")].message}`), "git status")
}

// wantPlain looks for characters that a terminal obeys, or that hide what stands there.
func wantPlain(t *testing.T, shown, want string) {
	t.Helper()
	if !strings.Contains(shown, want) || !strings.ContainsRune(shown, '\uFFFD') {
		t.Errorf("%q has not %q, or no sign of what was taken out", shown, want)
	}
	if i := strings.IndexFunc(shown, func(c rune) bool { return c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) }); i >= 0 {
		t.Errorf("a terminal obeys %q", shown[i:])
	}
}
