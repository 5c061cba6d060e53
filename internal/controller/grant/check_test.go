// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/recent"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// A run is not accepted before there is a proxy for its domains that sandboxes can go to, and before it may use its credentials. An accepted run is
// not checked again.
func TestCheck(t *testing.T) {
	t.Parallel()
	service := func(ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "egress"}, Spec: corev1.ServiceSpec{ClusterIP: ip}}
	}
	for name, tt := range map[string]struct {
		domains     []v1alpha1.Domain
		credentials []v1alpha1.Credential
		services    []client.Object
		accepted    bool
		down        bool
		goOn        bool
		reason      string
		fails       bool
	}{
		"no domains":             {goOn: true},
		"domains, and no proxy":  {domains: []v1alpha1.Domain{"example.org"}, reason: v1alpha1.ReasonEgressUnavailable},
		"a proxy without an IP":  {domains: []v1alpha1.Domain{"example.org"}, services: []client.Object{service("None")}, reason: v1alpha1.ReasonEgressUnavailable},
		"a proxy":                {domains: []v1alpha1.Domain{"example.org"}, services: []client.Object{service("10.0.0.1")}, goOn: true},
		"accepted, and no proxy": {domains: []v1alpha1.Domain{"example.org"}, accepted: true, goOn: true},
		"no API server":          {domains: []v1alpha1.Domain{"example.org"}, down: true, fails: true},
		"no requester":           {credentials: []v1alpha1.Credential{{Name: "key"}}, reason: v1alpha1.ReasonCredentialForbidden},
	} {
		live := fake.NewClientBuilder().WithObjects(tt.services...).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if tt.down {
					return errors.New("connection refused")
				}
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
		s := pass.NewRun(&v1alpha1.MotorRun{}, time.Unix(1000, 0))
		s.Run.Spec.Domains, s.Run.Spec.Credentials = tt.domains, tt.credentials
		if tt.accepted {
			s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "")
		}
		g := &Granter{Live: live, Service: "egress", State: &State{}, Sandbox: sandbox.Config{Namespace: "system"}}
		goOn, err := g.Check(t.Context(), s)
		if goOn != tt.goOn || (err != nil) != tt.fails {
			t.Errorf("%s: goes on is %t, %v", name, goOn, err)
		}
		c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
		switch {
		case tt.reason == "" && c != nil && c.Status == metav1.ConditionFalse:
			t.Errorf("%s: blocked by %s", name, c.Reason)
		case tt.reason != "" && (c == nil || c.Reason != tt.reason || !s.Stalled || s.Result().RequeueAfter == 0):
			t.Errorf("%s: condition %+v, stalled %t, looked at again after %s", name, c, s.Stalled, s.Result().RequeueAfter)
		}
	}
}

// Runs that wait for the same Secret ask for it together, however many they are.
func TestRunsThatWaitForASecretShareWhatIsRead(t *testing.T) {
	t.Parallel()
	const runs, most = 500, 10
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now, requests := noon, 0
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "egress"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	live := fake.NewClientBuilder().WithObjects(service).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			requests++
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			requests++
			if review, ok := o.(*authorizationv1.LocalSubjectAccessReview); ok {
				review.Status.Allowed = true
			}
			return nil
		},
	}).Build()
	answers := &recent.Answers{Live: live, Reviews: live, Now: func() time.Time { return now }}
	g := &Granter{Client: live, Live: live, Recent: answers, Service: "egress", State: &State{}, Sandbox: sandbox.Config{Namespace: "system"}}
	for i := range runs {
		now = noon.Add(time.Duration(i) * time.Minute / runs)
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("run-", i), CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
		run.Spec.Domains = []v1alpha1.Domain{"example.org"}
		run.Spec.Credentials = []v1alpha1.Credential{{Name: "key", SecretRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "key"}, Hosts: run.Spec.Domains}}
		run.Spec.Requester = &v1alpha1.Requester{Username: "alice"}
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCredentialSecretNotFound}}
		s := pass.NewRun(run, now)
		if goOn, err := g.Check(t.Context(), s); goOn || err != nil || s.Result().RequeueAfter > pass.MaxPause+time.Second {
			t.Fatalf("goes on is %t, %v, looked at again after %s", goOn, err, s.Result().RequeueAfter)
		}
	}
	if requests > most {
		t.Errorf("%d runs made %d requests in a minute, want %d at most", runs, requests, most)
	}
}
