// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// The grant goes before the Pod whose address it has. The grant of a sandbox that runs stays.
func TestWithdrawStale(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		phase sandbox.Phase
		gone  bool
		stays bool
	}{
		"it runs":  {phase: sandbox.Running, stays: true},
		"it ended": {phase: sandbox.Ended},
		"it went":  {gone: true},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
		run.Spec.Domains = []v1alpha1.Domain{"example.org"}
		run.Status.Egress = &v1alpha1.EgressStatus{Attempt: 1}
		run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "pod", PodUID: "pod-uid", CreationTime: new(metav1.NewTime(time.Unix(900, 0)))}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: grant.SecretName("run-uid"), UID: "secret-uid"}}
		c := fake.NewClientBuilder().WithObjects(secret).Build()
		s := pass.NewRun(run, time.Unix(1000, 0))
		s.Domains = run.Spec.Domains
		if !tt.gone {
			s.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "pod-uid"}}
			s.PodState = &sandbox.State{Phase: tt.phase}
		}
		g := &Granter{Client: c, Live: c, State: &State{}, Sandbox: sandbox.Config{Namespace: "system"}}
		// A leader that does not know the grant's version reads it first, and deletes it in the next pass.
		for range 2 {
			goOn, err := g.WithdrawStale(t.Context(), s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			err = c.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
			if gone := apierrors.IsNotFound(err); goOn && !tt.stays && !gone {
				t.Errorf("%s: the next step may delete the Pod, and the grant is still there", name)
			}
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
		if stays := err == nil; stays != tt.stays || (s.Run.Status.Egress != nil) != tt.stays {
			t.Errorf("%s: the grant is there: %t (%v), and in the status: %t", name, stays, err, s.Run.Status.Egress != nil)
		}
	}
}
