// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
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

func TestAReceiverIsExactlyOneOfWebhookAndSlack(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	hook := &v1alpha1.WebhookReceiver{URL: "https://hook.example.org"}
	slack := &v1alpha1.SlackReceiver{URLSecretRef: v1alpha1.SecretKeyRef{Name: "slack", Key: "url"}}
	for name, r := range map[string]v1alpha1.NotificationReceiver{
		"neither": {Name: "a"}, "both": {Name: "a", Webhook: hook, Slack: slack},
	} {
		err := admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
			Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{r}},
		}})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "either webhook or slack") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
