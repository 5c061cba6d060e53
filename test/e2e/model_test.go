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

func TestAKeyThatIsRefusedEndsTheRunAndIsShownNowhere(t *testing.T) {
	t.Parallel()
	ns := keyedNamespace(t)
	createKey(t, ns, suite.wrongKey)
	run := startRun(t, "answer", inNamespace(ns))
	ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, "ModelUnauthorized")
	if m := ended.Status.Result.Summary; !strings.Contains(m, "401") || !strings.Contains(m, keyedModelServer) {
		t.Errorf("the message does not say who refused the key: %s", m)
	}
	podIsGone(t, run, soon)
	all := kubectl(t, "-n", ns, "get", "motorruns,motorsteps,motorcortices,events,pods", "-o", "yaml")
	if strings.Contains(all, suite.wrongKey) || strings.Contains(all, suite.wrongKey[:12]) {
		t.Errorf("the API key is in an object of the namespace:\n%s", all)
	}
}

func TestModelsThatCannotBeAskedEndTheRun(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "models")
	must(t, suite.client.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nobody"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"no": "body"}, Ports: []corev1.ServicePort{{Port: 8080}}},
	}))
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "m", BaseURL: "http://nobody." + ns + ".svc:8080/v1"}))
	tests := map[string]struct {
		namespace, script string
		reason            string
		retryable         bool
		says              string
	}{
		"unknown model":  {suite.namespace, "nonesuch", "ModelNotFound", false, `"scripted/nonesuch"`},
		"nobody listens": {ns, "answer", "ModelUnavailable", true, "nobody." + ns + ".svc:8080"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, tt.script, inNamespace(tt.namespace))
			ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, tt.reason)
			f := ended.Status.Attempts[0].Failure
			if f == nil || f.Category != v1alpha1.CategoryModelFailure || f.Retryable != tt.retryable || !strings.Contains(f.Message, tt.says) {
				t.Errorf("failure %+v, want one of the model that says %s", f, tt.says)
			}
			podIsGone(t, run, soon)
		})
	}
}

func TestModelFaultsThatPassAreRiddenOut(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	done := wantCompleted(t, startRun(t, "faults"), 2*soon)
	if done.Status.Result.Summary != "It went well in the end." || done.Status.Result.Stats.Errors != 0 {
		t.Errorf("result %+v", done.Status.Result)
	}
	if journal := wantWholeJournal(t, done); len(journal) != 3 {
		t.Errorf("the run has %d steps; a request that is made again must not be one", len(journal))
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
