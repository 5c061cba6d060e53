// SPDX-License-Identifier: Apache-2.0

package bucket_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
)

// withoutAzure takes nothing of Azure from the machine that the test runs on.
func withoutAzure(t *testing.T) {
	t.Helper()
	for _, name := range []string{"ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING", "DOMAIN", "PROTOCOL", "IS_CDN", "IS_LOCAL_EMULATOR"} {
		t.Setenv("AZURE_STORAGE_"+name, "")
	}
	t.Setenv("AZURE_STORAGEBLOB_CONNECTIONSTRING", "")
}

func TestOpenOfClouds(t *testing.T) {
	withoutAzure(t)
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none"))
	for name, tt := range map[string]struct{ url, want string }{
		"Google, anonymous":        {"gs://archives?anonymous=true", ""},
		"Google, no credentials":   {"gs://archives", "find credentials for Google Cloud"},
		"Google, no name":          {"gs:///archives", "name of the bucket is missing, write gs://NAME"},
		"Google, a folder":         {"gs://archives/motor?anonymous=true", "gs://archives?prefix=PART/"},
		"Google, wrong parameter":  {"gs://archives?anonymous=true&region=eu", "region"},
		"Azure":                    {"azblob://archives?storage_account=a", ""},
		"Azure, no account":        {"azblob://archives", "storage_account=ACCOUNT or set AZURE_STORAGE_ACCOUNT"},
		"Azure, no name":           {"azblob://?storage_account=a", "name of the bucket is missing, write azblob://NAME"},
		"Azure, wrong parameter":   {"azblob://archives?storage_account=a&region=eu", "region"},
		"Azure, one key for all":   {"azblob://archives?storage_account=a&key=a", "one object"},
		"Azure, one with a prefix": {"azblob://archives?storage_account=a&prefix=motor/", ""},
	} {
		b, err := bucket.Open(t.Context(), tt.url)
		if err == nil {
			_ = b.Close()
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// Google answers the same to who may not list and to who asks for what is not there. A manager must start all the same, and an input of
// a run is not missing.
func TestGoogleThatForbids(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	defer server.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
	b, err := bucket.Open(t.Context(), "gs://archives")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Check(t.Context()); err == nil || errors.Is(err, archive.ErrNotFound) {
		t.Errorf("looking for a bucket that may not be listed: %v", err)
	}
	if _, err := b.Read(t.Context(), "ns/run/uid.jsonl"); err == nil || errors.Is(err, archive.ErrNotFound) {
		t.Errorf("reading what is forbidden: %v", err)
	}
	if err := b.Write(t.Context(), "ns/run/uid.jsonl", text("x")); err == nil || errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrExists) {
		t.Errorf("writing what is forbidden: %v", err)
	}
}

// The error of a store becomes an Event in the namespace of a run. An error of a connection has the URL in it, with the signature that
// opens the container.
func TestAzureShowsNoSignature(t *testing.T) {
	withoutAzure(t)
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024-11-04&sig=hidden%2Fvalue%3D")
	// Nothing listens there.
	b, err := bucket.Open(t.Context(), "azblob://archives?storage_account=a&domain=127.0.0.1:1&protocol=http")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = b.Read(ctx, "ns/run/uid.jsonl")
	if err == nil || errors.Is(err, archive.ErrNotFound) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "sig=REDACTED") {
		t.Errorf("the error has no URL in it, so this test tells nothing: %v", err)
	}
}
