// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/inputs"
)

// createWithFiles is Create for a run whose large files may be beside it. It notes a ConfigMap that is left to the user.
func createWithFiles(ctx context.Context, c client.Client, run *v1alpha1.MotorRun, note io.Writer) (answered bool, err error) {
	created, answered, err := inputs.Create(ctx, configMaps{c, run.Namespace}, run,
		func(ctx context.Context, run *v1alpha1.MotorRun) (*v1alpha1.MotorRun, bool, error) {
			run = run.DeepCopy()
			answered, err := Create(ctx, c, run)
			return run, answered, err
		})
	if err != nil {
		return answered, err
	}
	*run = *created.Run
	if created.Unowned != nil {
		_, _ = fmt.Fprintf(note, "note: the ConfigMap %s with files of the run stays when the run is deleted: %v\n", created.ConfigMap, created.Unowned)
	}
	return true, nil
}

// configMaps are those of a namespace.
type configMaps struct {
	client    client.Client
	namespace string
}

func (m configMaps) named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}}
}

// Create implements inputs.ConfigMaps.
func (m configMaps) Create(ctx context.Context, cm *corev1.ConfigMap) error {
	return m.client.Create(ctx, cm.DeepCopy())
}

// Read implements inputs.ConfigMaps.
func (m configMaps) Read(ctx context.Context, name string) error {
	cm := m.named(name)
	return m.client.Get(ctx, client.ObjectKeyFromObject(cm), cm)
}

// Own implements inputs.ConfigMaps.
func (m configMaps) Own(ctx context.Context, name string, owner metav1.OwnerReference) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{owner}}})
	if err != nil {
		return err
	}
	return m.client.Patch(ctx, m.named(name), client.RawPatch(types.MergePatchType, patch))
}

// Delete implements inputs.ConfigMaps.
func (m configMaps) Delete(ctx context.Context, name string) error {
	return m.client.Delete(ctx, m.named(name))
}
