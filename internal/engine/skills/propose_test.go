// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Objects that the cluster rejects are reported, and failures that may pass are retried.
func TestSkillsThatTheClusterDoesNotTake(t *testing.T) {
	t.Parallel()
	forbidden := func(o client.Object) error {
		return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("skills").GroupResource(), o.GetName(), errors.New("exceeded quota"))
	}
	for name, tt := range map[string]struct {
		prepare func(*skillRig)
		before  func(client.Object) error
		// want is the message, "" if it is an error.
		want string
	}{
		"no Skill":         {before: func(o client.Object) error { return only[*v1alpha1.Skill](o, forbidden) }, want: "exceeded quota"},
		"no SkillRevision": {before: func(o client.Object) error { return only[*v1alpha1.SkillRevision](o, forbidden) }, want: "exceeded quota"},
		"no ConfigMap":     {before: func(o client.Object) error { return only[*corev1.ConfigMap](o, forbidden) }, want: "exceeded quota"},
		"no time now":      {before: func(client.Object) error { return apierrors.NewTooManyRequests("wait", 1) }},
		"the namespace goes": {before: func(o client.Object) error {
			err := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("skills").GroupResource(), o.GetName(), errors.New("it is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		}},
		"the Skill is deleted": {prepare: func(r *skillRig) {
			r.pin("mail", "SKILL.md", manifestOf("mail", "before"))
			r.must(r.client.Delete(t.Context(), &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail"}}))
		}, want: "the Skill mail was deleted"},
		"the Skill is being deleted": {prepare: func(r *skillRig) {
			sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail", Finalizers: []string{"example.org/x"}}}
			r.must(r.client.Create(t.Context(), sk))
			r.must(r.client.Delete(t.Context(), sk))
		}, want: "the Skill mail is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			if tt.prepare != nil {
				tt.prepare(r)
			}
			if tt.before != nil {
				r.before = tt.before
			}
			r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
			got, err := r.collector().Collect(t.Context(), time.Minute)
			if tt.want == "" {
				if err == nil {
					t.Errorf("%+v", got)
				}
				r.before = func(client.Object) error { return nil }
				if got := r.collect(); len(got.Created) != 1 {
					t.Errorf("tried again it says %+v", got)
				}
				return
			}
			if err != nil || len(got.Created)+len(got.Updated) > 0 || len(got.Rejected) != 1 || !strings.Contains(got.Rejected[0].Message, tt.want) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

// only returns the error for objects of one type.
func only[T client.Object](o client.Object, err func(client.Object) error) error {
	if _, ok := o.(T); ok {
		return err(o)
	}
	return nil
}

// The policy that a run proposes has no more credentials than a policy may have.
func TestCredentialsFitAPolicy(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	for i := range 20 {
		var hosts []string
		for n := range 8 {
			hosts = append(hosts, fmt.Sprintf("%q", fmt.Sprintf("%s.h%d.example.org", strings.Repeat("x", 50), n)))
		}
		r.did("save_credential", fmt.Sprintf(`{"name":"key_%02d","path":"k","hosts":[%s]}`, i, strings.Join(hosts, ",")))
	}
	names, credentials := r.collector().saved()
	if len(names) != 16 || len(credentials) == 0 || len(credentials) > 10 || credentials[0].Name != "key_00" {
		t.Errorf("%v, and %d in the policy", names, len(credentials))
	}
}
