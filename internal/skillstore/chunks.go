// SPDX-License-Identifier: Apache-2.0

package skillstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// ChunkBytes is the most that one ConfigMap holds. An object has less than 1.5 MiB as the API server stores it, and base64
	// makes 1 MiB of it.
	ChunkBytes = 768 << 10
	// MaxChunks is the most ConfigMaps that a content is cut into, and so 24 MiB the most that one has.
	MaxChunks = 32
	// contentKey is the key of such a ConfigMap.
	contentKey = "content"
)

// WriteChunks stores a content in immutable ConfigMaps PREFIX-0, PREFIX-1 … and gives their names. What is there already, with
// the same bytes and the same owner, stays. The client must not read ConfigMaps from a cache.
func WriteChunks(ctx context.Context, c client.Client, owner metav1.OwnerReference, namespace, prefix string, labels map[string]string, content []byte) ([]string, error) {
	names := chunkNames(prefix, len(content))
	if len(names) > MaxChunks {
		return nil, fmt.Errorf("%d bytes are more than %d ConfigMaps hold", len(content), MaxChunks)
	}
	for i, name := range names {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Immutable:  new(true),
			BinaryData: map[string][]byte{contentKey: content[i*ChunkBytes : min(len(content), (i+1)*ChunkBytes)]},
		}
		maps.Copy(cm.Labels, labels)
		if err := writeChunk(ctx, c, cm); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// chunkNames are the names of the ConfigMaps of a content of that size.
func chunkNames(prefix string, size int) []string {
	names := make([]string, 0, size/ChunkBytes+1)
	for from := 0; from < size; from += ChunkBytes {
		names = append(names, prefix+"-"+strconv.Itoa(len(names)))
	}
	return names
}

func writeChunk(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	err := c.Create(ctx, cm)
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the ConfigMap %s: %w", cm.Name, err)
	}
	var there corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKeyFromObject(cm), &there); err != nil {
		return fmt.Errorf("get the ConfigMap %s: %w", cm.Name, err)
	}
	if err := checkOwner("ConfigMap", &there, cm.OwnerReferences[0]); err != nil {
		return err
	}
	if !bytes.Equal(there.BinaryData[contentKey], cm.BinaryData[contentKey]) {
		return fmt.Errorf("%w: the ConfigMap %s holds something else", ErrDamaged, cm.Name)
	}
	return nil
}

// ReadChunks reads what WriteChunks stored. The error wraps ErrMissing if a part is not there, and ErrDamaged if one is another's.
func ReadChunks(ctx context.Context, live client.Reader, namespace string, names []string, ownerUID types.UID) ([]byte, error) {
	if len(names) > MaxChunks {
		return nil, fmt.Errorf("%w: it has %d ConfigMaps, more than %d", ErrDamaged, len(names), MaxChunks)
	}
	var content []byte
	for _, name := range names {
		var cm corev1.ConfigMap
		switch err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &cm); {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%w: there is no ConfigMap %s", ErrMissing, name)
		case err != nil:
			return nil, fmt.Errorf("get the ConfigMap %s: %w", name, err)
		}
		if owner := metav1.GetControllerOf(&cm); owner == nil || owner.UID != ownerUID {
			return nil, fmt.Errorf("%w: the ConfigMap %s is somebody else's", ErrDamaged, name)
		}
		content = append(content, cm.BinaryData[contentKey]...)
	}
	return content, nil
}

// checkOwner says why an object that is there cannot be used: it is somebody else's, or goes away.
func checkOwner(kind string, o metav1.Object, want metav1.OwnerReference) error {
	owner := metav1.GetControllerOf(o)
	switch {
	case owner == nil || owner.Kind != want.Kind || owner.Name != want.Name:
		return fmt.Errorf("there is a %s %s that is not of the %s %s: %w", kind, o.GetName(), want.Kind, want.Name, ErrTaken)
	case owner.UID != want.UID:
		return fmt.Errorf("the %s %s is of an earlier %s %s: %w", kind, o.GetName(), want.Kind, want.Name, ErrFormer)
	case o.GetDeletionTimestamp() != nil:
		return fmt.Errorf("there is a %s %s already: %w", kind, o.GetName(), ErrFormer)
	}
	return nil
}
