// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// The tokens of a try count once, also when the answer to their write gets lost.
func TestOutageCostsCountOnce(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	lost := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorStep{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := c.SubResource(sub).Patch(ctx, o, patch, opts...); err != nil || lost == 1 {
				return err
			}
			lost++
			return context.DeadlineExceeded
		},
	}).Build()
	run := &v1alpha1.MotorRun{}
	run.Namespace, run.Name, run.UID = "ns", "run", "uid"
	l, err := Load(t.Context(), c, c, run, 1, Claim{Epoch: 1, Worker: "w"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	o := &chat.Outage{Reason: "ModelUnavailable", Message: "503", Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 2, Estimated: true}}
	s, err := l.Away(t.Context(), o, 3600)
	if err != nil {
		t.Fatal(err)
	}
	if u := s.Status.FailedUsage; lost != 1 || u.PromptTokens != 7 || u.TotalTokens != 9 || !u.Estimated {
		t.Errorf("after %d lost answers, the cost is %+v", lost, u)
	}
}

// An outage has one step. Its changes are recorded there, each try adds its cost, and the next answer waits for an outage of its own.
func TestAnOutageIsOneStep(t *testing.T) {
	t.Parallel()
	l, c := stored(t)
	l.run.Namespace, l.run.Name, l.run.UID = "ns", "run", "uid"
	away := func(o chat.Outage) *v1alpha1.MotorStep {
		t.Helper()
		s, err := l.Away(t.Context(), &o, 3600)
		if err != nil {
			t.Fatal(err)
		}
		var found v1alpha1.MotorStep
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), &found); err != nil {
			t.Fatal(err)
		}
		return &found
	}
	cost := turn.Usage{PromptTokens: 7, CompletionTokens: 2}
	first := away(chat.Outage{Reason: "ModelUnavailable", Message: "503", Usage: cost})
	again := away(chat.Outage{Reason: "ModelUnavailable", Message: "503", Usage: cost})
	if u := again.Status.FailedUsage; again.Name != first.Name || u.PromptTokens != 14 || u.CompletionTokens != 4 || u.TotalTokens != 18 || again.Status.Outage != nil {
		t.Errorf("after a second try of the same reason: %s %+v", again.Name, again.Status)
	}
	act := away(chat.Outage{Reason: "ModelUnavailable", Message: "gone", MustAct: true})
	if o := act.Status.Outage; act.Name != first.Name || o == nil || !o.MustAct || act.Status.FailedUsage.TotalTokens != 18 {
		t.Errorf("when somebody must act: %s %+v", act.Name, act.Status)
	}
	l.steps = append(l.steps, storedStep(v1alpha1.MotorStepStatus{}))
	next := away(chat.Outage{Reason: "ModelUnavailable", Message: "503"})
	if next.Name == first.Name || next.Spec.Index != 2 || next.Status.FailedUsage.TotalTokens != 0 {
		t.Errorf("of the next answer: %s %+v", next.Name, next.Status)
	}
}
