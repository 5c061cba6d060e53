// SPDX-License-Identifier: Apache-2.0

package box

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/secret"
)

// A run that rested must not go on with a value of before: without domains no proxy refuses it.
func TestAGrantThatHasEndedIsWaitedFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := enginetest.ReadyRun()
	run.Spec.Credentials = []v1alpha1.Credential{{Name: "api_key", ExposeToSandbox: true}}
	run.Status.Egress = &v1alpha1.EgressStatus{Attempt: 1}
	uid, pod := string(run.UID), run.Status.Sandbox.PodUID
	config := Config{EgressKey: []byte("key"), GrantNamespace: "motor"}
	put := func(ends time.Time) *corev1.Secret {
		data, err := (&grant.Grant{
			RunUID: uid, PodUID: pod, TokenHash: grant.HashToken(grant.Token(config.EgressKey, uid, pod, 1)), ExpiresAt: ends,
			Credentials: []grant.Credential{{Name: "api_key", Slot: "Bearer", Exposed: true, Value: secret.New([]byte("a-secret-value"))}},
		}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "motor", Name: grant.SecretName(uid)}, Type: grant.SecretType, Data: data}
	}
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(put(now)).Build()
	env := enginetest.Env(t, c, run, func() time.Time { return now })
	if way, err := OpenWayOut(t.Context(), env, config); !errors.Is(err, runenv.ErrMissing) || way != nil {
		t.Errorf("a grant that has ended: %v", err)
	}
	// What it holds must not be in the files of a run that ends meanwhile.
	if way, err := ReadWayOut(t.Context(), env, config); err != nil || !way.Holds([]byte("with a-secret-value")) || env.Known.Hide("a-secret-value") == "a-secret-value" {
		t.Errorf("the value is not hidden: %v", err)
	}
	now = now.Add(runenv.MissingFor)
	failure, ok := errors.AsType[*outcome.Failure](func() error { _, err := OpenWayOut(t.Context(), env, config); return err }())
	if !ok || failure.Reason != outcome.ReasonEgressUnavailable || !failure.Retryable {
		t.Errorf("a grant that nothing renews: %+v", failure)
	}
	if err := c.Update(t.Context(), put(now.Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	way, err := OpenWayOut(t.Context(), env, config)
	if err != nil {
		t.Fatal(err)
	}
	if value, _ := way.standIn(&run.Spec.Credentials[0]); value != "a-secret-value" {
		t.Errorf("got %q", value)
	}
}

func TestMapStrings(t *testing.T) {
	t.Parallel()
	upper := func(s string) string { return strings.ReplaceAll(s, "x", `<"\>`) }
	for name, tt := range map[string]struct {
		text, want string
		changed    bool
	}{
		"a string":       {`{"a":"1x"}`, `{"a":"1<\"\\>"}`, true},
		"deep":           {`{"a":[{"b":"x","n":12345678901234567890}]}`, `{"a":[{"b":"<\"\\>","n":12345678901234567890}]}`, true},
		"a name":         {`{"x":"a"}`, `{"x":"a"}`, false},
		"nothing to do":  {`{ "a" : "b" }`, `{ "a" : "b" }`, false},
		"no JSON":        {`x`, `x`, false},
		"more than JSON": {`{"a":"x"} {}`, `{"a":"x"} {}`, false},
		"escaped":        {`{"a":"\u0078"}`, `{"a":"<\"\\>"}`, true},
	} {
		if got, changed := mapStrings(tt.text, upper); got != tt.want || changed != tt.changed {
			t.Errorf("%s: %s %t", name, got, changed)
		}
	}
}
