// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/credential"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const (
	egressService = "motorcortex-egressproxy"
	// secretValue must be found nowhere but in Secrets.
	secretValue = "s3cr3t-value-of-the-test"
)

// reaching and using are changes of a run.
func reaching(domains ...v1alpha1.Domain) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.Domains = domains }
}

func using(name string, hosts ...v1alpha1.Domain) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Spec.Credentials = append(run.Spec.Credentials, v1alpha1.Credential{
			Name: name, SecretRef: v1alpha1.SecretKeyRef{Name: "keys", Key: name}, Hosts: hosts, ExposeToSandbox: len(hosts) == 0,
		})
	}
}

// egressRig is a rig with an egress proxy, and a person who creates the run and may have it use the Secret keys.
func egressRig(t *testing.T, change ...func(*v1alpha1.MotorRun)) *rig {
	t.Helper()
	r := emptyRig(t)
	r.proxy()
	r.allowUse()
	r.putSecret(map[string]string{"service_key": secretValue + "\n"})
	r.createAsRequester(change...)
	return r
}

// proxy makes the Service of the egress proxy, which all rigs share.
func (r *rig) proxy() {
	r.t.Helper()
	service := &corev1.Service{ObjectMeta: meta(managerNamespace, egressService), Spec: corev1.ServiceSpec{
		Selector: sandbox.ProxyLabels(), Ports: []corev1.ServicePort{{Name: "proxy", Port: egressgrant.Port}},
	}}
	if err := admin.Create(r.ctx, service); err != nil && !strings.Contains(err.Error(), "already") {
		r.t.Fatal(err)
	}
}

func (r *rig) requester() string { return "alice-" + r.ns }

// createAsRequester creates the run as the person.
func (r *rig) createAsRequester(change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	verbs := []string{"create"}
	if slices.ContainsFunc(newRun(r.ns, change...).Spec.Credentials, func(c v1alpha1.Credential) bool { return c.ExposeToSandbox }) {
		// Who may approve may also choose the hosts of a Secret, so nobody else has it.
		verbs = append(verbs, "approve")
	}
	r.role("create-runs", rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"motorruns"}, Verbs: verbs})
	r.awaitRight(true, authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Resource: "motorruns", Verb: "create"})
	user, err := clientAs(r.requester())
	must(r.t, err)
	r.create(user, append(change, func(run *v1alpha1.MotorRun) {
		run.Spec.Requester = &v1alpha1.Requester{Username: r.requester(), Groups: []string{"system:authenticated"}}
	})...)
}

// role grants the person a right.
func (r *rig) role(name string, rule rbacv1.PolicyRule) {
	r.t.Helper()
	must(r.t, admin.Create(r.ctx, &rbacv1.Role{ObjectMeta: meta(r.ns, name), Rules: []rbacv1.PolicyRule{rule}}))
	must(r.t, admin.Create(r.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta(r.ns, name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: r.requester()}},
	}))
}

// allowUse lets the person's runs use the Secret keys, and waits until the API server knows.
func (r *rig) allowUse() {
	r.t.Helper()
	r.role("use-keys", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"keys"}, Verbs: []string{"use"}})
	r.awaitRight(true, useKeys())
}

func (r *rig) forbidUse() {
	r.t.Helper()
	must(r.t, admin.Delete(r.ctx, &rbacv1.RoleBinding{ObjectMeta: meta(r.ns, "use-keys")}))
	must(r.t, admin.Delete(r.ctx, &rbacv1.Role{ObjectMeta: meta(r.ns, "use-keys")}))
	r.awaitRight(false, useKeys())
}

func useKeys() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Version: "v1", Resource: "secrets", Name: "keys", Verb: "use"}
}

func (r *rig) awaitRight(want bool, what authorizationv1.ResourceAttributes) {
	r.t.Helper()
	what.Namespace = r.ns
	must(r.t, wait.PollUntilContextCancel(r.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: r.requester(), Groups: []string{"system:authenticated"}, ResourceAttributes: &what,
		}}
		return admin.Create(ctx, review) == nil && review.Status.Allowed == want, nil
	}))
}

// putSecret makes or changes the Secret keys.
func (r *rig) putSecret(data map[string]string) {
	r.t.Helper()
	secret := &corev1.Secret{ObjectMeta: meta(r.ns, "keys"), StringData: data}
	// The requester of these runs may use the Secret, and does not choose its hosts.
	secret.Annotations = map[string]string{credential.AnnotationHosts: "example.org, *.example.org, example.com, *.example.com:8443"}
	err := admin.Create(r.ctx, secret)
	if err != nil {
		err = admin.Update(r.ctx, secret)
	}
	must(r.t, err)
}

// grantOf is what the egress proxy is told of the run, nil if nothing.
func (r *rig) grantOf() (*corev1.Secret, *egressgrant.Grant) {
	r.t.Helper()
	return r.grantByUID(string(r.run().UID))
}

func (r *rig) grantByUID(uid string) (*corev1.Secret, *egressgrant.Grant) {
	r.t.Helper()
	secret := &corev1.Secret{}
	err := admin.Get(r.ctx, client.ObjectKey{Namespace: managerNamespace, Name: egressgrant.SecretName(uid)}, secret)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if err != nil {
		return nil, nil
	}
	g, err := egressgrant.Decode(secret.Data)
	must(r.t, err)
	return secret, g
}

// route is the run's NetworkPolicy, nil if there is none.
func (r *rig) route() *networkingv1.NetworkPolicy {
	r.t.Helper()
	p := &networkingv1.NetworkPolicy{}
	err := admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: "run-egress"}, p)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return p
}

func (r *rig) domains() string {
	r.t.Helper()
	e := r.run().Status.Egress
	if e == nil {
		return "none"
	}
	return strings.Trim(fmt.Sprint(e.Domains), "[]")
}

// decide answers a domain request.
func (r *rig) decide(id string, d v1alpha1.Decision) {
	r.t.Helper()
	value, err := json.Marshal(v1alpha1.Response{ID: id, Decision: d})
	must(r.t, err)
	must(r.t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":`+string(value)+`}]`))
}

// wantNoValue fails if the value of a credential is anywhere that people or programs read.
func (r *rig) wantNoValue(values ...string) {
	r.t.Helper()
	run, err := json.Marshal(r.run())
	must(r.t, err)
	policy, err := json.Marshal(r.route())
	must(r.t, err)
	pod, err := json.Marshal(r.pod())
	must(r.t, err)
	told := strings.Join(r.notes, " ")
	for _, v := range append(values, secretValue) {
		for where, text := range map[string]string{"run": string(run), "policy": string(policy), "Pod": string(pod), "events": told} {
			if strings.Contains(text, v) {
				r.t.Errorf("the value of a credential is in the %s", where)
			}
		}
	}
}
