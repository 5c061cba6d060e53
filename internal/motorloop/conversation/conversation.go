// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"reflect"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
)

// Conversation follows an attempt turn by turn, so that a request costs as much as the turns since the last one, and not as much as the whole
// attempt. All that it returns follows from the configuration and the turns alone. The zero value has seen none. It is not safe for concurrent use.
type Conversation struct {
	judging verdict.Judging
	view    *view
	seen    []*turn.Turn
}

// follow returns the view of the turns, all of which must be settled. The caller must not change it.
func (c *Conversation) follow(cfg config.Config, turns []*turn.Turn) *view {
	list := c.judging.Of(turns)
	if c.view == nil || !turn.Continues(c.seen, list) || !reflect.DeepEqual(c.view.cfg, cfg) {
		c.view, c.seen = newView(cfg), nil
	}
	for _, t := range list[len(c.seen):] {
		c.view.add(t)
	}
	c.seen = append(c.seen, list[len(c.seen):]...)
	return c.view
}

// SummaryDue returns the index of the last turn that the next summary covers, 0 if none is due. See view. All turns must be settled.
func (c *Conversation) SummaryDue(cfg config.Config, turns []*turn.Turn) int32 {
	return c.follow(cfg, turns).due
}

// At is the function At. All turns must be settled.
func (c *Conversation) At(cfg config.Config, turns []*turn.Turn, level int) []chat.Message {
	if level > 0 {
		return At(cfg, turns, level)
	}
	return c.follow(cfg, turns).messages()
}
