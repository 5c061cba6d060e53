// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
)

func slackReceiver() v1alpha1.NotificationReceiver {
	return v1alpha1.NotificationReceiver{Name: "a", Slack: &v1alpha1.SlackReceiver{URLSecretRef: v1alpha1.SecretKeyRef{Name: "slack", Key: "url"}}}
}

func TestASinkAndAReceiverOfOneNameAreTwoChannels(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{
		Signals:       &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{{Name: "a", URL: "https://sink.example"}}},
		Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{slackReceiver()}},
	}}
	r := &Reconciler{Now: time.Now, NewSender: func(string) (Sender, error) { return &sink{}, nil }}
	r.init()
	if got := channelsOf(c); len(got) != 2 || len(r.adjust("ns", got, &c.Status)) != 2 || len(r.lanesOf("ns")) != 2 {
		t.Fatalf("got %+v", got)
	}
	c.Spec.Signals = nil
	if begun := r.adjust("ns", channelsOf(c), &c.Status); len(begun) != 0 || len(r.lanesOf("ns")) != 1 {
		t.Errorf("without the sink %d begin and %d are left", len(begun), len(r.lanesOf("ns")))
	}
}

func TestTheAddressOfSlackIsASecretAndNoHeader(t *testing.T) {
	t.Parallel()
	r := slackReceiver()
	c := channelOf(&r, "")
	to, wrong := c.target(secret.New("https://hooks.example/T/B/x\n"), secret.Value{})
	if wrong != nil || to.URL != "https://hooks.example/T/B/x" || !to.Authorization.IsEmpty() || to.Format == nil {
		t.Errorf("got %v", wrong)
	}
	if _, wrong := c.target(secret.New("http://hooks.example/token"), secret.Value{}); wrong == nil || strings.Contains(wrong.Message, "token") {
		t.Errorf("got %v", wrong)
	}
}

func TestANewProcessTellsPeopleNoAskThatWasTold(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{PendingInputs: []v1alpha1.PendingInput{{ID: "a1", AskTime: metav1.NewTime(asked)}}}}
	r := slackReceiver()
	c := channelOf(&r, "")
	for _, x := range []struct {
		name  string
		known *v1alpha1.MotorCortexStatus
		told  bool
	}{
		{"a receiver that is new", &v1alpha1.MotorCortexStatus{}, true},
		{"settled after the ask", &v1alpha1.MotorCortexStatus{Receivers: []v1alpha1.SinkStatus{{Name: "a", SettledTime: metav1.NewTime(asked.Add(time.Hour))}}}, false},
		{"settled before the ask", &v1alpha1.MotorCortexStatus{Receivers: []v1alpha1.SinkStatus{{Name: "a", SettledTime: metav1.NewTime(asked.Add(-time.Hour))}}}, true},
	} {
		rec := &Reconciler{Now: func() time.Time { return asked.Add(2 * time.Hour) }, NewSender: func(string) (Sender, error) { return &sink{}, nil }}
		rec.init()
		l := rec.adjust("ns", []channel{c}, x.known)[0]
		cursor, _, _ := l.begin(subject{})
		s, _ := signal.Run{MotorRun: run}.Next(cursor, func(e v1alpha1.SignalEvent) bool { return slices.Contains(c.Events, e) })
		if (s != nil) != x.told {
			t.Errorf("%s: told is %v", x.name, s != nil)
		}
	}
}
