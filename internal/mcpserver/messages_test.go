// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// One account has one of the largest messages at once, and others still send theirs.
func TestLargeMessagesAreBounded(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	h := known(fewBytes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if sharerOf(r) == "a" {
			held <- struct{}{}
			<-hold
		}
	})))
	large := strings.Repeat("x", largeOf)
	go ask(t, h, "a", large)
	<-held
	for _, tt := range []struct {
		account, body string
		want          int
	}{{"a", large[:small+1], http.StatusServiceUnavailable}, {"b", large, http.StatusOK}} {
		if w := ask(t, h, tt.account, tt.body); w.Code != tt.want {
			t.Errorf("%d bytes of %s: status %d", len(tt.body), tt.account, w.Code)
		}
	}
	close(hold)
}

// A batch would be hundreds of calls in one request. What is no batch comes through whole.
func TestBatchesAreRefused(t *testing.T) {
	t.Parallel()
	h := oneMessage(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	for _, tt := range []struct {
		body string
		want int
	}{
		{"[" + initialize + "]", http.StatusBadRequest}, {" \r\n\t[", http.StatusBadRequest}, {initialize, http.StatusOK}, {"", http.StatusOK},
	} {
		w := ask(t, h, "a", tt.body)
		if w.Code != tt.want || tt.want == http.StatusOK && w.Body.String() != tt.body {
			t.Errorf("%q: status %d, %s", tt.body, w.Code, w.Body)
		}
	}
}

// without is a reader of which a request does not know how much it has.
type without struct{ io.Reader }

// A message that does not say its length takes room for what came of it, and not for the longest one.
func TestMessagesWithoutALengthTakeWhatTheyHave(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		length, room int
		taken        int64
		err          error
	}{
		{"a short one", small - 1, 0, 0, nil},
		{"one that is not small", small + 1, 1, 2 * small, nil},
		{"one that grows", 5 * small, 3, 8 * small, nil},
		{"the longest one", MaxMessage, 7, MaxMessage, nil},
		{"one that is too long", MaxMessage + 1, 7, MaxMessage, errLong},
		{"one for which there is no room", 5 * small, 1, 2 * small, errNoRoom},
	} {
		taken, times := int64(0), 0
		message, err := whole(strings.NewReader(strings.Repeat("x", tt.length)), func(much int64) bool {
			if times++; times > tt.room {
				return false
			}
			taken += much
			return true
		})
		if !errors.Is(err, tt.err) || err == nil && len(message) != tt.length || taken != tt.taken {
			t.Errorf("%s: %d bytes, %d taken in %d parts, %v", tt.name, len(message), taken, times, err)
		}
	}
}

func TestMessagesWithoutALengthAreServed(t *testing.T) {
	t.Parallel()
	h := known(fewBytes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })))
	send := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", without{body})
		r.Header.Set("Authorization", "Bearer a")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	long := strings.Repeat("x", MaxMessage)
	for range 2 {
		// What the first one took is given back.
		if w := send(strings.NewReader(long)); w.Code != http.StatusOK || w.Body.String() != long {
			t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
		}
	}
	if w := send(strings.NewReader(long + "x")); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("one that is too long: status %d", w.Code)
	}
	if w := send(iotest.ErrReader(io.ErrUnexpectedEOF)); w.Code != http.StatusBadRequest {
		t.Errorf("one that breaks off: status %d", w.Code)
	}
}
