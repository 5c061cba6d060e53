// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestAnAnswerToWhatWasNotAskedIsIgnoredAndSaidSo(t *testing.T) {
	t.Parallel()
	run := startRun(t, "ask")
	asked := awaitQuestion(t, run)
	id := asked.Status.PendingInput.ID
	respond(t, run, "a0-s1-c0-00000000", "green")
	// The status that speaks of the new generation has seen the response.
	refused := awaitRun(t, run, soon, "a status that knows the response", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionResponsesValid).Status == metav1.ConditionFalse && r.Status.ObservedGeneration > asked.Generation
	})
	wantCondition(t, refused, v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion)
	if m := condition(refused, v1alpha1.ConditionResponsesValid).Message; !strings.Contains(m, `"a0-s1-c0-00000000"`) || !strings.Contains(m, "status.pendingInput.id") {
		t.Errorf("the condition does not say which response it means and what to do: %s", m)
	}
	wantCondition(t, refused, v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, v1alpha1.ReasonQuestion)
	if p := refused.Status.PendingInput; p == nil || p.ID != id || refused.Status.Steps != 1 {
		t.Fatalf("after an answer to another question the run waits for %+v at step %d", p, refused.Status.Steps)
	}

	respond(t, run, id, "a dark \"green\",\nlike moss {{ .Last }}")
	done := wantCompleted(t, run, soon)
	if want := "It will be a dark \"green\",\nlike moss {{ .Last }}."; done.Status.Result.Summary != want {
		t.Errorf("the model was told something else than the answer: %q, want %q", done.Status.Result.Summary, want)
	}
	wantCondition(t, done, v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion)
	wantWholeJournal(t, done)
}

func TestNobodyCanAnswerBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	guesses := []v1alpha1.Response{{ID: "a0-s1-c0", Answer: "red"}, {ID: "call_0_0", Answer: "red"}}
	run := startRun(t, "ask", func(r *v1alpha1.MotorRun) { r.Spec.Responses = guesses })
	asked := awaitQuestion(t, run)
	id := asked.Status.PendingInput.ID
	if !regexp.MustCompile(`^a0-s1-c0-[0-9a-f]{8}$`).MatchString(id) {
		t.Errorf("the id %s can be guessed", id)
	}
	wantCondition(t, asked, v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion)
	respond(t, run, id, "blue")
	if s := wantCompleted(t, run, soon).Status.Result.Summary; s != "It will be blue." {
		t.Errorf("summary %q", s)
	}
}
