// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// meant returns the files with the digest of what each reference leads to now, where it has none. Without it, content that is put in the place of the
// present one before the operator reads it would be taken for the answer. What is not there, or may not be read by this account, has none: the API server
// and the operator decide about it.
func (c *Client) meant(ctx context.Context, files []v1alpha1.ResponseFile) ([]v1alpha1.ResponseFile, error) {
	files = slices.Clone(files)
	for i := range files {
		f, err := &files[i], error(nil)
		switch {
		case f.ConfigMapKeyRef != nil && f.ConfigMapKeyRef.Digest == "":
			ref := *f.ConfigMapKeyRef
			ref.Digest, err = c.digestOfKey(ctx, ref.Name, ref.Key)
			f.ConfigMapKeyRef = &ref
		case f.ArtifactRef != nil && f.ArtifactRef.Digest == "":
			ref := *f.ArtifactRef
			ref.Digest, err = c.digestOfArtifact(ctx, ref.RunName, ref.Path)
			f.ArtifactRef = &ref
		}
		if err != nil {
			return nil, fmt.Errorf("the file %q: %w", f.Path, err)
		}
	}
	return files, nil
}

func (c *Client) digestOfKey(ctx context.Context, name, key string) (string, error) {
	cm, err := c.clients.Core.CoreV1().ConfigMaps(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", ignoreUnseen(err)
	}
	return asks.DigestOfKey(cm, key), nil
}

func (c *Client) digestOfArtifact(ctx context.Context, run, path string) (string, error) {
	from, err := c.runs().Get(ctx, run, metav1.GetOptions{})
	if err != nil {
		return "", ignoreUnseen(err)
	}
	return asks.DigestOfArtifact(from, path), nil
}

func ignoreUnseen(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
