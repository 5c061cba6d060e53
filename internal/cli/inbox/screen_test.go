// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/golden"
	"motorcortex.dev/motorcortex/test/tty"
)

// A question cannot move the cursor of who reads the inbox, and the table stands on a terminal as it was written.
func TestTheInboxOnATerminal(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = true
			}
			return nil
		},
		// This cluster knows no field selector of that form, and all of its runs wait.
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			all := (&client.ListOptions{}).ApplyOptions(o)
			all.FieldSelector = nil
			return c.List(ctx, list, all)
		},
	})
	began := time.Now()
	for _, run := range someRuns() {
		// Whole days do not change while a test runs.
		p := &run.Status.PendingInputs[0]
		p.AskTime = metav1.NewTime(began.Add(-10*24*time.Hour - time.Hour))
		if !p.ExpirationTime.IsZero() {
			p.ExpirationTime = metav1.NewTime(began.Add(20*24*time.Hour + time.Hour))
		}
		builder.WithObjects(&run)
	}
	s := tty.New(t, 120, 8)
	c := builder.Build()
	streams := verb.Streams{In: s.TTY, Out: s.TTY, Err: s.TTY, Terminal: true, Screen: true}
	p := verb.Program(streams, "kubectl-motor", "kubectl motor", "Test.", New(streams, func() (client.WithWatch, string, error) { return c, "ns", nil }))
	if code := verb.Run(t.Context(), p, []string{"inbox", "-A"}); code != verb.ExitOK {
		t.Errorf("exit code %d", code)
	}
	golden.Check(t, "inbox.txt", s.Shows("kubectl motor retry never -n ns"))
}
