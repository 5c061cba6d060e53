// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxArtifactBytes is the most that an artifact of Flux has: a whole repository, compressed.
	maxArtifactBytes = 50 << 20
	// maxOrigin is the most bytes of the description of an origin.
	maxOrigin = 512
)

// FluxVersion is the version of Flux's source objects that is read.
var FluxVersion = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}

// flux reads the artifact that a source object of Flux has.
func (r *Reader) flux(ctx context.Context, namespace string, s *v1alpha1.SkillFlux) (Read, error) {
	folder := path.Clean(s.Path)
	if folder == "." {
		folder = ""
	}
	if path.IsAbs(folder) || folder == ".." || strings.HasPrefix(folder, "../") {
		return Read{}, notFound("The path %s is not within the source.", quoted(s.Path))
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(FluxVersion.WithKind(s.Kind))
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.Name}, object); {
	case meta.IsNoMatchError(err):
		return Read{}, &Problem{
			Reason:  v1alpha1.ReasonFluxNotInstalled,
			Message: fmt.Sprintf("The cluster has no kind %s of %s: Flux is not installed.", s.Kind, FluxVersion),
		}
	case apierrors.IsNotFound(err):
		return Read{}, notFound("There is no %s %s.", s.Kind, s.Name)
	case err != nil:
		return Read{}, fmt.Errorf("get the %s %s: %w", s.Kind, s.Name, err)
	}
	address, _, _ := unstructured.NestedString(object.Object, "status", "artifact", "url")
	digest, _, _ := unstructured.NestedString(object.Object, "status", "artifact", "digest")
	revision, _, _ := unstructured.NestedString(object.Object, "status", "artifact", "revision")
	if address == "" {
		return Read{}, unavailable("The %s %s has no artifact yet.", s.Kind, s.Name)
	}
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok {
		return Read{}, unavailable("The artifact of the %s %s has no sha256 digest.", s.Kind, s.Name)
	}
	files, err := r.download(ctx, address, sum, folder)
	switch {
	case err != nil:
		return Read{}, err
	case len(files) == 0:
		return Read{}, notFound("The %s %s has no files in the folder %s.", s.Kind, s.Name, quoted(s.Path))
	}
	return Read{Files: files, Origin: text.CutBytes(revision, maxOrigin)}, nil
}

// download reads the files below a folder of an archive. It returns them only if the whole archive has the digest.
func (r *Reader) download(ctx context.Context, address, sum, folder string) ([]skill.File, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.User != nil || at.Scheme != "http" && at.Scheme != "https" {
		return nil, unavailable("The artifact of Flux has an address that is none.")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, unavailable("The artifact of Flux has an address that is none.")
	}
	// The digest is of the archive as it is stored: nothing on the way may unpack it.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := r.fluxHTTP(at).Do(req)
	if err != nil {
		return nil, fluxFault(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, unavailable("The artifact of Flux cannot be had: %s answers with the status %d.", at.Host, resp.StatusCode)
	}
	var files collection
	hash := sha256.New()
	body := &lastError{r: &bounded{r: resp.Body, left: maxArtifactBytes}}
	in := io.TeeReader(body, hash)
	unpacked := untar(in, folder, &files)
	// Bytes after the archive are part of the digest too.
	_, err = io.Copy(io.Discard, in)
	switch {
	case err == errTooLong || body.err == errTooLong: //nolint:errorlint // These are not wrapped.
		return nil, tooLarge("The artifact of Flux has more than %d MiB.", maxArtifactBytes>>20)
	case err != nil:
		return nil, fluxFault(err)
	case hex.EncodeToString(hash.Sum(nil)) != sum:
		return nil, unavailable("The artifact of Flux has other bytes than its digest says.")
	case unpacked != nil:
		return nil, unpacked
	}
	return withoutFolder(files.list)
}

// fluxHTTP is the client for an artifact of Flux.
func (r *Reader) fluxHTTP(at *url.URL) *http.Client {
	plain := at.Scheme == "http"
	if r.FluxHTTP != nil && strings.TrimSuffix(strings.ToLower(at.Hostname()), ".") == r.FluxHost {
		return (&Reader{HTTP: r.FluxHTTP}).http(plain)
	}
	return r.http(plain)
}

func fluxFault(err error) error {
	return unreachable("The artifact of Flux", err)
}

// lastError returns the first error again on every later read, so that a caller does not take a part for the whole.
type lastError struct {
	r   io.Reader
	err error
}

func (l *lastError) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.err = err
	return n, err
}
