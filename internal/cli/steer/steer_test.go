// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/steer"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestSteer(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	ended := metav1.Now()
	for name, tt := range map[string]struct {
		line string
		run  v1alpha1.MotorRun
		err  error
		code int
		says string
		sent string
	}{
		"cancel":          {"cancel run", v1alpha1.MotorRun{}, nil, 0, "motorrun/run cancelled", `{"metadata":{"uid":"uid"},"spec":{"cancel":true}}`},
		"suspend":         {"suspend run", v1alpha1.MotorRun{}, nil, 0, "motorrun/run suspended", `{"metadata":{"uid":"uid"},"spec":{"suspend":true}}`},
		"resume":          {"resume run", v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Suspend: true}}, nil, 0, "motorrun/run resumed", `{"metadata":{"uid":"uid"},"spec":{"suspend":false}}`},
		"nothing to do":   {"resume run", v1alpha1.MotorRun{}, nil, 0, "note: run is not suspended", ""},
		"an end":          {"cancel run", v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{CompletionTime: &ended, Reason: "Completed"}}, nil, 1, "run has ended already (Completed)", ""},
		"another run":     {"cancel run", v1alpha1.MotorRun{}, apierrors.NewConflict(runs, "run", errors.New("uid")), 1, "ns/run was not cancelled: the run is gone", "x"},
		"no right":        {"cancel run", v1alpha1.MotorRun{}, apierrors.NewForbidden(runs, "run", errors.New("no")), 1, "motorcortex-editor", "x"},
		"a policy":        {"cancel run", v1alpha1.MotorRun{}, apierrors.NewForbidden(runs, "run", errors.New("p denied request: dana may not")), 1, "ns/run was not cancelled: dana may not\n", "x"},
		"something else":  {"suspend run", v1alpha1.MotorRun{}, errors.New("no route"), 1, "ns/run was not suspended: no route", "x"},
		"no run is named": {"cancel", v1alpha1.MotorRun{}, nil, 4, "the name of the RUN is missing", ""},
		"no such run":     {"cancel other", v1alpha1.MotorRun{}, nil, 1, "there is no MotorRun other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, err := cluster.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			tt.run.Name, tt.run.Namespace, tt.run.UID = "run", "ns", "uid"
			var sent string
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&tt.run).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
					body, err := patch.Data(o)
					sent = string(body)
					return errors.Join(err, tt.err)
				},
			}).Build()
			var out, errs strings.Builder
			s := verb.Streams{Out: &out, Err: &errs}
			p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", steer.New(s, func() (client.WithWatch, string, error) { return c, "ns", nil })...)
			code := verb.Run(t.Context(), p, strings.Fields(tt.line))
			if code != tt.code || !strings.Contains(out.String()+errs.String(), tt.says) || tt.sent != "x" && sent != tt.sent {
				t.Errorf("exit code %d, sent %q:\n%s%s", code, sent, &out, &errs)
			}
		})
	}
}
