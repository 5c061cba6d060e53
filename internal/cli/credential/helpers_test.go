// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	cli "motorcortex.dev/motorcortex/internal/cli/credential"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

const value = "s3cr3t-of-weather"

// rig is a namespace "ns" of a cluster.
type rig struct {
	client.WithWatch
	t *testing.T
	// in is standard input, at a terminal if asked is true.
	in    io.Reader
	asked bool
}

func newRig(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *rig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace("ns")
		}
		o.SetUID("uid-of-" + o.GetUID())
	}
	patch := funcs.Patch
	funcs.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		if head, ok := o.(*metav1.PartialObjectMetadata); ok {
			// The client of this test does not look at the object in a dry run.
			s := &corev1.Secret{}
			err := c.Get(ctx, client.ObjectKeyFromObject(o), s)
			head.ObjectMeta = s.ObjectMeta
			return err
		}
		if patch != nil {
			return patch(ctx, c, o, p, opts...)
		}
		return c.Patch(ctx, o, p, opts...)
	}
	return &rig{WithWatch: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).WithReturnManagedFields().Build(), t: t}
}

func (r *rig) run(args ...string) (code int, out, errs string) {
	r.t.Helper()
	var o, e strings.Builder
	c := cli.Command{
		Streams: verb.Streams{In: r.in, Out: &o, Err: &e, Terminal: r.asked},
		Connect: func() (client.WithWatch, string, error) { return r.WithWatch, "ns", nil },
	}
	p := verb.Program(c.Streams, "kubectl-motor", "kubectl motor", "Test.", cli.New(c))
	code = verb.Run(r.t.Context(), p, append([]string{"credential"}, args...))
	if strings.Contains(o.String()+e.String(), value) {
		r.t.Errorf("%s shows the value: %s%s", args, &o, &e)
	}
	return code, o.String(), e.String()
}

// want runs a verb and fails the test unless it ends with that code and prints all of these texts.
func (r *rig) want(code int, args []string, says ...string) {
	r.t.Helper()
	got, out, errs := r.run(args...)
	if got != code {
		r.t.Errorf("%s: exit code %d, want %d", args, got, code)
	}
	for _, part := range says {
		if !strings.Contains(out+errs, part) {
			r.t.Errorf("%s does not say %q, but %s%s", args, part, out, errs)
		}
	}
}

func (r *rig) secret(name string) *corev1.Secret {
	r.t.Helper()
	s := &corev1.Secret{}
	if err := r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func credentialSecret(name string, annotations map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"motorcortex.dev/component": "credential", "team": "a"}, Annotations: annotations},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{"value": []byte("an earlier one"), "other": []byte("another key")},
	}
}

// skillUsing is a skill whose policy names a Secret.
func skillUsing(name, secret string, state v1alpha1.SkillState) *v1alpha1.Skill {
	return &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SkillSpec{Policy: v1alpha1.SkillPolicy{Credentials: []v1alpha1.SkillCredential{
			{Name: "weather_key", Hosts: []v1alpha1.Domain{"api.example.org"}, SecretRef: &v1alpha1.SecretKeyRef{Name: secret, Key: "value"}}, {Name: "of_each_run"},
		}}},
		Status: v1alpha1.SkillStatus{State: state},
	}
}
