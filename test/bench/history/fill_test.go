// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func inMemory(t *testing.T) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorRun{}).Build()
}

func TestEachRunHasEnded(t *testing.T) {
	t.Parallel()
	c := inMemory(t)
	// A second time changes nothing.
	for range 2 {
		if err := Fill(t.Context(), c, c, "n", 40); err != nil {
			t.Fatal(err)
		}
	}
	var runs v1alpha1.MotorRunList
	if err := c.List(t.Context(), &runs); err != nil {
		t.Fatal(err)
	}
	ended, failed := 0, 0
	for i := range runs.Items {
		st := &runs.Items[i].Status
		if apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished) && st.CompletionTime != nil {
			ended++
		}
		if st.Phase == v1alpha1.PhaseFailed && !st.Result.OK {
			failed++
		}
	}
	if len(runs.Items) != 40 || ended != 40 || failed != 2 {
		t.Errorf("of %d runs %d have ended, %d with a failure", len(runs.Items), ended, failed)
	}
}

func TestARunThatIsRefusedEndsTheFill(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	c := interceptor.NewClient(inMemory(t), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
	})
	if err := Fill(t.Context(), c, c, "n", 100); !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
}
