// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestGet(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	own := &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: v1alpha1.CortexName},
		Spec:       v1alpha1.MotorCortexSpec{Search: &v1alpha1.SearchProvider{URL: "https://search.example.org"}},
	}
	away := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("the API server is away")
	}}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(own).Build()
	if c, err := Get(t.Context(), reader, "agents"); err != nil || c.Spec.Search == nil {
		t.Errorf("of its namespace: %+v, %v", c, err)
	}
	if c, err := Get(t.Context(), reader, "others"); err != nil || c == nil || c.Spec.Search != nil {
		t.Errorf("of a namespace without one: %+v, %v", c, err)
	}
	if c, err := Get(t.Context(), interceptor.NewClient(reader, away), "agents"); err == nil || c != nil || !strings.Contains(err.Error(), "get MotorCortex") {
		t.Errorf("of an API server that is away: %+v, %v", c, err)
	}
}
