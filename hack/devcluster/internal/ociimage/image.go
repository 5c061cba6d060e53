// SPDX-License-Identifier: Apache-2.0

// Package ociimage builds container images without a container engine. The same content always
// gives the same digest, so a tag that is derived from it says whether there is anything to load.
package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of everything in an image. Some tools take a time of zero for "not set".
var epoch = time.Unix(1, 0).UTC()

// Nonroot is the user that our images run as.
const Nonroot = 65532

// Entry is one file or folder of a layer.
type Entry struct {
	// Path is absolute; one that ends in a slash is a folder.
	Path string
	Mode int64
	// Owner is both the user and the group.
	Owner int
	// Content is the file's, or else it is that of the file From.
	Content []byte
	From    string
}

// Layer packs entries into a layer. Folders above them are added, owned by root.
func Layer(entries ...Entry) (v1.Layer, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, entry := range withParents(entries) {
		if err := writeEntry(writer, entry); err != nil {
			return nil, fmt.Errorf("layer: %s: %w", entry.Path, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return LayerFrom(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
}

// LayerFrom makes a layer of a tar archive, compressed or not.
func LayerFrom(opener tarball.Opener) (v1.Layer, error) {
	return tarball.LayerFromOpener(opener,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestSpeed))
}

// StoredLayer is a compressed layer in a file, with what would take seconds to find out again.
type StoredLayer struct {
	File   string  `json:"-"`
	Hash   v1.Hash `json:"digest"`
	DiffTo v1.Hash `json:"diffID"`
	Length int64   `json:"size"`
}

var _ v1.Layer = StoredLayer{}

// StoreLayer compresses a tar archive into a file.
func StoreLayer(archive, file string) (StoredLayer, error) {
	layer, err := LayerFrom(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil {
		return StoredLayer{}, err
	}
	stored := StoredLayer{File: file}
	if stored.Hash, err = layer.Digest(); err != nil {
		return StoredLayer{}, err
	}
	if stored.DiffTo, err = layer.DiffID(); err != nil {
		return StoredLayer{}, err
	}
	if stored.Length, err = layer.Size(); err != nil {
		return StoredLayer{}, err
	}
	content, err := layer.Compressed()
	if err != nil {
		return StoredLayer{}, err
	}
	out, err := os.Create(file)
	if err != nil {
		return StoredLayer{}, errors.Join(err, content.Close())
	}
	_, err = io.Copy(out, content)
	return stored, errors.Join(err, content.Close(), out.Close())
}

// Digest is that of the compressed content.
func (l StoredLayer) Digest() (v1.Hash, error) { return l.Hash, nil }

// DiffID is the digest of the content when it is not compressed.
func (l StoredLayer) DiffID() (v1.Hash, error) { return l.DiffTo, nil }

// Size is that of the compressed content.
func (l StoredLayer) Size() (int64, error) { return l.Length, nil }

// MediaType says that the layer is compressed.
func (l StoredLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// Compressed reads the file as it is.
func (l StoredLayer) Compressed() (io.ReadCloser, error) { return os.Open(l.File) }

// Uncompressed is not needed to write or to push an image.
func (l StoredLayer) Uncompressed() (io.ReadCloser, error) {
	return nil, errors.New("a stored layer is only read compressed")
}

// withParents adds the folders above the entries and sorts everything, parents first.
func withParents(entries []Entry) []Entry {
	all := slices.Clone(entries)
	known := map[string]bool{}
	for _, entry := range entries {
		known[strings.Trim(entry.Path, "/")] = true
	}
	for _, entry := range entries {
		for dir := path.Dir(strings.Trim(entry.Path, "/")); dir != "."; dir = path.Dir(dir) {
			if !known[dir] {
				known[dir] = true
				all = append(all, Entry{Path: "/" + dir + "/", Mode: 0o755})
			}
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func writeEntry(writer *tar.Writer, entry Entry) error {
	content := entry.Content
	if entry.From != "" {
		var err error
		if content, err = os.ReadFile(entry.From); err != nil {
			return err
		}
	}
	header := &tar.Header{
		Name: strings.TrimPrefix(entry.Path, "/"), Mode: entry.Mode, Uid: entry.Owner, Gid: entry.Owner,
		Size: int64(len(content)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
	}
	if strings.HasSuffix(entry.Path, "/") {
		header.Typeflag, header.Size = tar.TypeDir, 0
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := writer.Write(content)
	return err
}

// New makes an image of layers, for the architecture of this program.
func New(config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	base := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	base = mutate.ConfigMediaType(base, types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = runtime.GOARCH, "linux"
	file.Created = v1.Time{Time: epoch}
	file.History = nil
	file.Config = config
	return mutate.ConfigFile(img, file)
}

// Reference is the name that an image goes by: its tag is derived from its content, so the same name
// never means two things.
func Reference(name string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	return "motorcortex.dev/" + name + ":dev-" + digest.Hex[:12], nil
}

// Timeless returns a header without what differs from one build to the next: times, and the names of
// owners, which are those of the machine that builds.
func Timeless(header *tar.Header) *tar.Header {
	clean := *header
	clean.ModTime, clean.AccessTime, clean.ChangeTime = epoch, time.Time{}, time.Time{}
	clean.Uname, clean.Gname = "", ""
	clean.Format = tar.FormatPAX
	return &clean
}
