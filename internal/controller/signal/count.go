// SPDX-License-Identifier: Apache-2.0

package signal

// Outcome is what became of a delivery.
type Outcome string

const (
	// Taken: the sink has it.
	Taken Outcome = "taken"
	// Failed: the sink did not take it. Unless it is dropped, it is tried again.
	Failed Outcome = "failed"
	// Dropped: it is not tried again, or was never tried.
	Dropped Outcome = "dropped"
)

// Channel is a kind of sink or receiver.
type Channel string

const (
	// Sink: a sink of signals. The others are receivers of notifications.
	Sink    Channel = "sink"
	Webhook Channel = "webhook"
	Slack   Channel = "slack"
	Email   Channel = "email"
)

// Counter counts deliveries.
type Counter interface {
	SignalSent(to Channel, outcome Outcome)
}

// kind returns what the channel is.
func (c *channel) kind() Channel {
	switch {
	case !c.people():
		return Sink
	case c.receiver.Slack != nil:
		return Slack
	case c.receiver.Email != nil:
		return Email
	}
	return Webhook
}

// count tells the counter, if there is one, what became of a delivery.
func (r *Reconciler) count(l *lane, outcome Outcome) {
	if r.Counter == nil {
		return
	}
	l.mu.Lock()
	to := l.sink.kind()
	l.mu.Unlock()
	r.Counter.SignalSent(to, outcome)
}
