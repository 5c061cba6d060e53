// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// serve reads the content of one request on a real connection: a recorder has no deadlines.
func serve(t *testing.T, body string, limit int64) (content []byte, err error) {
	t.Helper()
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(read)
		content, err = (&Request{Request: r, Control: http.NewResponseController(w)}).Content(limit)
	}))
	defer server.Close()
	post, failed := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	if failed != nil {
		t.Fatal(failed)
	}
	resp, failed := server.Client().Do(post)
	if failed != nil {
		t.Fatal(failed)
	}
	<-read
	return content, errors.Join(err, resp.Body.Close())
}

func TestContentIsBounded(t *testing.T) {
	for body, ok := range map[string]bool{"": true, "1234": true, "12345": false} {
		content, err := serve(t, body, 4)
		if ok && (err != nil || string(content) != body) {
			t.Errorf("%q: %q, %v", body, content, err)
		}
		if r, refused := errors.AsType[*Refusal](err); !ok && (!refused || r.Status != http.StatusRequestEntityTooLarge || r.Code != toolapi.ErrTooLarge) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// An unknown field is distinguished from unreadable content: the request may be a good one of another release.
func TestUnreadable(t *testing.T) {
	for content, code := range map[string]string{`{"b":1}`: toolapi.ErrUnknownField, `{`: toolapi.ErrBadRequest, `{"a":"x"}`: toolapi.ErrBadRequest} {
		dec := json.NewDecoder(strings.NewReader(content))
		dec.DisallowUnknownFields()
		r, ok := errors.AsType[*Refusal](Unreadable("it", dec.Decode(&struct {
			A int `json:"a"`
		}{})))
		if !ok || r.Code != code || !strings.HasPrefix(r.Message, "it ") {
			t.Errorf("%s: %+v, want %s", content, r, code)
		}
	}
}
