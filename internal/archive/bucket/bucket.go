// SPDX-License-Identifier: Apache-2.0

// Package bucket keeps archives and artifacts in a bucket of S3, Google Cloud or Azure, or in a folder. It is the only importer of
// gocloud.dev.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"

	"motorcortex.dev/motorcortex/internal/archive"
)

const (
	// archiveType is that of JSON lines.
	archiveType = "application/x-ndjson"
	// artifactType is deliberately generic: the run records the type of an artifact, and no browser must guess it.
	artifactType = "application/octet-stream"
)

// Bucket keeps archives and artifacts.
type Bucket struct {
	blobs *blob.Bucket
	// name is the URL without anything secret in it.
	name string
	// folder is the bucket's path, if it is one: the operating system may keep in memory the bytes that are written there.
	folder string
}

// Open opens the bucket of a URL, s3://NAME, gs://NAME, azblob://CONTAINER or file:///FOLDER, without asking whether it can be reached.
// Tokens for Google Cloud are got for as long as ctx lasts.
func Open(ctx context.Context, rawURL string) (*Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error of url.Parse repeats the whole text.
		return nil, errors.New("the archive's bucket is no URL: write " + kinds)
	}
	if u.Query().Has("key") {
		return nil, fmt.Errorf("%s: with the parameter key all runs would be one object; prefix is for a folder in the bucket", u.Redacted())
	}
	if !slices.Contains([]string{fileblob.Scheme, s3blob.Scheme, gcsblob.Scheme, azureblob.Scheme}, u.Scheme) {
		return nil, fmt.Errorf("%s: archives are kept in buckets of the kind %s", u.Redacted(), kinds)
	}
	open, err := opener(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Redacted(), err)
	}
	b := &Bucket{name: u.Redacted()}
	if u.Scheme == fileblob.Scheme {
		b.folder = filepath.Clean(u.Path)
	}
	mux := new(blob.URLMux)
	mux.RegisterBucket(u.Scheme, open)
	if b.blobs, err = mux.OpenBucketURL(ctx, u); err != nil {
		return nil, fmt.Errorf("open the archive's bucket %s: %w", b.name, redacted{err})
	}
	return b, nil
}

// Check asks whether the bucket is there. The error wraps archive.ErrNotFound only if the bucket is known to be missing.
func (b *Bucket) Check(ctx context.Context) error {
	_, _, err := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, nil)
	if err == nil {
		return nil
	}
	if err = sorted(err); errors.Is(err, archive.ErrNotFound) {
		return fmt.Errorf("bucket %s: %w", b.name, err)
	}
	return fmt.Errorf("look for the bucket %s: %w", b.name, err)
}

// Write stores an archive that fill writes, all of it or nothing. An error of fill that is not the store's is returned as it is. If there
// is an object under the key, the error wraps archive.ErrExists, and nothing was changed.
func (b *Bucket) Write(ctx context.Context, key string, fill func(io.Writer) error) error {
	return b.write(ctx, key, archiveType, fill)
}

// WriteArtifact is Write for an artifact.
func (b *Bucket) WriteArtifact(ctx context.Context, key string, fill func(io.Writer) error) error {
	return b.write(ctx, key, artifactType, fill)
}

func (b *Bucket) write(whole context.Context, key, contentType string, fill func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType, IfNotExist: true,
		// Parts are kept in memory until they are sent: one of the smallest size that S3 takes.
		BufferSize: 5 << 20, MaxConcurrency: 1,
	})
	if err != nil {
		return b.failed("write", key, err)
	}
	out := &noted{Writer: w}
	if err := fill(out); err != nil {
		// With its context ended, closing the writer discards its content.
		cancel()
		_ = w.Close()
		if out.err != nil {
			return b.refused(whole, key, out.err)
		}
		return err
	}
	if err := w.Close(); err != nil {
		return b.refused(whole, key, err)
	}
	return b.settle(ctx, key)
}

// noted keeps the error of a store apart from other errors of filling it.
type noted struct {
	io.Writer
	err error
}

// Write notes the error.
func (n *noted) Write(p []byte) (int, error) {
	c, err := n.Writer.Write(p)
	n.err = cmp.Or(n.err, err)
	return c, err
}

// refused classifies the error of a write. A server that refuses a write may close the connection before it has read the whole of it. The
// refusal is lost then, and an existing object would be written again and again. So the store is asked whether there is an object.
func (b *Bucket) refused(ctx context.Context, key string, err error) error {
	failure := b.failed("write", key, err)
	if errors.Is(failure, archive.ErrExists) {
		return failure
	}
	if exists, err := b.blobs.Exists(ctx, key); err != nil || !exists {
		return failure
	}
	return fmt.Errorf("%w: %w", failure, archive.ErrExists)
}

// Read opens the object under the key. The error wraps archive.ErrNotFound if there is none.
func (b *Bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.blobs.NewReader(ctx, key, nil)
	if err != nil {
		return nil, b.failed("read", key, err)
	}
	return r, nil
}

// Close releases the resources of the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// settle has the operating system write a file, and the folders that lead to it, to the disk. The steps are deleted
// because the archive has them, so a node that loses its power must not take the archive along.
func (b *Bucket) settle(ctx context.Context, key string) error {
	if b.folder == "" {
		return nil
	}
	var path string
	r, err := b.blobs.NewReader(ctx, key, &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		var f *os.File
		if !as(&f) {
			return errors.New("the driver does not show its file")
		}
		path = f.Name()
		return f.Sync()
	}})
	if err != nil {
		return b.failed("sync", key, err)
	}
	if err := r.Close(); err != nil {
		return b.failed("sync", key, err)
	}
	for path = filepath.Dir(path); ; path = filepath.Dir(path) {
		if err := syncFolder(path); err != nil {
			return fmt.Errorf("sync the folder of %s in %s: %w", key, b.name, err)
		}
		if len(path) <= len(b.folder) {
			return nil
		}
	}
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
