// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const keySecret, keySecretKey = "model-key", "apiKey"

// keyedNamespace makes a namespace whose model demands a key.
func keyedNamespace(t *testing.T) string {
	t.Helper()
	ns := newNamespace(t, "keyed")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{
		Model: "scripted/answer", BaseURL: modelURL(keyedModelServer),
		APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: keySecret, Key: keySecretKey},
	}))
	return ns
}

func createKey(t *testing.T, ns, value string) {
	t.Helper()
	must(t, suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: keySecret},
		StringData: map[string]string{keySecretKey: value},
	}))
}

func TestARunWaitsForTheSecretOfItsModel(t *testing.T) {
	t.Parallel()
	ns := keyedNamespace(t)
	run := startRun(t, "answer", inNamespace(ns))
	stuck := awaitRun(t, run, soon, "a missing Secret", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionAccepted).Status == metav1.ConditionFalse
	})
	wantCondition(t, stuck, v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonModelSecretNotFound)
	wantCondition(t, stuck, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonModelSecretNotFound)
	for _, part := range []string{keySecret, keySecretKey, ns} {
		if m := condition(stuck, v1alpha1.ConditionAccepted).Message; !strings.Contains(m, part) {
			t.Errorf("the condition does not name %q: %s", part, m)
		}
	}
	if found, err := exists(t.Context(), sandboxOf(run), &corev1.Pod{}); found || err != nil {
		t.Errorf("a run that is not accepted has a sandbox (%t, %v)", found, err)
	}
	createKey(t, ns, suite.key+"\n")
	done := wantCompleted(t, run, soon)
	wantCondition(t, done, v1alpha1.ConditionAccepted, metav1.ConditionTrue, "")
	wantCondition(t, done, v1alpha1.ConditionStalled, "absent", "")
}

func TestAKeyThatIsRefusedIsWaitedForAndShownNowhere(t *testing.T) {
	t.Parallel()
	ns := keyedNamespace(t)
	createKey(t, ns, suite.wrongKey)
	run := startRun(t, "answer", inNamespace(ns))
	stuck := awaitRun(t, run, soon, "a key that is refused", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionModelAvailable).Status == metav1.ConditionFalse
	})
	wantCondition(t, stuck, v1alpha1.ConditionModelAvailable, metav1.ConditionFalse, v1alpha1.ReasonModelUnauthorized)
	wantCondition(t, stuck, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonModelUnauthorized)
	if m := stuck.Status.Message; !strings.Contains(m, "401") || !strings.Contains(m, keyedModelServer) {
		t.Errorf("the message does not say who refused the key: %s", m)
	}
	all := kubectl(t, "-n", ns, "get", "motorruns,motorsteps,motorcortices,events,pods", "-o", "yaml")
	if strings.Contains(all, suite.wrongKey) || strings.Contains(all, suite.wrongKey[:12]) {
		t.Errorf("the API key is in an object of the namespace:\n%s", all)
	}
	must(t, suite.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: keySecret}}))
	createKey(t, ns, suite.key)
	done := wantCompleted(t, run, 2*soon)
	wantCondition(t, done, v1alpha1.ConditionStalled, "absent", "")
	if len(done.Status.Attempts) != 1 {
		t.Errorf("the run took %d attempts", len(done.Status.Attempts))
	}
}

func TestModelsThatCannotBeAskedEndTheRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		model     v1alpha1.ModelEndpoint
		reason    string
		says      string
		retryable bool
	}{
		"unknown model":  {v1alpha1.ModelEndpoint{Model: "scripted/nonesuch", BaseURL: modelURL(modelServer)}, "ModelNotFound", `"scripted/nonesuch"`, true},
		"nobody listens": {v1alpha1.ModelEndpoint{Model: "m", BaseURL: "http://nobody.%s.svc:8080/v1"}, "ModelUnavailable", "svc:8080", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, "models")
			must(t, suite.client.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nobody"},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"no": "body"}, Ports: []corev1.ServicePort{{Port: 8080}}},
			}))
			tt.model.BaseURL, tt.model.OutageDeadlineSeconds = strings.Replace(tt.model.BaseURL, "%s", ns, 1), 3
			must(t, createCortex(t.Context(), ns, tt.model))
			run := startRun(t, strings.TrimPrefix(tt.model.Model, "scripted/"), inNamespace(ns), func(r *v1alpha1.MotorRun) { r.Spec.MaxAttempts = 1 })
			ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, tt.reason)
			f := attemptAt(t, ended, 1).Failure
			if f == nil || f.Category != v1alpha1.CategoryModelFailure || f.Retryable != tt.retryable || !strings.Contains(f.Message, tt.says) {
				t.Errorf("failure %+v, want one of the model that says %s", f, tt.says)
			}
			podIsGone(t, run, soon)
		})
	}
}

// Neither a model that is away for longer than a request is tried, nor a key that is refused for a moment, costs an attempt.
func TestARunOutlivesAnOutageOfItsModel(t *testing.T) {
	t.Parallel()
	run := startRun(t, "away", func(r *v1alpha1.MotorRun) { r.Spec.MaxAttempts = 1 })
	awaitRun(t, run, soon, "a model that is away", func(r *v1alpha1.MotorRun) bool {
		c := condition(r, v1alpha1.ConditionModelAvailable)
		return c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonModelUnavailable
	})
	done := wantCompleted(t, run, 3*soon)
	if len(done.Status.Attempts) != 1 || !strings.Contains(done.Status.Result.Summary, "three") {
		t.Errorf("%d attempts, result %+v", len(done.Status.Attempts), done.Status.Result)
	}
}

// An answer may take as long as it likes, if only something comes of it now and then: this one takes 130 s.
func TestASlowAnswerArrives(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	done := wantCompleted(t, startRun(t, "trickle", func(r *v1alpha1.MotorRun) { r.Spec.MaxAttempts = 1 }), 3*soon)
	if !strings.HasSuffix(done.Status.Result.Summary, "All of it arrived.") || done.Status.Result.Stats.ModelMilliseconds < 125_000 {
		t.Errorf("result %+v with %+v", done.Status.Result, done.Status.Result.Stats)
	}
	calls, err := modelCalls(t.Context(), "trickle", mark)
	must(t, err)
	if len(calls) != 2 {
		t.Errorf("the model was asked %d times, and not once for each answer", len(calls))
	}
}

// A window of 16000 tokens is enough for a run with default limits, and the endpoint has to say so once at most for each manager.
func TestASmallWindowIsEnoughForDefaultLimits(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	if done := wantCompleted(t, startRun(t, "window"), 3*soon); done.Status.Result.Summary != "It all fitted." {
		t.Errorf("result %+v", done.Status.Result)
	}
	calls, err := modelCalls(t.Context(), "window", mark)
	must(t, err)
	refused := 0
	for _, c := range calls {
		if c.Status == 400 {
			refused++
		}
	}
	if refused < 1 || refused > 4 {
		t.Errorf("the endpoint refused %d of %d requests", refused, len(calls))
	}
}

func TestModelFaultsThatPassAreRiddenOut(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	done := wantCompleted(t, startRun(t, "faults"), 2*soon)
	if done.Status.Result.Summary != "It went well in the end." || done.Status.Result.Stats.Errors != 0 {
		t.Errorf("result %+v", done.Status.Result)
	}
	if journal := wantWholeJournal(t, done); answersIn(journal) != 3 {
		t.Errorf("the run has %d answers; a request that is made again must not be one", answersIn(journal))
	}
	// Two of 429, two of 500, one without JSON and one cut off.
	wantModelCalls(t, "faults", mark, 3, 6)
}

func TestFaultsOfTheModelHaveNoEffectTwice(t *testing.T) {
	t.Parallel()
	c := newCheck(t, "modelfaults")
	wantCompleted(t, c.start("0"), 2*soon)
	c.extra = 6 // 429, 529, half an answer, truncated JSON, a broken connection and no choices.
	c.wantInvariants(t)
}
