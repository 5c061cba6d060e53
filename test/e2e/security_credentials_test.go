// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSecurityCredentialGoesToItsHostAlone(t *testing.T) {
	t.Parallel()
	newSecret(t, suite.namespace, "api-key", world.value)
	run := startRun(t, "case", withDomains("api.test", "allowed.test", "api.test:80", "evil.test:444"), withCredential("service_key", "api-key", "Bearer", "api.test"), withScript("case.sh", `
case $SERVICE_KEY in mch-*) echo handle;; *) echo "no handle";; esac
env | grep -c sek/
mark() { printf '%s %s\n' "$1" "$2"; }
mark bound "$(terminated -H "Authorization: Bearer $SERVICE_KEY" -H "Mark: bound" https://api.test/echo)"
grep -c 'credential:service_key' body
mark own "$(terminated -H "Authorization: Bearer my-own-key-0123456789" -H "X-Api-Key: mine" -H "Cookie: a=b" -H "Mark: own" https://api.test/echo)"
mark other-host "$(tunnel -H "Authorization: Bearer $SERVICE_KEY" -H "Mark: other" https://allowed.test/echo)"
mark plain "$(tunnel -H "Authorization: Bearer $SERVICE_KEY" -H "Mark: plain" http://api.test/echo)"
mark elsewhere "$(terminated -H "X-Other: $SERVICE_KEY" -H "Mark: elsewhere" https://api.test/echo)"
mark query "$(terminated -H "Mark: query" "https://api.test/echo?key=$SERVICE_KEY")"
mark away "$(terminated -D head -H "Authorization: Bearer $SERVICE_KEY" -H "Mark: away" https://api.test/away)"
grep -ic '^location:.*credential:service_key' head
mark compressed "$(terminated --compressed -H "Authorization: Bearer $SERVICE_KEY" -H "Mark: compressed" https://api.test/echo)"
`))
	done := wantCompleted(t, run, 2*soon)
	wantSaid(t, done, 0, "handle", "0", "bound 200 200", "1", "own 200 200", "other-host 200 200", "plain 000 403", "elsewhere 200 403",
		"query 200 403", "away 200 302", "1", "compressed 200 200")
	got := map[string]received{}
	for _, r := range append(requestsTo("api.test"), requestsTo("allowed.test")...) {
		got[r.header.Get("Mark")] = r
	}
	for _, mark := range []string{"bound", "away", "compressed"} {
		if got[mark].header.Get("Authorization") != "Bearer "+world.value {
			t.Errorf("the request %q came without the credential", mark)
		}
	}
	for _, mark := range []string{"own", "other", "plain", "elsewhere", "query"} {
		r, arrived := got[mark]
		if arrived && strings.Contains(strings.Join(r.header["Authorization"], "")+r.path, world.value) {
			t.Errorf("the request %q came with the credential", mark)
		}
	}
	if own := got["own"].header; own.Get("Authorization") != "" || own.Get("X-Api-Key") != "" || own.Get("Cookie") != "" {
		t.Error("the client's own credentials came to the bound host")
	}
	for _, mark := range []string{"plain", "elsewhere", "query"} {
		if _, arrived := got[mark]; arrived {
			t.Errorf("the request %q came to the host", mark)
		}
	}
	wantEvent(t, done, "CredentialMisuse", "service_key")
	wantNoValueInSteps(t, done)
	wantNothingElseLeft(t)
}

func wantNoValueInSteps(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	if err := find(kubectl(t, "-n", run.Namespace, "get", "motorruns,motorsteps,events,pods", "-o", "json")); err != nil {
		t.Error(err)
	}
}

func TestSecurityCredentialIsRotatedAndDeleted(t *testing.T) {
	t.Parallel()
	first, second := newValue(), newValue()
	secret := newSecret(t, suite.namespace, "rotated-key", first)
	run := startRun(t, "case-ask", withDomains("api.test"), withCredential("rotated_key", "rotated-key", "Header X-Token", "api.test"), withScript("case.sh", `
terminated -H "X-Token: $ROTATED_KEY" -H "Mark: first" https://api.test/`), withScript("after.sh", `
for i in $(seq 100); do
  s=$(terminated -H "X-Token: $ROTATED_KEY" -H "Mark: deleted" https://api.test/)
  [ "$s" = "200 200" ] || break; sleep 0.3
done
echo "$s"`))
	asked := awaitQuestion(t, run)
	wantSaid(t, asked, 0, "200 200")
	must(t, suite.client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"token":"`+second+`"}}`))))
	respond(t, asked, asked.Status.Pending().ID, "yes")
	awaitRequest(t, "the new value", func(r received) bool { return r.header.Get("X-Token") == second })
	must(t, suite.client.Delete(t.Context(), secret))
	done := wantCompleted(t, run, 2*soon)
	if out := said(t, done)[1]; strings.HasSuffix(out, "200 200") {
		t.Errorf("a deleted credential is used: %s", out)
	}
	wantNoValueInSteps(t, done)
}

// awaitRequest waits until api.test got such a request.
func awaitRequest(t *testing.T, what string, ok func(received) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, soon, true, func(context.Context) (bool, error) {
		return slices.ContainsFunc(requestsTo("api.test"), ok), nil
	})
	if err != nil {
		t.Fatalf("api.test did not get %s: %v", what, err)
	}
}

func TestSecurityCredentialNeedsTheRightToUseIt(t *testing.T) {
	t.Parallel()
	newSecret(t, suite.namespace, "forbidden-key", newValue())
	manifest := `
apiVersion: motorcortex.dev/v1alpha1
kind: MotorRun
metadata: {name: forbidden-credential, namespace: ` + suite.namespace + `}
spec:
  task: Use it.
  domains: [api.test]
  credentials: [{name: forbidden_key, secretRef: {name: forbidden-key, key: token}, hosts: [api.test]}]
`
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: security-editor, namespace: ` + suite.namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: motorcortex-editor}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
`
	if _, stderr, err := tryKubectl(t.Context(), role, "apply", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
	_, stderr, err := tryKubectl(t.Context(), manifest, "--as=eve", "create", "-f", "-")
	if err == nil || !strings.Contains(stderr, "use") || !strings.Contains(stderr, "forbidden-key") {
		t.Errorf("a run with a Secret that its creator may not use: %v\n%s", err, stderr)
	}
}

func TestSecurityCredentialIsSaved(t *testing.T) {
	t.Parallel()
	value := newValue()
	// In pieces, so that the value itself is in no object of the cluster before it is saved.
	half := len(value) / 2
	run := startRun(t, "save", withDomains("api.test"), func(r *v1alpha1.MotorRun) { r.Spec.Tools = append(r.Spec.Tools, "save_credential") },
		withScript("case.sh", `printf %s%s '`+value[:half]+`' '`+value[half:]+`' > value; echo made`))
	done := wantCompleted(t, run, 2*soon)
	outputs := said(t, done)
	if strings.Contains(outputs[1], value) || strings.Contains(outputs[1], base64.StdEncoding.EncodeToString([]byte(value))) || !strings.Contains(outputs[1], "<credential:saved_key>") {
		t.Error("the saved value is in the transcript")
	}
	var s corev1.Secret
	key := types.NamespacedName{Namespace: run.Namespace, Name: "motorcortex-credential-saved-key"}
	must(t, suite.client.Get(t.Context(), key, &s))
	if string(s.Data["value"]) != value {
		t.Error("the Secret has another value")
	}
	again := startRun(t, "case", withDomains("api.test"), func(r *v1alpha1.MotorRun) {
		r.Spec.Credentials = []v1alpha1.Credential{{Name: "saved_key", SecretRef: v1alpha1.SecretKeyRef{Name: key.Name, Key: "value"}, Hosts: []v1alpha1.Domain{"api.test"}}}
	}, withScript("case.sh", `terminated -H "Authorization: Bearer $SAVED_KEY" -H "Mark: saved" https://api.test/`))
	wantSaid(t, wantCompleted(t, again, 2*soon), 0, "200 200")
	for _, r := range requestsTo("api.test") {
		if r.header.Get("Mark") == "saved" && r.header.Get("Authorization") != "Bearer "+value {
			t.Error("the saved credential was not used")
		}
	}
}

func TestSecurityExposedCredentialIsRedacted(t *testing.T) {
	t.Parallel()
	value := newValue()
	newSecret(t, suite.namespace, "exposed-key", value)
	run := startRun(t, "case", func(r *v1alpha1.MotorRun) {
		r.Spec.Credentials = []v1alpha1.Credential{{Name: "exposed_key", SecretRef: v1alpha1.SecretKeyRef{Name: "exposed-key", Key: "token"}, ExposeToSandbox: true}}
	}, withScript("case.sh", `
echo "plain $EXPOSED_KEY"
echo "base64 $(printf 'user:%s' "$EXPOSED_KEY" | base64 -w0)"
echo "hex $(printf %s "$EXPOSED_KEY" | od -An -tx1 | tr -d ' \n')"
printf %s "$EXPOSED_KEY" | sha256sum | cut -c1-8
`))
	done := wantCompleted(t, run, 2*soon)
	wantCondition(t, done, v1alpha1.ConditionCredentialsExposed, metav1.ConditionTrue, v1alpha1.ReasonCredentialsExposed)
	out := said(t, done)[0]
	if err := find(out); err != nil || strings.Count(out, "<credential:exposed_key>") != 3 {
		t.Errorf("an exposed credential's value in the journal (%v): %d of 3 redacted", err, strings.Count(out, "<credential:exposed_key>"))
	}
	wantNoValueInSteps(t, done)
}
