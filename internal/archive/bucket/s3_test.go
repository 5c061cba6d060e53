// SPDX-License-Identifier: Apache-2.0

package bucket_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
)

// fakeS3 is as much of S3 as an archive needs: objects, uploads in parts, and a write only if there is nothing.
type fakeS3 struct {
	mu      sync.Mutex
	objects map[string][]byte
	parts   map[string][]byte
	// conditional counts the writes that were to fail if there was something.
	conditional int
	// hangsUp has the refusal of such a write be the end of its connection.
	hangsUp bool
}

func (s *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, q := r.URL.Path, r.URL.Query()
	_, exists := s.objects[key]
	upload := q.Get("uploadId")
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	case r.Method == http.MethodHead && !exists:
		w.WriteHeader(http.StatusNotFound)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && exists:
		_, _ = w.Write(s.objects[key])
	case r.Method == http.MethodGet:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodPost && q.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut && upload != "":
		s.parts[q.Get("partNumber")] = body
		w.Header().Set("ETag", `"part"`)
	case r.Method == http.MethodPut, r.Method == http.MethodPost && upload != "":
		if r.Header.Get("If-None-Match") == "*" {
			s.conditional++
			if exists && s.hangsUp {
				panic(http.ErrAbortHandler)
			}
			if exists {
				refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
				return
			}
		}
		if upload != "" {
			body = s.assemble()
			fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
		}
		s.objects[key] = body
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *fakeS3) assemble() []byte {
	var all []byte
	for n := 1; s.parts[fmt.Sprint(n)] != nil; n++ {
		all = append(all, s.parts[fmt.Sprint(n)]...)
	}
	clear(s.parts)
	return slices.Clip(all)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code})
}

// s3URL is that of a bucket at an endpoint, with nothing taken from the machine that the test runs on.
func s3URL(t *testing.T, endpoint string) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return "s3://archives?region=us-east-1&use_path_style=true&request_checksum_calculation=when_required&response_checksum_validation=when_required&endpoint=" + url.QueryEscape(endpoint)
}

func TestS3(t *testing.T) {
	s := &fakeS3{objects: map[string][]byte{}, parts: map[string][]byte{}}
	server := httptest.NewServer(s)
	defer server.Close()
	tryBucket(t, s3URL(t, server.URL))
	if s.conditional < 2 {
		t.Errorf("%d writes were conditional", s.conditional)
	}
	if got := s.objects["/archives/ns/run/uid.jsonl"]; len(got) != 14_000_000 || len(s.objects) != 1 {
		t.Errorf("the bucket has %d objects, and %d bytes of the one", len(s.objects), len(got))
	}
}

// TestS3ThatHangsUp refuses a write by ending the connection, as a server does that does not read the remainder of a refused write.
func TestS3ThatHangsUp(t *testing.T) {
	server := httptest.NewServer(&fakeS3{objects: map[string][]byte{}, parts: map[string][]byte{}, hangsUp: true})
	defer server.Close()
	tryBucket(t, s3URL(t, server.URL))
}

func TestS3ThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refuses":    {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, "AccessDenied") }, "AccessDenied"},
		"is no such": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "NoSuchBucket") }, "NoSuchBucket"},
		"does not answer": {func(_ http.ResponseWriter, r *http.Request) {
			// The server sees that the client is gone only when it has read everything.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "deadline exceeded"},
		"cannot write new": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotImplemented, "NotImplemented") }, "NotImplemented"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			b, err := bucket.Open(t.Context(), s3URL(t, server.URL))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			limit := time.Minute
			if name == "does not answer" {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err = b.Write(ctx, "ns/run/uid.jsonl", text("x"))
			if err == nil || errors.Is(err, archive.ErrExists) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
