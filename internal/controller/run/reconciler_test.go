// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Runs that are there at a failover have a low priority in their first pass. On a busy leader one that failed would not have a second.
func TestAPassThatFailedIsRepeatedWithThePriorityOfAllOthers(t *testing.T) {
	t.Parallel()
	r := &Reconciler{Client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	}).Build()}
	res, err := r.Reconcile(t.Context(), ctrl.Request{})
	if err == nil || res.Priority == nil || *res.Priority != 0 || res.RequeueAfter != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}
