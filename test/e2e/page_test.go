// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/oidcissuer"
)

const (
	// pageNamespace and pageHost are where config/page installs the page.
	pageNamespace = "motorcortex-system"
	pageHost      = "motorcortex-pageserver." + pageNamespace + ".svc"
)

// pagePods are an issuer, and what stands for the browsers of persons: a Pod with curl. Each person has a file of cookies in it.
const pagePods = `
apiVersion: v1
kind: Pod
metadata: {name: issuer, namespace: %[1]s, labels: {app: issuer}}
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: issuer
    image: %[2]s
    imagePullPolicy: IfNotPresent
    args:
    - --url=https://issuer.%[1]s.svc
    - --redirect-url=https://%[4]s/oidc/callback
    - --tls-cert-file=/tls/tls.crt
    - --tls-key-file=/tls/tls.key
    readinessProbe: {tcpSocket: {port: 8443}, periodSeconds: 1}
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
  volumes:
  - name: tls
    secret: {secretName: issuer-tls, defaultMode: 0440}
---
apiVersion: v1
kind: Service
metadata: {name: issuer, namespace: %[1]s}
spec:
  selector: {app: issuer}
  ports: [{port: 443, targetPort: 8443}]
---
apiVersion: v1
kind: Pod
metadata: {name: browser, namespace: %[1]s}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: browser
    image: %[3]s
    imagePullPolicy: IfNotPresent
    command: [sleep, infinity]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: ca, mountPath: /ca}, {name: cookies, mountPath: /cookies}]
  volumes:
  - name: ca
    configMap: {name: ca}
  - name: cookies
    emptyDir: {sizeLimit: 1Mi}
`

// The page of the cluster is installed as its guide says. What a person answers and approves on it has their name, and one without a role is refused.
func TestPageOfTheCluster(t *testing.T) {
	t.Parallel()
	image, issuer := os.Getenv("PAGESERVER_IMAGE"), os.Getenv("OIDCISSUER_IMAGE")
	if image == "" || issuer == "" {
		t.Skip("PAGESERVER_IMAGE or OIDCISSUER_IMAGE is not set: this cluster has no image of the page server, or of the issuer of the tests")
	}
	ns := newNamespace(t, "page")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	run := startRun(t, "page", inNamespace(ns), func(r *v1alpha1.MotorRun) {
		r.Spec.Tools = []v1alpha1.ToolName{"bash", "list"}
		r.Spec.Approval = &v1alpha1.RunApproval{Required: v1alpha1.ApprovalIrreversible, Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"rm -rf *"}}}
		r.Spec.Files = []v1alpha1.InputFile{{Path: "build/out.txt", Content: new("built")}, {Path: "src/main.txt", Content: new("kept")}}
	})
	installPage(t, ns, image, issuer)
	// The right to answer is the person's own, and the right to decide that of a group.
	kubectl(t, "-n", ns, "create", "rolebinding", "answers", "--clusterrole", "motorcortex-responder", "--user", "oidc:dana")
	kubectl(t, "-n", ns, "create", "rolebinding", "decides", "--clusterrole", "motorcortex-approver", "--group", "oidc:approvers")
	dana, eve := logIn(t, ns, "dana", "approvers"), logIn(t, ns, "eve")

	awaitQuestion(t, run)
	asked := dana.shown()
	if status, text := eve.sends(asked, map[string]any{"answer": "src"}); status != http.StatusForbidden || !strings.Contains(text, "You may not") {
		t.Errorf("who has no role answers with %d: %s", status, text)
	}
	if status, text := eve.gets("/api/inbox?namespace=" + ns); status != http.StatusForbidden || !strings.Contains(text, "motorcortex-viewer") {
		t.Errorf("who has no role reads the inbox with %d: %s", status, text)
	}
	dana.sent(asked, map[string]any{"option": 1})

	action := awaitApproval(t, run, "rm -rf build").Action
	asked = dana.shown()
	decision := map[string]any{"decision": v1alpha1.DecisionApproveOnce, "digest": action.ArgsDigest, "reason": "It can be built again."}
	if status, text := eve.sends(asked, decision); status != http.StatusForbidden {
		t.Errorf("who has no role approves with %d: %s", status, text)
	}
	dana.sent(asked, decision)

	done := wantCompleted(t, run, soon)
	if s := done.Status.Result.Summary; !strings.Contains(s, "src") || strings.Contains(s, "build") {
		t.Errorf("afterwards there is: %s", s)
	}
	for _, r := range done.Spec.Responses {
		if r.RespondedBy != "oidc:dana" {
			t.Errorf("%s was answered by %q", r.ID, r.RespondedBy)
		}
	}
	var by []string
	for _, s := range wantWholeJournal(t, done) {
		for _, a := range s.Status.Asks {
			by = append(by, fmt.Sprintf("%s %s by %s", a.Kind, a.Outcome, a.By))
		}
	}
	if want := "Question Answered by oidc:dana, Approval Approved by oidc:dana"; strings.Join(by, ", ") != want {
		t.Errorf("the journal has %q", by)
	}
}

// installPage installs the page with an issuer in the namespace, and waits for both. The names of persons have the claim sub, those of groups the claim groups.
func installPage(t *testing.T, ns, image, issuer string) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(pageHost, nil, nil)
	must(t, err)
	issuerCertificate, issuerKey, err := cert.GenerateSelfSignedCertKey("issuer."+ns+".svc", nil, nil)
	must(t, err)
	created := []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: pageNamespace, Name: "motorcortex-pageserver-tls"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: pageNamespace, Name: "motorcortex-pageserver-oidc"},
			StringData: map[string]string{"client-secret": oidcissuer.Secret + "\n", "session-key": rand.Text() + rand.Text(), "ca.crt": string(issuerCertificate)},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "issuer-tls"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: issuerCertificate, corev1.TLSPrivateKeyKey: issuerKey},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ca"}, Data: map[string]string{"ca.crt": string(certificate) + string(issuerCertificate)}},
	}
	manifests := strings.NewReplacer(
		"image: pageserver\n", "image: "+image+"\n",
		"https://motor.example.org", "https://"+pageHost,
		"https://issuer.example.org", "https://issuer."+ns+".svc",
		"- --oidc-client-id=motorcortex-page\n", "- --oidc-client-id="+oidcissuer.ClientID+"\n        - --oidc-ca-file=/oidc/ca.crt\n        - --oidc-groups-claim=groups\n",
	).Replace(kubectl(t, "kustomize", filepath.Join("..", "..", "config", "page")))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			said, _, _ := tryKubectl(ctx, "", "-n", pageNamespace, "logs", "deployment/motorcortex-pageserver", "--tail=50")
			t.Log(said)
		}
		if _, said, err := tryKubectl(ctx, manifests, "delete", "-f", "-", "--ignore-not-found"); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		for _, o := range created {
			if err := client.IgnoreNotFound(suite.client.Delete(ctx, o)); err != nil {
				t.Error(err)
			}
		}
	})
	for _, o := range created {
		// What a suite left that was killed has other certificates.
		must(t, client.IgnoreNotFound(suite.client.Delete(t.Context(), o.DeepCopyObject().(client.Object))))
		must(t, suite.client.Create(t.Context(), o))
	}
	for _, text := range []string{manifests, fmt.Sprintf(pagePods, ns, issuer, suite.sandboxImage, pageHost)} {
		if _, said, err := tryKubectl(t.Context(), text, "apply", "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	kubectl(t, "-n", pageNamespace, "rollout", "status", "deployment/motorcortex-pageserver", "--timeout=3m")
	kubectl(t, "-n", ns, "wait", "pod", "--for=condition=Ready", "issuer", "browser", "--timeout=3m")
}

// visitor is a person with a browser.
type visitor struct {
	t        *testing.T
	ns, name string
}

// logIn has a person of some groups log in, as the redirects say.
func logIn(t *testing.T, ns, name string, groups ...string) *visitor {
	t.Helper()
	v := &visitor{t, ns, name}
	claims, err := json.Marshal(map[string]any{"sub": name, "groups": groups})
	must(t, err)
	v.awaitIssuer()
	to := v.redirected("https://" + pageHost + "/oidc/login")
	if !strings.HasPrefix(to, "https://issuer."+ns+".svc/authorize?") {
		t.Fatalf("the login leads to %s", to)
	}
	// At the issuer a person says who they are.
	if home := v.redirected(v.redirected(to + "&login_hint=" + url.QueryEscape(string(claims)))); home != "https://"+pageHost+"/" {
		t.Fatalf("the login ends at %s", home)
	}
	if status, text := v.gets("/api/me"); status != http.StatusOK || !strings.Contains(text, `"user":"oidc:`+name+`"`) {
		t.Fatalf("%s is %d: %s", name, status, text)
	}
	return v
}

// awaitIssuer returns when the browser reaches the page's server, and that server the issuer: a Service leads to its Pod some time after that is ready, and
// refuses connections until then.
func (v *visitor) awaitIssuer() {
	v.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(v.t.Context(), time.Second, soon, true, func(ctx context.Context) (bool, error) {
		var status int
		status, _, _, last = v.tryFetch(ctx, "https://"+pageHost+"/oidc/login")
		return last == nil && status != http.StatusBadGateway, nil
	})
	if err != nil {
		v.t.Fatalf("the page's server and the issuer: %v; the last try: %v", err, last)
	}
}

// fetch sends a request as the browser does, with the cookies of the person. It follows no redirect.
func (v *visitor) fetch(address string, args ...string) (status int, location, text string) {
	v.t.Helper()
	status, location, text, err := v.tryFetch(v.t.Context(), address, args...)
	must(v.t, err)
	return status, location, text
}

// tryFetch is fetch, for a server that may not answer.
func (v *visitor) tryFetch(ctx context.Context, address string, args ...string) (status int, location, text string, err error) {
	jar := "/cookies/" + v.name
	said, problem, err := tryKubectl(ctx, "", append([]string{
		"-n", v.ns, "exec", "browser", "--", "curl", "-sS", "-i", "--raw", "--http1.1", "--max-time", "60", "--cacert", "/ca/ca.crt", "-b", jar, "-c", jar, address,
	}, args...)...)
	if err != nil {
		return 0, "", "", fmt.Errorf("%s: %w: %s", address, err, problem)
	}
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(said)), nil)
	if err != nil {
		return 0, "", "", fmt.Errorf("%s answered %q: %w", address, said, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Get("Location"), string(body), err
}

// redirected is where an address leads.
func (v *visitor) redirected(address string) string {
	v.t.Helper()
	status, location, text := v.fetch(address)
	if status/100 != 3 {
		v.t.Fatalf("%s answers %d: %s", address, status, text)
	}
	from, err := url.Parse(address)
	must(v.t, err)
	to, err := from.Parse(location)
	must(v.t, err)
	return to.String()
}

func (v *visitor) gets(path string) (status int, text string) {
	v.t.Helper()
	status, _, text = v.fetch("https://" + pageHost + path)
	return status, text
}

// ask is what an inbox shows of an ask.
type ask struct{ Run, UID, ID, Seen string }

// shown is the only ask in the inbox of the person.
func (v *visitor) shown() ask {
	v.t.Helper()
	status, text := v.gets("/api/inbox?namespace=" + v.ns)
	var inbox struct{ Items []ask }
	if err := json.Unmarshal([]byte(text), &inbox); err != nil || len(inbox.Items) != 1 {
		v.t.Fatalf("the inbox of %s is %d: %s", v.name, status, text)
	}
	return inbox.Items[0]
}

// sends sends what a person decided about what they were shown.
func (v *visitor) sends(a ask, decided map[string]any) (status int, text string) {
	v.t.Helper()
	decided["uid"], decided["seen"] = a.UID, a.Seen
	var body bytes.Buffer
	must(v.t, json.NewEncoder(&body).Encode(decided))
	status, _, text = v.fetch("https://"+pageHost+"/api/runs/"+v.ns+"/"+a.Run+"/asks/"+a.ID, "-H", "Origin: https://"+pageHost, "-H", "Content-Type: application/json", "-d", body.String())
	return status, text
}

func (v *visitor) sent(a ask, decided map[string]any) {
	v.t.Helper()
	if status, text := v.sends(a, decided); status != http.StatusOK {
		v.t.Fatalf("%s is told %d: %s", v.name, status, text)
	}
}
