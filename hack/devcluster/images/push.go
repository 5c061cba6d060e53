// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
)

// pushAll sends images that were built to a registry, with the credentials that the user's container
// tools use.
func (b *builder) pushAll(ctx context.Context, definitions []definition, registry string) error {
	for _, d := range definitions {
		known, err := b.known(d.Name)
		if err != nil {
			return fmt.Errorf("image %s is not built yet: %w", d.Name, err)
		}
		target, err := name.NewTag(pushReference(registry, d.Name, known.Reference))
		if err != nil {
			return err
		}
		img, cleanup, err := ociimage.ReadArchive(known.Archive)
		if err != nil {
			return err
		}
		err = b.out.During("pushing "+target.String(), func() error {
			return remote.Write(target, img, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		})
		cleanup()
		if err != nil {
			return err
		}
		fmt.Printf("%s=%s\n", d.Name, target)
	}
	return nil
}

// pushReference is an image's name in a registry, with the tag that it has here.
func pushReference(registry, name, local string) string {
	return strings.TrimSuffix(registry, "/") + "/" + name + local[strings.LastIndexByte(local, ':'):]
}
