// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// counter counts deliveries.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) SignalSent(to Channel, outcome Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[string(to)+" "+string(outcome)]++
}

func TestDeliveriesAreCountedByWhatBecameOfThem(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		c := &counter{seen: map[string]int{}}
		g.r.Counter = c
		g.accept("run")
		synctest.Wait()
		g.receive("a", few)
		g.sinks["a"].answer(func(_ string, tries int) error {
			if tries == 2 {
				return errAway
			}
			return nil
		})
		g.asking(1, 4)
		later(20 * time.Minute)
		synctest.Wait()
		g.sinks["a"].answer(func(string, int) error { return errRefused })
		g.asking(5, 5)
		later(time.Minute)
		want := map[string]int{"sink taken": 1, "webhook failed": 3, "webhook taken": 3, "webhook dropped": 1}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !maps.Equal(c.seen, want) {
			t.Errorf("got %v, want %v", c.seen, want)
		}
	})
}

func TestEachKindOfChannelHasItsName(t *testing.T) {
	t.Parallel()
	slack, mail := slackReceiver(), mailReceiver()
	hook := v1alpha1.NotificationReceiver{Webhook: &v1alpha1.WebhookReceiver{}}
	for want, c := range map[Channel]channel{Sink: {}, Slack: channelOf(&slack, ""), Email: channelOf(&mail, ""), Webhook: channelOf(&hook, "")} {
		if got := c.kind(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
