// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pageserver"
	"motorcortex.dev/motorcortex/internal/pageserver/slack"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

const slackSecret = "8f742231b10e8888"

// slackApp is Slack, as far as buttons go: it has the last message, and gets replies.
type slackApp struct {
	*pageServer
	replies chan slackMessage
	address string
}

type slackMessage struct {
	Type   string `json:"response_type"`
	Blocks []struct {
		Text     struct{ Text string }
		Elements []slackButton
	}
}

type slackButton struct {
	Text     struct{ Text string }
	ActionID string `json:"action_id"`
	Value    string
}

// button returns the button of a message whose label begins so.
func (m *slackMessage) button(label string) (slackButton, bool) {
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			if strings.HasPrefix(e.Text.Text, label) {
				return e, true
			}
		}
	}
	return slackButton{}, false
}

func (m *slackMessage) text() string {
	var all []string
	for _, b := range m.Blocks {
		all = append(all, b.Text.Text)
	}
	return strings.Join(all, "\n")
}

// newSlackApp has the page of the cluster answer buttons, of the people that users names.
func newSlackApp(r *rig, users string) *slackApp {
	r.t.Helper()
	s := &slackApp{replies: make(chan slackMessage, 8)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var m slackMessage
		if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
			r.t.Errorf("a reply is no JSON: %v", err)
		}
		s.replies <- m
	}))
	r.t.Cleanup(server.Close)
	s.address = server.URL + "/"
	s.pageServer = newPageServer(r, func(o *pageserver.Options) {
		dir := r.t.TempDir()
		o.Slack = slack.Options{SecretFile: filepath.Join(dir, "secret"), UsersFile: filepath.Join(dir, "users"), RepliesTo: s.address}
		must(r.t, os.WriteFile(o.Slack.SecretFile, []byte(slackSecret), 0o600))
		must(r.t, os.WriteFile(o.Slack.UsersFile, []byte(users), 0o600))
	})
	return s
}

// message is what a receiver with buttons is told of the run.
func (s *slackApp) message() *slackMessage {
	s.t.Helper()
	what, _ := signal.Run{MotorRun: s.run()}.Next(signal.Cursor{}, func(e v1alpha1.SignalEvent) bool { return e == v1alpha1.SignalRunAwaitingInput })
	if what == nil {
		s.t.Fatal("the run asks nothing")
	}
	body, err := notice.SlackWithButtons(notice.Of(what, ""))
	must(s.t, err)
	m := &slackMessage{}
	must(s.t, json.Unmarshal(body, m))
	return m
}

// presses has a person press a button, and returns what they are told.
func (s *slackApp) presses(person string, b slackButton) *slackMessage {
	s.t.Helper()
	if code := s.posts(person, b, slackSecret); code != http.StatusOK {
		s.t.Fatalf("status %d", code)
	}
	return s.told()
}

// told is the next message that Slack gets.
func (s *slackApp) told() *slackMessage {
	s.t.Helper()
	select {
	case m := <-s.replies:
		return &m
	case <-s.ctx.Done():
		s.t.Fatal("there is no reply")
		return nil
	}
}

func (s *slackApp) posts(person string, b slackButton, secret string) int {
	s.t.Helper()
	payload, err := json.Marshal(map[string]any{
		"type": "block_actions", "user": map[string]string{"id": person, "team_id": "T1"}, "response_url": s.address + "actions", "trigger_id": rand.Text(),
		"actions": []any{map[string]string{"action_id": b.ActionID, "value": b.Value}},
	})
	must(s.t, err)
	body := []byte(url.Values{"payload": {string(payload)}}.Encode())
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+slack.Path, bytes.NewReader(body))
	must(s.t, err)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", at, body)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := s.issuer.Client().Do(r)
	must(s.t, err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A person approves the exact call from Slack, and the approval has the name of the user whom they are mapped to.
func TestAnApprovalFromSlackHasTheNameOfThePerson(t *testing.T) {
	r := askingRig(t, needsApproval)
	r.said(turnAt(1, "", "bash:"+gitPush))
	r.asksApproval(0)
	dana, will := "oidc:dana@"+r.ns, "oidc:will@"+r.ns
	person(r.ctx, t, r.ns, dana, rights{mayApprove})
	person(r.ctx, t, r.ns, will, rights{mayRespond})
	s := newSlackApp(r, fmt.Sprintf("users:\n- {team: T1, id: UDANA, username: %q}\n- {team: T1, id: UWILL, username: %q}\n", dana, will))
	approve, ok := s.message().button("Approve once")
	if !ok {
		t.Fatalf("the message is %+v", s.message())
	}

	if said := s.presses("UNONE", approve).text(); !strings.Contains(said, "no user of the cluster is mapped to you") {
		t.Errorf("who is not mapped is told %q", said)
	}
	if said := s.presses("UWILL", approve).text(); !strings.Contains(said, "motorcortex-approver") {
		t.Errorf("who may not approve is told %q", said)
	}
	if code := s.posts("UDANA", approve, "guessed"); code != http.StatusUnauthorized {
		t.Errorf("a forged request is answered with %d", code)
	}
	shown := s.presses("UDANA", approve)
	confirm, ok := shown.button("Confirm: ")
	if !ok || !strings.Contains(shown.text(), "git push") || !strings.Contains(shown.text(), "Digest: sha256:") {
		t.Fatalf("it shows %+v", shown)
	}
	if said := s.presses("UWILL", confirm).text(); !strings.Contains(said, "was not shown to you") {
		t.Errorf("who was shown nothing confirms: %q", said)
	}
	if n := len(r.run().Spec.Responses); n != 0 {
		t.Fatalf("there are %d responses before the confirmation", n)
	}
	if said := s.presses("UDANA", confirm).text(); !strings.Contains(said, "as "+dana) {
		t.Fatalf("the person is told %q", said)
	}
	if left := s.told(); !strings.Contains(left.text(), "Approve once, by "+dana) || left.Type != "" {
		t.Errorf("the message in the channel became %+v", left)
	}
	got := r.response()
	if got.RespondedBy != dana || got.Decision != v1alpha1.DecisionApproveOnce || got.Digest != r.run().Status.PendingInputs[0].Action.ArgsDigest {
		t.Errorf("the response is %+v", got)
	}
	if said := s.presses("UDANA", confirm).text(); !strings.Contains(said, "answered already") {
		t.Errorf("a second confirmation is told %q", said)
	}
}

// Without its options the page of the cluster has no way in for Slack.
func TestSlackIsOffUnlessItIsConfigured(t *testing.T) {
	r := emptyRig(t, withQuestions, "true")
	s := &slackApp{pageServer: newPageServer(r), address: "http://127.0.0.1:1/"}
	if code := s.posts("UDANA", slackButton{}, slackSecret); code != http.StatusForbidden {
		t.Errorf("status %d", code)
	}
}
