// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/pkg/client/motor"
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

// A call waits for up to ten minutes. Its message was read long before, and keeps no room from others.
func TestACallThatWaitsKeepsNoRoomForMessages(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{})
	h := known(fewBytes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if sharerOf(r) != "other" {
			held <- struct{}{}
			<-hold
		}
	})))
	var calls sync.WaitGroup
	for _, account := range []string{"a", "b", "c", "d"} {
		calls.Go(func() { ask(t, h, account, strings.Repeat("x", MaxMessage)) })
		<-held
	}
	if w := ask(t, h, "other", strings.Repeat("x", small+1)); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	close(hold)
	calls.Wait()
}

// A program that says how long its message is takes room for what came of it.
func TestASlowMessageTakesWhatCame(t *testing.T) {
	t.Parallel()
	h := known(fewBytes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })))
	from, to := io.Pipe()
	slow := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", from)
	slow.ContentLength = MaxMessage
	slow.Header.Set("Authorization", "Bearer a")
	var served sync.WaitGroup
	served.Go(func() { h.ServeHTTP(httptest.NewRecorder(), slow) })
	if _, err := to.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if w := ask(t, h, "a", strings.Repeat("x", MaxMessage)); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	_ = to.CloseWithError(io.ErrUnexpectedEOF)
	served.Wait()
}

// The calls of a server keep the messages of one largest one at most.
func TestLargeMessagesOfCallsAreBounded(t *testing.T) {
	t.Parallel()
	s, cluster := asking(t.Context(), t, true)
	there := httptest.NewServer(HTTP(t.Context(), Handler(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "a"}, nil
	}, func(http.ResponseWriter, *http.Request) *Server { return s })).Handler)
	defer there.Close()
	defer there.CloseClientConnections()
	program := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := program.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: there.URL, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	respond := &mcp.CallToolParams{Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"respond","runId":"a","askId":"q","answer":"` + strings.Repeat("x", small) + `"}`)}
	if !s.kept.Take("", MaxMessage) {
		t.Fatal("something is kept")
	}
	if result, err := session.CallTool(t.Context(), respond); err != nil || !result.IsError || len(responses(t, cluster)) != 0 {
		t.Errorf("beside the largest one: %+v, %v", result, err)
	}
	s.kept.Give("", MaxMessage)
	if result, err := session.CallTool(t.Context(), respond); err != nil || result.IsError || len(responses(t, cluster)) != 1 {
		t.Errorf("alone: %+v, %v", result, err)
	}
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
