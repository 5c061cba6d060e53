// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

// channel is a sink of signals, or a receiver of notifications, which is told the same facts in words for people.
type channel struct {
	v1alpha1.SignalSink
	// receiver is that of notifications, nil for a sink.
	receiver *v1alpha1.NotificationReceiver
	// pageURL is where messages link to, "" for nowhere.
	pageURL string
}

// channelsOf returns what the spec of a MotorCortex has, none for one that is deleted or does not exist. They are copies: lanes read them while the
// object is written.
func channelsOf(c *v1alpha1.MotorCortex) []channel {
	if !c.DeletionTimestamp.IsZero() {
		return nil
	}
	var all []channel
	if s := c.Spec.Signals; s != nil {
		for i := range s.Sinks {
			all = append(all, channel{SignalSink: *s.Sinks[i].DeepCopy()})
		}
	}
	if n := c.Spec.Notifications; n != nil {
		for i := range n.Receivers {
			all = append(all, channelOf(n.Receivers[i].DeepCopy(), n.PageURL))
		}
	}
	return all
}

func channelOf(r *v1alpha1.NotificationReceiver, pageURL string) channel {
	c := channel{SignalSink: v1alpha1.SignalSink{Name: r.Name, Events: notice.Events(r.Events)}, receiver: r, pageURL: pageURL}
	switch {
	case r.Webhook != nil:
		c.CABundle = r.Webhook.CABundle
	case r.Email != nil:
		c.CABundle = r.Email.CABundle
	}
	return c
}

// people reports whether the channel is a receiver of notifications.
func (c *channel) people() bool { return c.receiver != nil }

// mails reports whether its messages are e-mails.
func (c *channel) mails() bool { return c.people() && c.receiver.Email != nil }

// digest returns from when on the channel gets asks in one message, nil for never.
func (c *channel) digest() *v1alpha1.NotificationDigest {
	if !c.people() || c.receiver.Digest == nil || c.receiver.Digest.Asks < 1 {
		return nil
	}
	return c.receiver.Digest
}

// remind returns how long before the deadline of an ask the channel is told it again, 0 for never.
func (c *channel) remind() time.Duration {
	if !c.people() {
		return 0
	}
	return time.Duration(c.receiver.RemindBeforeSeconds) * time.Second
}

// selector returns what the labels of runs must be that the channel is told of, nil for all runs. Its error is for a person.
func (c *channel) selector() (labels.Selector, error) {
	if !c.people() || c.receiver.RunSelector == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(c.receiver.RunSelector)
}

// same reports whether two channels are told the same in the same way.
func same(a, b *channel) bool {
	return a.pageURL == b.pageURL && equality.Semantic.DeepEqual(&a.SignalSink, &b.SignalSink) && equality.Semantic.DeepEqual(a.receiver, b.receiver)
}

// target returns where the channel's signals are sent to, and in which words. Its error is a *cortex.Problem or a *deliver.Failure if a person must
// correct something.
func (c *channel) target(ctx context.Context, namespace string, secrets Secrets) (deliver.Target, error) {
	r := c.receiver
	switch {
	case r == nil:
		authorization, key, err := secrets.SinkSecrets(ctx, namespace, &c.SignalSink)
		return deliver.Target{URL: c.URL, Authorization: authorization, SigningKey: key}, err
	case r.Slack != nil:
		url, err := secrets.ReceiverSecret(ctx, namespace, &r.Slack.URLSecretRef, "URL", "")
		if err != nil {
			return deliver.Target{}, err
		}
		return c.slack(url)
	case r.Email != nil:
		return c.mailbox(ctx, namespace, secrets)
	}
	key, err := secrets.ReceiverSecret(ctx, namespace, r.Webhook.SigningKeySecretRef, "signing key", r.Webhook.URL)
	return deliver.Target{URL: r.Webhook.URL, SigningKey: key, Format: c.worded(notice.JSON)}, err
}

// worded has signals be worded as a message.
func (c *channel) worded(word func(notice.Notice) ([]byte, error)) func(*signal.Signal) ([]byte, error) {
	pageURL := c.pageURL
	return func(s *signal.Signal) ([]byte, error) { return word(notice.Of(s, pageURL)) }
}

func (c *channel) slack(url secret.Value) (deliver.Target, error) {
	word := notice.Slack
	if c.receiver.Slack.Buttons {
		word = notice.SlackWithButtons
	}
	to := deliver.Target{URL: strings.TrimSpace(url.RevealText()), Format: c.worded(word)}
	if !strings.HasPrefix(to.URL, "https://") {
		return to, &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The Secret of urlSecretRef has no URL that begins with https. Put that of the incoming webhook into it."}
	}
	return to, nil
}

func (c *channel) mailbox(ctx context.Context, namespace string, secrets Secrets) (deliver.Target, error) {
	r := c.receiver.Email
	m := &deliver.Mail{
		Host: r.Host, Port: int(r.Port), Implicit: r.TLS == v1alpha1.MailImplicitTLS, From: string(r.Sender), PageURL: c.pageURL,
	}
	for _, to := range r.Recipients {
		m.To = append(m.To, string(to))
	}
	to := "smtp://" + net.JoinHostPort(r.Host, strconv.Itoa(m.Port))
	var err error
	if m.Username, err = secrets.ReceiverSecret(ctx, namespace, r.UsernameSecretRef, "user name", to); err != nil {
		return deliver.Target{}, err
	}
	if m.Password, err = secrets.ReceiverSecret(ctx, namespace, r.PasswordSecretRef, "password", to); err != nil {
		return deliver.Target{}, err
	}
	return deliver.Target{URL: to, Mail: m}, nil
}
