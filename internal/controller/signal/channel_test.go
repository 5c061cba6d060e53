// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
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
	to, err := c.target(t.Context(), "ns", known{"url": "https://hooks.example/T/B/x\n"})
	if err != nil || to.URL != "https://hooks.example/T/B/x" || !to.Authorization.IsEmpty() || to.Format == nil {
		t.Errorf("got %v", err)
	}
	if _, err := c.target(t.Context(), "ns", known{"url": "http://hooks.example/token"}); err == nil || strings.Contains(err.Error(), "token") {
		t.Errorf("got %v", err)
	}
}

// known are the values of Secrets by their keys.
type known map[string]string

func (k known) SinkSecrets(context.Context, string, *v1alpha1.SignalSink) (a, key secret.Value, err error) {
	return a, key, nil
}

func (k known) ReceiverSecret(_ context.Context, _ string, ref *v1alpha1.SecretKeyRef, _, _ string) (secret.Value, error) {
	if ref == nil {
		return secret.Value{}, nil
	}
	return secret.New(k[ref.Key]), nil
}

func mailReceiver() v1alpha1.NotificationReceiver {
	return v1alpha1.NotificationReceiver{Name: "a", Email: &v1alpha1.EmailReceiver{
		Host: "mail.example.org", Port: 465, TLS: v1alpha1.MailImplicitTLS, Sender: "motor@example.org", Recipients: []v1alpha1.MailAddress{"a@example.org", "b@example.org"},
		UsernameSecretRef: &v1alpha1.SecretKeyRef{Name: "mail", Key: "user"}, PasswordSecretRef: &v1alpha1.SecretKeyRef{Name: "mail", Key: "password"},
	}}
}

func TestAMailboxHasItsServerAndItsLogin(t *testing.T) {
	t.Parallel()
	r := mailReceiver()
	c := channelOf(&r, "https://motor.example.org")
	to, err := c.target(t.Context(), "ns", known{"user": "motor", "password": "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	m := to.Mail
	if m.Host != "mail.example.org" || m.Port != 465 || !m.Implicit || m.From != "motor@example.org" || !slices.Equal(m.To, []string{"a@example.org", "b@example.org"}) ||
		m.Username.RevealText() != "motor" || m.Password.RevealText() != "s3cret" || m.PageURL != "https://motor.example.org" || to.URL == "" {
		t.Errorf("got %+v of %q", m, to.URL)
	}
	r.Email.TLS = v1alpha1.MailStartTLS
	if to, err := c.target(t.Context(), "ns", known{}); err != nil || to.Mail.Implicit {
		t.Errorf("StartTLS begins with TLS: %v", err)
	}
}

// A receiver that becomes one of another kind, under its name, is told by another sender.
func TestAReceiverThatBecomesAMailboxGetsEMails(t *testing.T) {
	t.Parallel()
	var made []string
	r := &Reconciler{
		Now: time.Now, NewSender: func(string) (Sender, error) { made = append(made, "http"); return &sink{}, nil },
		NewMailer: func(string) (Sender, error) { made = append(made, "mail"); return &sink{}, nil },
	}
	r.init()
	for _, of := range []v1alpha1.NotificationReceiver{slackReceiver(), mailReceiver(), mailReceiver(), slackReceiver()} {
		r.adjust("ns", []channel{channelOf(&of, "")}, &v1alpha1.MotorCortexStatus{})
	}
	if !slices.Equal(made, []string{"http", "mail", "http"}) {
		t.Errorf("got %q", made)
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

func TestAReceiverIsToldOfTheRunsItSelects(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		ofTeam := func(r *v1alpha1.NotificationReceiver) {
			r.RunSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}}}
		}
		g.receive("a", ofTeam)
		mine, other := g.accept("mine"), g.accept("other")
		mine.Labels, other.Labels = map[string]string{"team": "a"}, map[string]string{"team": "c"}
		for _, run := range []*v1alpha1.MotorRun{mine, other} {
			g.must(g.c.Update(g.ctx, run))
			set(run, v1alpha1.ConditionAccepted, v1alpha1.ConditionAccepted)
			g.ask(run, "a1")
		}
		g.want("a", "u-mine/run.awaitinginput/a1")
		g.remove(other)
		g.want("a", "u-mine/run.awaitinginput/a1")
		g.remove(mine)
		g.want("a", "u-mine/run.awaitinginput/a1", "u-mine/run.cancelled")
	})
}

// Who widens the selection is told what waits, and not what ended long ago.
func TestAWiderSelectionTellsWhatIsOpen(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", func(r *v1alpha1.NotificationReceiver) {
			r.RunSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		})
		ended, asking := g.accept("ended"), g.accept("asking")
		g.finish(ended)
		g.ask(asking, "a1")
		later(time.Hour)
		g.want("a")
		g.receive("a")
		g.want("a", "u-asking/run.awaitinginput/a1")
	})
}

func TestARunSelectorThatIsWrongIsSaid(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", func(r *v1alpha1.NotificationReceiver) {
			r.RunSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}}
		})
		run := g.accept("run")
		g.ask(run, "a1")
		later(time.Second)
		c := apimeta.FindStatusCondition(g.cortex().Status.Receivers[0].Conditions, v1alpha1.CortexSinkReady)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "runSelector") {
			t.Errorf("got %+v", c)
		}
		g.want("a")
		g.receive("a")
		later(time.Second)
		g.want("a", "u-run/run.awaitinginput/a1")
	})
}

func TestReceiversThatFailAreNamedByOneCondition(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		ready := func() *metav1.Condition {
			return apimeta.FindStatusCondition(g.cortex().Status.Conditions, v1alpha1.CortexNotificationsReady)
		}
		if c := ready(); c != nil {
			t.Errorf("without receivers there is %+v", c)
		}
		g.receive("a")
		if c := ready(); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("got %+v", c)
		}
		g.sinks["a"].answer(away)
		run := g.accept("run")
		g.ask(run, "a1")
		later(time.Second)
		if c := ready(); c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonSinkUnavailable || !strings.Contains(c.Message, "The receiver a ") {
			t.Errorf("got %+v", c)
		}
		c := g.cortex()
		c.Spec = v1alpha1.MotorCortexSpec{}
		g.must(g.c.Update(g.ctx, c))
		if c := ready(); c != nil {
			t.Errorf("after the last receiver there is %+v", c)
		}
	})
}
