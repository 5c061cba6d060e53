// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/pkg/client/motor/inputs"
)

// Large files are in a ConfigMap of the run where the person may make one, and in the run where they may not.
func TestLargeFilesAreBesideTheRun(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	no := apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))
	for name, tt := range map[string]struct {
		calls      interceptor.Funcs
		maps       int
		says       string
		unowned    bool
		inlineOnly bool
	}{
		"all is permitted": {maps: 1},
		"no ConfigMaps": {calls: interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*corev1.ConfigMap); ok {
				return no
			}
			return c.Create(ctx, o, opts...)
		}}, inlineOnly: true},
		"none to read": {calls: interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return no
		}}, inlineOnly: true},
		"none to change": {
			calls: interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return no
			}},
			maps: 1, unowned: true, says: "stays when the run is deleted",
		},
	} {
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), tt.calls)
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid"}}
		content := strings.Repeat("x", inputs.InlineBytes+1)
		run.Spec.Files = []v1alpha1.InputFile{{Path: "large", Content: &content}, {Path: "small", Content: new("x")}}
		var note strings.Builder
		if answered, err := createWithFiles(t.Context(), c, run, &note); err != nil || !answered {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var list corev1.ConfigMapList
		if err := c.List(t.Context(), &list, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentInputs}); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != tt.maps || !strings.Contains(note.String(), tt.says) || (note.Len() > 0) != (tt.says != "") {
			t.Errorf("%s: %d ConfigMaps, %q", name, len(list.Items), note.String())
			continue
		}
		if got := run.Spec.Files; (got[0].Content != nil) != tt.inlineOnly || got[1].Content == nil {
			t.Errorf("%s: the run has %+v", name, got)
		}
		if tt.maps == 1 && !tt.unowned && (len(list.Items[0].OwnerReferences) != 1 || list.Items[0].OwnerReferences[0].UID != run.UID) {
			t.Errorf("%s: owners %+v", name, list.Items[0].OwnerReferences)
		}
	}
}
