// SPDX-License-Identifier: Apache-2.0

// Package bucket keeps archives and artifacts in an S3 bucket or in a folder. It is the only importer of gocloud.dev.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"motorcortex.dev/motorcortex/internal/archive"
)

const (
	// archiveType is that of JSON lines.
	archiveType = "application/x-ndjson"
	// artifactType says nothing: what an artifact is, its run says, and no browser is to guess.
	artifactType = "application/octet-stream"
)

// Bucket keeps archives and artifacts.
type Bucket struct {
	blobs *blob.Bucket
	// name is the URL without anything secret in it.
	name string
	// folder is the bucket's path, if it is one: the operating system may keep in memory what is written there.
	folder string
}

// Open opens the bucket of a URL, s3://NAME or file:///FOLDER, without asking whether it can be reached.
func Open(ctx context.Context, rawURL string) (*Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error of url.Parse repeats the whole text.
		return nil, errors.New("the archive's bucket is no URL: write s3://NAME or file:///FOLDER")
	}
	if u.Query().Has("key") {
		return nil, fmt.Errorf("%s: with the parameter key all runs would be one object; prefix is for a folder in the bucket", u.Redacted())
	}
	b := &Bucket{name: u.Redacted()}
	mux := new(blob.URLMux)
	switch u.Scheme {
	case fileblob.Scheme:
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("%s: a folder is written with three slashes, file:///FOLDER", u.Redacted())
		}
		b.folder = filepath.Clean(u.Path)
		// The temporary file is next to the other one, because the manager has no /tmp, and renaming it must not cross
		// file systems.
		mux.RegisterBucket(fileblob.Scheme, &fileblob.URLOpener{Options: fileblob.Options{
			NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o750,
		}})
	case s3blob.Scheme:
		if u.Host == "" {
			return nil, fmt.Errorf("%s: the name of the bucket is missing, write s3://NAME", u.Redacted())
		}
		mux.RegisterBucket(s3blob.Scheme, &s3blob.URLOpener{})
	default:
		return nil, fmt.Errorf("%s: archives are kept in buckets of the kind s3://NAME or file:///FOLDER", u.Redacted())
	}
	if b.blobs, err = mux.OpenBucketURL(ctx, u); err != nil {
		return nil, fmt.Errorf("open the archive's bucket %s: %w", b.name, err)
	}
	return b, nil
}

// Check asks whether the bucket is there. The error wraps archive.ErrNotFound if it is not, and no other if that could
// not be told.
func (b *Bucket) Check(ctx context.Context) error {
	there, err := b.blobs.IsAccessible(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look for the bucket %s: %w", b.name, err)
	case !there:
		return fmt.Errorf("bucket %s: %w", b.name, archive.ErrNotFound)
	}
	return nil
}

// Write stores what fill writes, an archive, all of it or nothing. An error of fill is given back as it is. The error wraps
// archive.ErrExists, and nothing was changed, if there is something under the key.
func (b *Bucket) Write(ctx context.Context, key string, fill func(io.Writer) error) error {
	return b.write(ctx, key, archiveType, fill)
}

// WriteArtifact is Write for an artifact.
func (b *Bucket) WriteArtifact(ctx context.Context, key string, fill func(io.Writer) error) error {
	return b.write(ctx, key, artifactType, fill)
}

func (b *Bucket) write(ctx context.Context, key, contentType string, fill func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType, IfNotExist: true,
		// Parts are kept in memory until they are sent: one of the smallest size that S3 takes.
		BufferSize: 5 << 20, MaxConcurrency: 1,
	})
	if err != nil {
		return b.failed("write", key, err)
	}
	if err := fill(w); err != nil {
		// With its context ended, closing the writer throws away what it has.
		cancel()
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return b.failed("write", key, err)
	}
	return b.settle(ctx, key)
}

// Read opens what is stored under the key. The error wraps archive.ErrNotFound if there is nothing.
func (b *Bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.blobs.NewReader(ctx, key, nil)
	if err != nil {
		return nil, b.failed("read", key, err)
	}
	return r, nil
}

// Close gives back what the bucket holds.
func (b *Bucket) Close() error { return b.blobs.Close() }

// failed sorts the error of a driver.
func (b *Bucket) failed(verb, key string, err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		err = archive.ErrExists
	case gcerrors.NotFound:
		err = fmt.Errorf("%w: %w", archive.ErrNotFound, err)
	default:
	}
	return fmt.Errorf("%s %s in %s: %w", verb, key, b.name, err)
}

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
