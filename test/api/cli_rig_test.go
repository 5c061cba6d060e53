// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"io"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/plugin"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// plugIn carries out the arguments after `kubectl motor`, and returns the exit code.
func plugIn(t *testing.T, s verb.Streams, args ...string) int {
	t.Helper()
	return verb.Run(testContext(t), plugin.New(s), args)
}

// terminal is a person of a namespace who has the plugin, and types what typed has.
type terminal struct {
	t      *testing.T
	config string
	// typed is read at a terminal. Without it there is none.
	typed io.Reader
}

// sits gives a person of the namespace of the run, with these rights, a kubeconfig of their own.
func (r *rig) sits(user string, may ...string) *terminal {
	r.t.Helper()
	return sitsIn(r.ctx, r.t, r.ns, user, may...)
}

// sitsIn gives a person of a namespace, with these rights, a kubeconfig of their own.
func sitsIn(ctx context.Context, t *testing.T, namespace, user string, may ...string) *terminal {
	t.Helper()
	person(ctx, t, namespace, user, may)
	return &terminal{t: t, config: kubeconfig(t, namespace, user)}
}

// types has the person type lines at a terminal.
func (p *terminal) types(lines string) *terminal {
	return &terminal{p.t, p.config, strings.NewReader(lines)}
}

// does carries out a command, and returns what it prints.
func (p *terminal) does(args ...string) (code int, out, errs string) {
	p.t.Helper()
	var o, e strings.Builder
	code = plugIn(p.t, verb.Streams{In: p.typed, Out: &o, Err: &e, Terminal: p.typed != nil}, append(args, "--kubeconfig", p.config)...)
	return code, o.String(), e.String()
}

// want carries out a command, written as one line, and fails the test unless it ends with that code and prints all of these texts.
func (p *terminal) want(code int, line string, says ...string) {
	p.t.Helper()
	got, out, errs := p.does(strings.Fields(line)...)
	if got != code {
		p.t.Errorf("%s: exit code %d, want %d:\n%s%s", line, got, code, out, errs)
	}
	for _, part := range says {
		if !strings.Contains(out+errs, part) {
			p.t.Errorf("%s does not say %q, but\n%s%s", line, part, out, errs)
		}
	}
}

// meanwhile is a reader that does something before it gives a line.
type meanwhile struct {
	do   func()
	line io.Reader
}

func (m *meanwhile) Read(b []byte) (int, error) {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return m.line.Read(b)
}

// response is the last response that the run has.
func (r *rig) response() v1alpha1.Response {
	r.t.Helper()
	list := r.run().Spec.Responses
	if len(list) == 0 {
		r.t.Fatal("the run has no response")
	}
	return list[len(list)-1]
}

// askingRig is a rig with a run whose answers are checked as in production, and a sandbox that runs.
func askingRig(t *testing.T, change ...func(*v1alpha1.MotorRun)) *rig {
	t.Helper()
	r := emptyRig(t, withQuestions, "true")
	r.create(admin, change...)
	r.ready()
	return r
}

// mayListNamespaces lets a user list all namespaces, as many clusters let everybody.
func mayListNamespaces(ctx context.Context, t *testing.T, user string) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "namespaces-"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"namespaces"}}}}
	must(t, admin.Create(ctx, role))
	must(t, admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "namespaces-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}))
	awaitRight(ctx, t, user, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"})
}
