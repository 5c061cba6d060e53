// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/inputs"
)

// create is inputs.CreateRun.
func (c *Client) create(ctx context.Context, run *v1alpha1.MotorRun) (created *v1alpha1.MotorRun, answered bool, err error) {
	created, err = c.runs().Create(ctx, run, metav1.CreateOptions{})
	answer := apierrors.APIStatus(nil)
	return created, err == nil || errors.As(err, &answer), err
}

// unowned is the ConfigMap that stays when the run is deleted, "" for none.
func unowned(created *inputs.Created) string {
	if created.Unowned == nil {
		return ""
	}
	return created.ConfigMap
}

// configMaps are those of the client's namespace.
type configMaps struct{ c *Client }

func (m configMaps) all() corev1client.ConfigMapInterface {
	return m.c.clients.Core.CoreV1().ConfigMaps(m.c.namespace)
}

// Create implements inputs.ConfigMaps.
func (m configMaps) Create(ctx context.Context, cm *corev1.ConfigMap) error {
	_, err := m.all().Create(ctx, cm, metav1.CreateOptions{})
	return err
}

// Read implements inputs.ConfigMaps.
func (m configMaps) Read(ctx context.Context, name string) error {
	_, err := m.all().Get(ctx, name, metav1.GetOptions{})
	return err
}

// Own implements inputs.ConfigMaps.
func (m configMaps) Own(ctx context.Context, name string, owner metav1.OwnerReference) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{owner}}})
	if err == nil {
		_, err = m.all().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

// Delete implements inputs.ConfigMaps.
func (m configMaps) Delete(ctx context.Context, name string) error {
	return m.all().Delete(ctx, name, metav1.DeleteOptions{})
}
