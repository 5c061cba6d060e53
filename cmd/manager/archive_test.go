// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenBucket(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	folder := t.TempDir()
	tests := map[string]struct {
		url  string
		want string
		logs string
	}{
		"a folder":              {url: "file://" + folder},
		"a folder that is made": {url: "file://" + folder + "/made?create_dir=1"},
		"no such folder":        {url: "file://" + folder + "/missing", want: "no such file"},
		"another kind":          {url: "ftp://archives", want: "file:///FOLDER"},
		// Nothing listens there.
		"a bucket that is away": {url: "s3://archives?region=none&endpoint=http://127.0.0.1:1&anonymous=true", logs: "cannot be listed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var logs strings.Builder
			b, err := openBucket(t.Context(), tt.url, slog.New(slog.NewTextHandler(&logs, nil)))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if !strings.Contains(logs.String(), tt.logs) || (tt.logs == "") != (logs.Len() == 0) {
				t.Errorf("it logs %q", &logs)
			}
		})
	}
}
