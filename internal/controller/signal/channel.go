// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

// channel is a sink of signals, or a receiver of notifications, which is told the same facts in words for people.
type channel struct {
	v1alpha1.SignalSink
	// people is true for a receiver of notifications.
	people bool
	// slack is true if the URL is the value of the Secret of the authorization.
	slack bool
	// pageURL is where messages link to, "" for nowhere.
	pageURL string
}

// channelsOf returns what the spec of a MotorCortex has, none for one that is deleted or does not exist.
func channelsOf(c *v1alpha1.MotorCortex) []channel {
	if !c.DeletionTimestamp.IsZero() {
		return nil
	}
	var all []channel
	if s := c.Spec.Signals; s != nil {
		for i := range s.Sinks {
			all = append(all, channel{SignalSink: s.Sinks[i]})
		}
	}
	if n := c.Spec.Notifications; n != nil {
		for i := range n.Receivers {
			all = append(all, channelOf(&n.Receivers[i], n.PageURL))
		}
	}
	return all
}

func channelOf(r *v1alpha1.NotificationReceiver, pageURL string) channel {
	c := channel{SignalSink: v1alpha1.SignalSink{Name: r.Name, Events: notice.Events(r.Events)}, people: true, pageURL: pageURL}
	switch {
	case r.Slack != nil:
		c.slack, c.AuthorizationSecretRef = true, &r.Slack.URLSecretRef
	case r.Webhook != nil:
		c.URL, c.SigningKeySecretRef, c.CABundle = r.Webhook.URL, r.Webhook.SigningKeySecretRef, r.Webhook.CABundle
	}
	return c
}

// target returns where the channel's signals are posted to, and in which words.
func (c *channel) target(authorization, key secret.Value) (deliver.Target, *deliver.Failure) {
	to := deliver.Target{URL: c.URL, Authorization: authorization, SigningKey: key}
	if !c.people {
		return to, nil
	}
	word := notice.JSON
	if c.slack {
		word, to.URL, to.Authorization = notice.Slack, strings.TrimSpace(authorization.RevealText()), secret.Value{}
		if !strings.HasPrefix(to.URL, "https://") {
			return to, &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The Secret of urlSecretRef has no URL that begins with https. Put that of the incoming webhook into it."}
		}
	}
	pageURL := c.pageURL
	to.Format = func(s *signal.Signal) ([]byte, error) { return word(notice.Of(s, pageURL)) }
	return to, nil
}
