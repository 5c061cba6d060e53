// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
)

// kinds lists the valid URLs, for the error about any other one.
const kinds = "s3://NAME, gs://NAME, azblob://CONTAINER or file:///FOLDER"

// opener returns what opens a URL, without asking the store for anything. Credentials are found as each driver's programs find them.
func opener(ctx context.Context, u *url.URL) (blob.BucketURLOpener, error) {
	if u.Scheme == fileblob.Scheme {
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, errors.New("a folder is written with three slashes, file:///FOLDER")
		}
		// The temporary file is next to the other one, because the manager has no /tmp, and renaming it must not cross
		// file systems.
		return &fileblob.URLOpener{Options: fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o750}}, nil
	}
	if u.Host == "" {
		return nil, fmt.Errorf("the name of the bucket is missing, write %s://NAME", u.Scheme)
	}
	if u.Scheme != s3blob.Scheme && u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("a part of a bucket is written as a parameter, %s://%s?prefix=PART/", u.Scheme, u.Host)
	}
	switch u.Scheme {
	case gcsblob.Scheme:
		return googleOpener(ctx, u)
	case azureblob.Scheme:
		return azureOpener(u)
	default:
		return &s3blob.URLOpener{}, nil
	}
}

// googleOpener takes the Application Default Credentials. The driver's own opener goes on without any if there are none, and only the first
// write would report that.
func googleOpener(ctx context.Context, u *url.URL) (blob.BucketURLOpener, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" || u.Query().Get("anonymous") == "true" {
		return &gcsblob.URLOpener{Client: gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())}, nil
	}
	credentials, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("find credentials for Google Cloud: %w", err)
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(credentials))
	if err != nil {
		return nil, fmt.Errorf("use credentials for Google Cloud: %w", err)
	}
	return &gcsblob.URLOpener{Client: client}, nil
}

// azureOpener reads the environment at each call, and not once for the process as the driver's own opener does.
func azureOpener(u *url.URL) (blob.BucketURLOpener, error) {
	options := azureblob.NewDefaultServiceURLOptions()
	if options.AccountName == "" && u.Query().Get("storage_account") == "" {
		return nil, errors.New("the storage account is missing, write azblob://CONTAINER?storage_account=ACCOUNT or set AZURE_STORAGE_ACCOUNT")
	}
	return &azureblob.URLOpener{MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *options}, nil
}
