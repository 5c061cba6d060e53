// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations that containerd and others take an image's name from.
const (
	nameAnnotation = "io.containerd.image.name"
	refAnnotation  = "org.opencontainers.image.ref.name"
)

// WriteArchive writes an image as an OCI archive. The file appears only when it is complete.
func WriteArchive(file, reference string, img v1.Image) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it has its final name by then, if all went well
	buffered := bufio.NewWriterSize(out, 1<<20)
	err = writeLayout(tar.NewWriter(buffered), reference, img)
	err = errors.Join(err, buffered.Flush(), out.Chmod(0o644), out.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(out.Name(), file)
}

// writeLayout writes the files of the OCI image layout.
func writeLayout(writer *tar.Writer, reference string, img v1.Image) error {
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	configName, err := img.ConfigName()
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIManifestSchema1, Size: int64(len(manifest)), Digest: digest,
			Annotations: map[string]string{nameAnnotation: reference, refAnnotation: reference},
		}},
	})
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
	}{
		// The index comes first, so that a reader who wants the name only need not read the layers.
		{"index.json", index},
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{blob(digest), manifest},
		{blob(configName), config},
	} {
		if err := writeEntry(writer, Entry{Path: file.name, Mode: 0o644, Content: file.content}); err != nil {
			return err
		}
	}
	if err := writeLayers(writer, img); err != nil {
		return err
	}
	return writer.Close()
}

func writeLayers(writer *tar.Writer, img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		size, err := layer.Size()
		if err != nil {
			return err
		}
		content, err := layer.Compressed()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: blob(digest), Mode: 0o644, Size: size, ModTime: epoch, Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			return errors.Join(err, content.Close())
		}
		_, err = io.Copy(writer, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// ReadName returns the name and the digest of the image in an OCI archive.
func ReadName(file string) (reference, digest string, err error) {
	in, err := os.Open(file)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = in.Close() }()
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return "", "", fmt.Errorf("%s has no index.json: it is no OCI archive", file)
		}
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", file, err)
		}
		if header.Name != "index.json" {
			continue
		}
		index, err := v1.ParseIndexManifest(io.LimitReader(reader, 1<<20))
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", file, err)
		}
		if len(index.Manifests) != 1 || index.Manifests[0].Annotations[nameAnnotation] == "" {
			return "", "", fmt.Errorf("%s does not hold exactly one named image", file)
		}
		only := index.Manifests[0]
		return only.Annotations[nameAnnotation], only.Digest.String(), nil
	}
}

// ReadArchive opens the image in an OCI archive. Its files are in a temporary folder until cleanup is
// called.
func ReadArchive(file string) (img v1.Image, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "oci-")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	if err := unpack(file, dir); err != nil {
		cleanup()
		return nil, nil, err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err == nil {
		var manifest *v1.IndexManifest
		if manifest, err = index.IndexManifest(); err == nil && len(manifest.Manifests) != 1 {
			err = fmt.Errorf("%s holds %d images", file, len(manifest.Manifests))
		}
		if err == nil {
			img, err = index.Image(manifest.Manifests[0].Digest)
		}
	}
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	return img, cleanup, nil
}

// unpack writes an archive's files below a folder, and never outside of it.
func unpack(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		out, err := root.Create(header.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, reader)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}
