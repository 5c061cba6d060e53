// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

// WriteChunks stores a content in immutable ConfigMaps PREFIX-0, PREFIX-1 … and returns their names. A ConfigMap that exists already, with
// the same bytes and the same owner, stays. The client must not read ConfigMaps from a cache.
func WriteChunks(ctx context.Context, c client.Client, owner metav1.OwnerReference, namespace, prefix string, labels map[string]string, content []byte) ([]string, error) {
	return writeChunks(ctx, c, owner, namespace, prefix, labels, bytes.NewReader(content), len(content))
}

// writeChunks is WriteChunks for a content of that size, of which it holds one part at a time.
func writeChunks(
	ctx context.Context, c client.Client, owner metav1.OwnerReference, namespace, prefix string, labels map[string]string, content io.Reader, size int,
) ([]string, error) {
	names := chunkNames(prefix, size)
	if len(names) > MaxChunks {
		return nil, fmt.Errorf("%d bytes are more than %d ConfigMaps hold", size, MaxChunks)
	}
	for i, name := range names {
		part := make([]byte, min(size-i*ChunkBytes, ChunkBytes))
		if _, err := io.ReadFull(content, part); err != nil {
			return nil, fmt.Errorf("read the bytes of the ConfigMap %s: %w", name, err)
		}
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Immutable:  new(true),
			BinaryData: map[string][]byte{contentKey: part},
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
	return io.ReadAll(newChunks(ctx, live, namespace, names, ownerUID))
}

// chunks is the content of ConfigMaps as one stream. It holds one of them at a time.
type chunks struct {
	// read reads one of the remaining ones.
	read  func(name string) ([]byte, error)
	names []string
	part  []byte
}

func newChunks(ctx context.Context, live client.Reader, namespace string, names []string, ownerUID types.UID) *chunks {
	return &chunks{names: names, read: func(name string) ([]byte, error) { return readChunk(ctx, live, namespace, name, ownerUID) }}
}

// Read makes it an io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.part) == 0 {
		if len(c.names) == 0 {
			return 0, io.EOF
		}
		if len(c.names) > MaxChunks {
			return 0, fmt.Errorf("%w: it has %d ConfigMaps, more than %d", ErrDamaged, len(c.names), MaxChunks)
		}
		part, err := c.read(c.names[0])
		if err != nil {
			return 0, err
		}
		c.part, c.names = part, c.names[1:]
	}
	n := copy(p, c.part)
	c.part = c.part[n:]
	return n, nil
}

func readChunk(ctx context.Context, live client.Reader, namespace, name string, ownerUID types.UID) ([]byte, error) {
	var cm corev1.ConfigMap
	switch err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &cm); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: there is no ConfigMap %s", ErrMissing, name)
	case err != nil:
		return nil, fmt.Errorf("get the ConfigMap %s: %w", name, err)
	}
	if owner := metav1.GetControllerOf(&cm); owner == nil || owner.UID != ownerUID {
		return nil, fmt.Errorf("%w: the ConfigMap %s belongs to another object", ErrDamaged, name)
	}
	return cm.BinaryData[contentKey], nil
}

// checkOwner returns an error if an existing object cannot be used: it has another owner, or is being deleted.
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
