// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// AsUser tries, in a dry run and as a user who may create runs, a run that would pass for the operator's. It returns nil if the policy refused it, and
// ErrUnprotected if the API server accepted it. Any other error is the API server's own: something else refused first, and it cannot be told.
func AsUser(ctx context.Context, c client.Client, namespace string) error {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "motorcortex-self-test", Labels: map[string]string{v1alpha1.LabelRun: "self-test"}},
		Spec:       v1alpha1.MotorRunSpec{Task: "must not be created"},
	}
	err := c.Create(ctx, run, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("%w: the API server let a user create a run with a label of the operator's: the ValidatingAdmissionPolicy %s, or its binding, is missing: %s",
			ErrUnprotected, runsPolicy, install)
	case refusedBy(err, runsPolicy):
		return nil
	}
	return err
}
