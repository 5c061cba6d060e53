// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// maxManifestBytes is the most that the manifest of an artifact has, maxLayersBytes all its layers: the limit of a skill, and the headers
	// of an archive.
	maxManifestBytes = 1 << 20
	maxLayersBytes   = skill.MaxTotalBytes + 1<<20
	// annotationUnpack is the annotation that the oras client writes on a layer that is a packed folder.
	annotationUnpack = "io.deis.oras.content.unpack"
	dockerManifest   = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList       = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// artifact is an artifact in a registry.
type artifact struct {
	ref  registry.Reference
	repo *remote.Repository
	// secret is the pull secret's name, "" if there is none.
	secret string
}

// oci reads an artifact.
func (r *Reader) oci(ctx context.Context, namespace string, s *v1alpha1.SkillOCI) (Read, error) {
	ref, err := registry.ParseReference(s.Reference)
	if err != nil || ref.Reference == "" || strings.Contains(ref.Reference, ":") && !strings.HasPrefix(ref.Reference, "sha256:") {
		return Read{}, notFound("The reference %s is not REGISTRY/REPOSITORY@sha256:… or REGISTRY/REPOSITORY:TAG.", quoted(s.Reference))
	}
	credential, err := r.credential(ctx, namespace, s.PullSecretName, ref)
	if err != nil {
		return Read{}, err
	}
	plain := mayBePlain(hostname(ref.Host()))
	a := artifact{ref: ref, secret: s.PullSecretName, repo: &remote.Repository{
		Reference: ref, PlainHTTP: plain, MaxMetadataBytes: maxManifestBytes + 1,
		Client: &auth.Client{Client: r.http(plain), Cache: auth.NewCache(), Credential: credential, Header: http.Header{"User-Agent": {"motorcortex"}}},
	}}
	manifest, digest, err := a.manifest(ctx)
	if err != nil {
		return Read{}, err
	}
	files, err := a.files(ctx, manifest.Layers)
	return Read{Files: files, Origin: digest}, err
}

// manifest reads the manifest, and returns the digest that the reference resolves to.
func (a artifact) manifest(ctx context.Context) (m ocispec.Manifest, digest string, err error) {
	found, data, err := a.resolve(ctx)
	if err != nil {
		return m, "", err
	}
	digest, kind := found.Digest.String(), found.MediaType
	if kind == ocispec.MediaTypeImageIndex || kind == dockerList {
		var index ocispec.Index
		if err := decode(data, &index); err != nil || len(index.Manifests) != 1 {
			return m, "", invalid("%s is an index of %d manifests: a skill is a single one.", a.ref, len(index.Manifests))
		}
		only := index.Manifests[0]
		if data, err = a.fetch(ctx, a.repo.Manifests(), only, maxManifestBytes); err != nil {
			return m, "", err
		}
		kind = only.MediaType
	}
	if kind != ocispec.MediaTypeImageManifest && kind != dockerManifest {
		return m, "", invalid("%s is of the type %s, which is no manifest of an artifact.", a.ref, quoted(kind))
	}
	if err := decode(data, &m); err != nil {
		return m, "", invalid("The manifest of %s cannot be read.", a.ref)
	}
	return m, digest, nil
}

// manifestLimits are those of a manifest, which names a few hundred files at most.
var manifestLimits = jsonbound.Limits{Depth: 32, Values: 8192}

// decode reads a manifest. A registry that its author chose wrote it.
func decode(data []byte, into any) error {
	if err := jsonbound.Check(data, manifestLimits); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// resolve reads the content of the reference.
func (a artifact) resolve(ctx context.Context) (ocispec.Descriptor, []byte, error) {
	found, body, err := a.repo.FetchReference(ctx, a.ref.Reference)
	if err != nil {
		return found, nil, a.fault(err)
	}
	defer body.Close()
	if found.Size > maxManifestBytes {
		return found, nil, tooLarge("The manifest of %s has more than %d MiB.", a.ref, maxManifestBytes>>20)
	}
	data, err := content.ReadAll(body, found)
	if err != nil {
		return found, nil, a.fault(err)
	}
	return found, data, nil
}

// fetch reads the content of a descriptor. Its size is checked before, its digest after.
func (a artifact) fetch(ctx context.Context, from content.Fetcher, d ocispec.Descriptor, most int64) ([]byte, error) {
	switch err := d.Digest.Validate(); {
	case err != nil:
		return nil, invalid("The artifact %s names a part by %s, which is no digest.", a.ref, quoted(d.Digest.String()))
	case d.Size < 0 || d.Size > most:
		return nil, tooLarge("A part of the artifact %s has more than %d bytes.", a.ref, most)
	}
	data, err := content.FetchAll(ctx, from, d)
	if err != nil {
		return nil, a.fault(err)
	}
	return data, nil
}

// files reads the layers: archives, or files by their paths.
func (a artifact) files(ctx context.Context, layers []ocispec.Descriptor) ([]skill.File, error) {
	if len(layers) == 0 {
		return nil, invalid("The artifact %s has no layers.", a.ref)
	}
	if len(layers) > skill.MaxFiles {
		return nil, tooLarge("The artifact %s has more than %d layers.", a.ref, skill.MaxFiles)
	}
	var size int64
	for _, l := range layers {
		if size += l.Size; l.Size < 0 || l.Size > maxLayersBytes || size > maxLayersBytes {
			return nil, tooLarge("The layers of the artifact %s have more than %d MiB.", a.ref, maxLayersBytes>>20)
		}
	}
	var files collection
	for i, l := range layers {
		title := l.Annotations[ocispec.AnnotationTitle]
		if title == "" && len(layers) > 1 {
			return nil, invalid("Layer %d of the artifact %s has no path in its annotation %s.", i+1, a.ref, ocispec.AnnotationTitle)
		}
		data, err := a.fetch(ctx, a.repo.Blobs(), l, maxLayersBytes)
		if err != nil {
			return nil, err
		}
		if title == "" || l.Annotations[annotationUnpack] == "true" || len(layers) == 1 && isArchive(title) {
			err = untar(bytes.NewReader(data), "", &files)
		} else {
			err = files.add(skill.File{Path: title, Content: data})
		}
		if err != nil {
			return nil, err
		}
	}
	return withoutFolder(files.list)
}

// isArchive reports whether a file's name is that of an archive.
func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// fault translates an error of the registry into a Problem.
func (a artifact) fault(err error) error {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		switch answer.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return a.refused()
		case http.StatusNotFound:
			return notFound("There is no artifact %s.", a.ref)
		}
		return unavailable("The registry %s answers with the status %d.", a.ref.Registry, answer.StatusCode)
	}
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return notFound("There is no artifact %s, or not all of it.", a.ref)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return a.refused()
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, io.ErrUnexpectedEOF):
		return unavailable("The registry %s gives other bytes than the digest of %s says.", a.ref.Registry, a.ref)
	}
	return unreachable("The registry "+a.ref.Registry, err)
}

func (a artifact) refused() error {
	if a.secret == "" {
		return unavailable("The registry %s does not let everybody read %s: name a Secret in pullSecretName.", a.ref.Registry, a.ref.Repository)
	}
	return unavailable("The registry %s does not let the Secret %s read %s.", a.ref.Registry, a.secret, a.ref.Repository)
}
