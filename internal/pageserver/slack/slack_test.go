// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

const (
	secretKey = "8f742231b10e8888"
	mapped1   = "users:\n- {team: T1, id: U1, username: dana, groups: [sre]}\n"
)

// fake is Slack and the page of the cluster, as a test plays them.
type fake struct {
	t *testing.T
	h *Handler
	// said are the replies, and done what the page was sent.
	said chan posted
	mu   sync.Mutex
	done []string
	as   []string
	// shown is what the page shows of the run.
	shown  string
	status int
	// replies is the address of replies.
	replies string
}

// posted is a reply, and the path that it was posted to.
type posted struct {
	reply
	path string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, said: make(chan posted, 8), status: http.StatusOK}
	f.show("sha256:1", "git push origin main")
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got := posted{path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&got.reply); err != nil {
			t.Errorf("a reply is no JSON: %v", err)
		}
		f.said <- got
	}))
	f.replies = slack.URL + "/"
	f.h = New(Options{SecretFile: write(t, secretKey+"\n"), UsersFile: write(t, mapped1), RepliesTo: f.replies}, func(p Person) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.page(p, w, r) })
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		f.h.Close()
		slack.Close()
	})
	return f
}

// show has the page show a run that asks for approval of a call.
func (f *fake) show(digest, arguments string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown = fmt.Sprintf(`{"run":{"uid":"u","asks":[{"id":"a1","kind":"Approval","seen":"seen-%[1]s","question":"Push?","may":true,
		"action":{"tool":"bash","digest":%[1]q,"parts":[{"name":"script","text":%[2]q}]},
		"choices":[{"decision":"ApproveOnce","label":"Approve once","effect":"This call is made, once."},{"decision":"Deny","label":"Deny","effect":"The call is not made."}]}]}}`, digest, arguments)
}

func (f *fake) page(p Person, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.as = append(f.as, p.User+" "+strings.Join(p.Groups, ","))
	w.WriteHeader(f.status)
	switch {
	case f.status != http.StatusOK:
		fmt.Fprint(w, `{"error":"team/fix did not take it: it was answered already."}`)
	case r.Method == http.MethodGet && r.URL.Path == "/api/runs/team/fix":
		fmt.Fprint(w, f.shown)
	case r.Method == http.MethodPost:
		f.done = append(f.done, r.URL.Path+" "+string(body))
		fmt.Fprint(w, `{"sent":"x"}`)
	}
}

// sent is what the page was sent.
func (f *fake) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.done...)
}

// request is a request of Slack about a button.
func (f *fake) request(team, id, action, value string) *http.Request {
	to := "actions/channel"
	if action == actionConfirm {
		to = "actions/person"
	}
	payload, err := json.Marshal(map[string]any{
		"type": "block_actions", "user": map[string]any{"id": id}, "team": map[string]any{"id": team}, "response_url": f.replies + to,
		"actions": []any{map[string]any{"action_id": action, "value": value}}, "container": map[string]any{"type": "message"},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.signed(url.Values{"payload": {string(payload)}}.Encode())
}

func (f *fake) signed(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", sign([]byte(secretKey), at, []byte(body)))
	return r
}

func (f *fake) serve(r *http.Request) int {
	w := httptest.NewRecorder()
	f.h.ServeHTTP(w, r)
	return w.Code
}

// presses has a person press a button, and returns what they are told.
func (f *fake) presses(team, id, action, value string) reply {
	f.t.Helper()
	if code := f.serve(f.request(team, id, action, value)); code != http.StatusOK {
		f.t.Fatalf("status %d", code)
	}
	return f.told()
}

func (f *fake) told() reply {
	f.t.Helper()
	r := f.next()
	if r.Type != "ephemeral" {
		f.t.Errorf("it is told to all: %+v", r)
	}
	return r.reply
}

// next is the next reply.
func (f *fake) next() posted {
	f.t.Helper()
	select {
	case r := <-f.said:
		return r
	case <-time.After(time.Minute):
		f.t.Fatal("there is no reply")
		return posted{}
	}
}

func valueOf(t *testing.T, b notice.Button) string {
	t.Helper()
	value, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

var approve = notice.Button{Namespace: "team", Run: "fix", UID: "u", ID: "a1", Digest: "sha256:1", Decision: v1alpha1.DecisionApproveOnce}

// texts are those of a reply, in lines.
func (r reply) texts() string {
	var all []string
	for _, b := range r.Blocks {
		if b.Text != nil {
			all = append(all, b.Text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// confirm returns the button that confirms, if there is one.
func (r reply) confirm() (button, bool) {
	for _, b := range r.Blocks {
		for _, e := range b.Elements {
			return e, true
		}
	}
	return button{}, false
}

// A press shows the call as it is in the cluster, and only the confirmation of that sends a decision, as the person, about exactly what was shown.
// A cluster that does not answer can have taken what was sent.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	forged := f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))
	forged.Header.Set("X-Slack-Signature", "v0=00")
	read := f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))
	read.Method = http.MethodGet
	for name, tt := range map[string]struct {
		r    *http.Request
		want int
	}{
		"a forged one":           {forged, http.StatusUnauthorized},
		"one that reads":         {read, http.StatusMethodNotAllowed},
		"one that is too long":   {f.signed("payload=" + strings.Repeat("x", maxBody)), http.StatusRequestEntityTooLarge},
		"one without a payload":  {f.signed("x=y"), http.StatusBadRequest},
		"another kind":           {f.signed(url.Values{"payload": {`{"type":"view_submission","user":{"id":"U1"}}`}}.Encode()), http.StatusBadRequest},
		"two buttons at once":    {f.signed(url.Values{"payload": {`{"type":"block_actions","user":{"id":"U1"},"actions":[{},{}]}`}}.Encode()), http.StatusBadRequest},
		"one of no person":       {f.signed(url.Values{"payload": {`{"type":"block_actions","actions":[{}]}`}}.Encode()), http.StatusBadRequest},
		"one with a broken form": {f.signed("payload=%zz"), http.StatusBadRequest},
	} {
		if got := f.serve(tt.r); got != tt.want {
			t.Errorf("%s: status %d, want %d", name, got, tt.want)
		}
	}
	long := f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))
	long.ContentLength = -1
	if got := f.serve(long); got != http.StatusLengthRequired {
		t.Errorf("one without a length: status %d", got)
	}
	first := f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))
	body, err := io.ReadAll(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		again := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(string(body)))
		again.Header = first.Header
		if got := f.serve(again); got != want {
			t.Errorf("the same request is answered for the time %d with status %d", i+1, got)
		}
	}
	f.told()
	f.h.options.SecretFile = write(t, " \n")
	if got := f.serve(f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))); got != http.StatusInternalServerError {
		t.Errorf("without a secret: status %d", got)
	}
}

// A request that is not signed is not read at all if it cannot be of Slack, and else few of it at once.
func TestFewUnsignedRequestsAreRead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	unread := func(signature string) *http.Request {
		r := f.request("T1", "U1", "motor.choose.0", valueOf(t, approve))
		r.Header.Set("X-Slack-Signature", signature)
		r.Body = io.NopCloser(iotest.ErrReader(errors.New("it is read")))
		return r
	}
	if got := f.serve(unread("none")); got != http.StatusUnauthorized {
		t.Errorf("one that cannot be signed: status %d", got)
	}
	if got := f.serve(unread("v0=00")); got != http.StatusBadRequest {
		t.Errorf("one that breaks off: status %d", got)
	}
	large := func(from int) *http.Request {
		r := unread("v0=00")
		r.ContentLength, r.RemoteAddr = smallBody+1, fmt.Sprintf("192.0.2.%d:1234", from)
		return r
	}
	reading := make(chan struct{})
	var stalled []*io.PipeWriter
	var served sync.WaitGroup
	stall := func(r *http.Request) {
		from, to := io.Pipe()
		stalled = append(stalled, to)
		r.Body = io.NopCloser(io.TeeReader(from, writes(func() { reading <- struct{}{} })))
		served.Go(func() { f.serve(r) })
		go func() { _, _ = to.Write([]byte("x")) }()
		<-reading
	}
	for range readsOf {
		stall(large(1))
	}
	if got := f.serve(large(1)); got != http.StatusServiceUnavailable {
		t.Errorf("one more of the address: status %d", got)
	}
	if got := f.serve(large(2)); got != http.StatusBadRequest {
		t.Errorf("one of another address: status %d", got)
	}
	for i := range maxReads - readsOf {
		stall(large(2 + i/readsOf))
	}
	if got := f.serve(large(100)); got != http.StatusServiceUnavailable {
		t.Errorf("one more: status %d", got)
	}
	for range maxReads {
		r := unread("v0=00")
		r.ContentLength = 100
		stall(r)
	}
	if got := f.serve(f.request("T1", "U1", "motor.choose.0", "x")); got != http.StatusOK {
		t.Errorf("one of Slack beside slow small ones: status %d", got)
	}
	for _, to := range stalled {
		_ = to.CloseWithError(io.ErrUnexpectedEOF)
	}
	served.Wait()
}

// writes is called with each write.
type writes func()

func (w writes) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// A request that Slack has signed has the address of the reply. It must be one of Slack's all the same.
// A question with options and a domain are answered as a call is approved: what was chosen is shown, and confirmed.
// A server that was started again knows no message any more. What a person confirms is sent all the same.
// slow has the page wait, and returns what tells of each request, and what ends them.
// nth is a request of a person which is not the one before it.
// Slack waits for three seconds. What a slow cluster takes longer for is bounded in its number, and no person takes the places of the others.
// A reply that Slack takes its time for takes the place of no request, nor does a person who is none of the cluster.
