// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// ArtifactType is the type of the artifacts that Push makes. Read takes artifacts of any type.
	ArtifactType = "application/vnd.motorcortex.skill.v1"
	// pushTimeout bounds a push. A skill has 10 MiB at most.
	pushTimeout = 5 * time.Minute
)

// Pusher writes artifacts into registries.
type Pusher struct {
	// HTTP reaches registries, http.DefaultClient if it is nil.
	HTTP *http.Client
}

// Push writes the files of a skill, as skill.Check returned them, as an artifact that Read reads: one layer, a tar archive compressed with gzip,
// with modes and without times. So the same files have the same digest, which Push returns. The reference is REGISTRY/REPOSITORY:TAG.
// Credentials are those of the Docker configuration, with its helpers.
func (p *Pusher) Push(ctx context.Context, reference string, files []skill.File) (digest string, err error) {
	ref, err := registry.ParseReference(reference)
	if err != nil || ref.Reference == "" || ref.ValidateReferenceAsTag() != nil {
		return "", fmt.Errorf("%s is not REGISTRY/REPOSITORY:TAG", quoted(reference))
	}
	logins, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return "", fmt.Errorf("read the Docker configuration: %w", err)
	}
	layer, err := pack(files)
	if err != nil {
		return "", err
	}
	plain := mayBePlain(hostname(ref.Host()))
	repo := &remote.Repository{Reference: ref, PlainHTTP: plain, Client: &auth.Client{
		Client: (&Reader{HTTP: p.HTTP}).http(plain), Cache: auth.NewCache(), Credential: credentials.Credential(logins), Header: http.Header{"User-Agent": {"motorcortex"}},
	}}
	bounded, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	digest, err = push(bounded, repo, layer)
	switch {
	case err == nil:
		return digest, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case bounded.Err() != nil:
		return "", fmt.Errorf("push to %s: it took more than %s", ref.Registry, pushTimeout)
	}
	return "", refusal(ref, err)
}

// push writes the parts first: a registry takes no manifest whose parts it does not have.
func push(ctx context.Context, repo *remote.Repository, layer []byte) (string, error) {
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{content.NewDescriptorFromBytes(ocispec.MediaTypeImageLayerGzip, layer)},
	}
	encoded, err := json.Marshal(manifest)
	if err != nil {
		return "", err
	}
	if err := pushBlob(ctx, repo, manifest.Config, manifest.Config.Data); err != nil {
		return "", err
	}
	if err := pushBlob(ctx, repo, manifest.Layers[0], layer); err != nil {
		return "", err
	}
	descriptor := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, encoded)
	if err := repo.PushReference(ctx, descriptor, bytes.NewReader(encoded), repo.Reference.Reference); err != nil {
		return "", err
	}
	return descriptor.Digest.String(), nil
}

// pushBlob writes a part, unless the registry has it.
func pushBlob(ctx context.Context, repo *remote.Repository, d ocispec.Descriptor, data []byte) error {
	d.Data = nil
	there, err := repo.Blobs().Exists(ctx, d)
	if err != nil || there {
		return err
	}
	err = repo.Blobs().Push(ctx, d, bytes.NewReader(data))
	if errors.Is(err, errdef.ErrAlreadyExists) {
		return nil
	}
	return err
}

// pack makes an archive of files, in the order of their paths.
func pack(files []skill.File) ([]byte, error) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) }) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: int64(len(f.Content)), Mode: 0o644}
		if f.Executable {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", quoted(f.Path), err)
		}
		if _, err := archive.Write(f.Content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", quoted(f.Path), err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	return b.Bytes(), nil
}

// refusal says in words why a registry did not take an artifact. What it answers is foreign text, and can repeat a request.
func refusal(ref registry.Reference, err error) error {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		switch answer.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return notAllowed(ref)
		case http.StatusNotFound:
			return fmt.Errorf("the registry %s has no repository %s, or does not let you see it: create it there first", ref.Registry, ref.Repository)
		}
		return fmt.Errorf("the registry %s answers with the status %d", ref.Registry, answer.StatusCode)
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return notAllowed(ref)
	}
	return fmt.Errorf("push to the registry %s: %s", ref.Registry, cause(err))
}

func notAllowed(ref registry.Reference) error {
	return fmt.Errorf("the registry %s does not let you write %s: log in, as with \"docker login %s\"", ref.Registry, ref.Repository, ref.Registry)
}
