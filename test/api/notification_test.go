// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	signalcontroller "motorcortex.dev/motorcortex/internal/controller/signal"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/signal/notice"
	"motorcortex.dev/motorcortex/test/mailserver"
)

// noticeServer takes messages for people, and refuses the first one.
type noticeServer struct {
	mu      sync.Mutex
	tries   int
	got     []notice.Notice
	signed  bool
	address string
}

func newNoticeServer(t *testing.T) *noticeServer {
	t.Helper()
	s := &noticeServer{signed: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tries++; s.tries == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		var n notice.Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Errorf("a message is no JSON: %v", err)
		}
		s.got = append(s.got, n)
		s.signed = s.signed && strings.HasPrefix(r.Header.Get("webhook-signature"), "v1,")
	}))
	t.Cleanup(server.Close)
	s.address = server.URL
	return s
}

func (s *noticeServer) await(ctx context.Context, t *testing.T, name string) notice.Notice {
	t.Helper()
	var found notice.Notice
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.IndexFunc(s.got, func(n notice.Notice) bool { return n.Name == name })
		if i >= 0 {
			found = s.got[i]
		}
		return i >= 0, nil
	})
	if err != nil {
		t.Fatalf("no message about %s came: %+v", name, s.got)
	}
	return found
}

// A run asks, and the message arrives although the receiver was busy first. A manager that begins to lead tells people no ask that was told, and tells
// what happened meanwhile.
func TestPeopleAreToldOfAnAskOnce(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	server := newNoticeServer(t)
	must(t, admin.Create(ctx, &corev1.Secret{ObjectMeta: meta(ns, "hook"), StringData: map[string]string{"key": "0123456789"}}))
	must(t, admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Notifications: &v1alpha1.Notifications{PageURL: "https://motor.example.org", Receivers: []v1alpha1.NotificationReceiver{{
			Name: "team", Events: []v1alpha1.NotificationEvent{v1alpha1.NotifyAsks},
			Webhook: &v1alpha1.WebhookReceiver{URL: server.address, SigningKeySecretRef: &v1alpha1.SecretKeyRef{Name: "hook", Key: "key"}},
		}}},
	}}))
	stop := startSignals(ctx, t, ns)
	settled := func(after time.Time) {
		t.Helper()
		c := &v1alpha1.MotorCortex{}
		must(t, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: v1alpha1.CortexName}, c)
			return err == nil && len(c.Status.Receivers) == 1 && c.Status.Receivers[0].SettledTime.After(after), err
		}))
	}
	settled(time.Time{})
	// It counts as asked before the overlap of two processes, so that the second one can tell that it was told.
	ask := func(run *v1alpha1.MotorRun, at time.Time) {
		changeRun(ctx, t, run, func(st *v1alpha1.MotorRunStatus) {
			st.PendingInputs = []v1alpha1.PendingInput{{ID: "a1-s1-c0", Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.NewTime(at)}}
		})
	}
	ask(acceptedRun(ctx, t, ns, "first"), time.Now().Add(-time.Hour))
	n := server.await(ctx, t, "first")
	if n.Command != "kubectl motor answer first -n "+ns+" --id a1-s1-c0" || n.Text != "Which?" || n.Link != "https://motor.example.org/#/runs/"+ns+"/first" {
		t.Errorf("got %+v", n)
	}
	stop()

	ask(acceptedRun(ctx, t, ns, "second"), time.Now())
	stop = startSignals(ctx, t, ns)
	defer stop()
	server.await(ctx, t, "second")
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.got) != 2 || !server.signed || server.tries != 3 {
		t.Errorf("after a restart people have %+v, signed: %v, in %d requests", server.got, server.signed, server.tries)
	}
}

func TestAReceiverIsExactlyOneOfWebhookSlackAndEMail(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	hook := &v1alpha1.WebhookReceiver{URL: "https://hook.example.org"}
	slack := &v1alpha1.SlackReceiver{URLSecretRef: v1alpha1.SecretKeyRef{Name: "slack", Key: "url"}}
	mail := &v1alpha1.EmailReceiver{Host: "mail.example.org", Sender: "motor@example.org", Recipients: []v1alpha1.MailAddress{"team@example.org"}}
	for name, r := range map[string]v1alpha1.NotificationReceiver{
		"none": {Name: "a"}, "two": {Name: "a", Webhook: hook, Slack: slack}, "other two": {Name: "a", Email: mail, Slack: slack}, "all": {Name: "a", Webhook: hook, Email: mail, Slack: slack},
	} {
		err := admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
			Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{r}},
		}})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "exactly one of webhook, slack and email") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// An address of e-mail cannot have what would be another header or another recipient, and the bounds of a receiver hold.
func TestReceiversThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	mail := func(change func(*v1alpha1.NotificationReceiver)) *v1alpha1.MotorCortex {
		r := v1alpha1.NotificationReceiver{Name: "a", Email: &v1alpha1.EmailReceiver{Host: "mail.example.org", Sender: "motor@example.org", Recipients: []v1alpha1.MailAddress{"team@example.org"}}}
		change(&r)
		return &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
			Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{r}},
		}}
	}
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprintf("l%d", i)] = "x"
	}
	for name, change := range map[string]func(*v1alpha1.NotificationReceiver){
		"a line in an address": func(r *v1alpha1.NotificationReceiver) { r.Email.Recipients[0] = "a@example.org\r\nBcc: b@example.org" },
		"a name":               func(r *v1alpha1.NotificationReceiver) { r.Email.Sender = "Motor <motor@example.org>" },
		"two in one":           func(r *v1alpha1.NotificationReceiver) { r.Email.Recipients[0] = "a@example.org,b@example.org" },
		"no recipient":         func(r *v1alpha1.NotificationReceiver) { r.Email.Recipients = nil },
		"a port in the host":   func(r *v1alpha1.NotificationReceiver) { r.Email.Host = "mail.example.org:25" },
		"no encryption":        func(r *v1alpha1.NotificationReceiver) { r.Email.TLS = "None" },
		"a password alone": func(r *v1alpha1.NotificationReceiver) {
			r.Email.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "a", Key: "b"}
		},
		"too many labels":      func(r *v1alpha1.NotificationReceiver) { r.RunSelector = &metav1.LabelSelector{MatchLabels: many} },
		"a reminder of a week": func(r *v1alpha1.NotificationReceiver) { r.RemindBeforeSeconds = 7*24*3600 + 1 },
	} {
		if err := admin.Create(ctx, mail(change)); !apierrors.IsInvalid(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	c := mail(func(*v1alpha1.NotificationReceiver) {})
	must(t, admin.Create(ctx, c))
	r := c.Spec.Notifications.Receivers[0]
	if r.Email.Port != 587 || r.Email.TLS != v1alpha1.MailStartTLS || r.Digest == nil || r.Digest.Asks != 10 || r.Digest.WindowSeconds != 600 {
		t.Errorf("the defaults are %+v, %+v", r.Email, r.Digest)
	}
}

// A run asks, and a mailbox gets it, once more when its deadline is near. The login is that of the Secret.
func TestAMailboxIsToldAndReminded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	server := mailserver.New(t, mailserver.Options{})
	must(t, admin.Create(ctx, &corev1.Secret{ObjectMeta: meta(ns, "mail"), StringData: map[string]string{"user": "motor", "password": "s3cret\n"}}))
	must(t, admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{{
			Name: "oncall", Events: []v1alpha1.NotificationEvent{v1alpha1.NotifyAsks}, RemindBeforeSeconds: 3600, RunSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			Email: &v1alpha1.EmailReceiver{
				Host: mailserver.Host, Sender: "motor@example.org", Recipients: []v1alpha1.MailAddress{"oncall@example.org"}, CABundle: server.Authority,
				UsernameSecretRef: &v1alpha1.SecretKeyRef{Name: "mail", Key: "user"}, PasswordSecretRef: &v1alpha1.SecretKeyRef{Name: "mail", Key: "password"},
			},
		}}},
	}}))
	stop := startSignals(ctx, t, ns, func(r *signalcontroller.Reconciler) {
		r.NewMailer = signalcontroller.NewMailer(func(ctx context.Context, network, to string) (net.Conn, error) {
			if to != mailserver.Host+":587" {
				return nil, outbound.ErrRefused
			}
			return new(net.Dialer).DialContext(ctx, network, server.Address)
		})
	})
	defer stop()
	c := &v1alpha1.MotorCortex{}
	must(t, wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: v1alpha1.CortexName}, c)
		return err == nil && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.CortexNotificationsReady), err
	}))
	ask := func(run *v1alpha1.MotorRun, left time.Duration) {
		changeRun(ctx, t, run, func(st *v1alpha1.MotorRunStatus) {
			st.PendingInputs = []v1alpha1.PendingInput{{
				ID: "a1-s1-c0", Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.NewTime(time.Now().Add(-time.Hour)), ExpirationTime: metav1.NewTime(time.Now().Add(left)),
			}}
		})
	}
	await := func(count int) mailserver.Message {
		t.Helper()
		if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return len(server.All()) >= count, nil }); err != nil {
			t.Fatalf("the server has %+v", server.All())
		}
		return server.All()[count-1]
	}
	ask(acceptedRun(ctx, t, ns, "other"), 24*time.Hour)
	run := acceptedRun(ctx, t, ns, "mine")
	run.Labels = map[string]string{"team": "a"}
	must(t, admin.Update(ctx, run))
	ask(run, 24*time.Hour)
	m := await(1)
	if m.User != "motor" || m.Password != "s3cret" || !m.Encrypted || !slices.Equal(m.To, []string{"oncall@example.org"}) || !strings.Contains(m.Data, "Subject: Run "+ns+"/mine waits for an answer") {
		t.Errorf("got %+v", m)
	}
	// Its deadline comes near.
	ask(run, 30*time.Minute)
	if m := await(2); !strings.Contains(m.Data, "mine still waits for an answer") {
		t.Errorf("the reminder is %+v", m)
	}
}
