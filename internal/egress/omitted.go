// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// omissions knows whose lines were omitted, so that their count is written even if nothing of the run follows. It holds one entry for each
// run that was refused too often of late.
type omissions struct {
	mu sync.Mutex
	of map[*lineLimit]*grant.Grant
}

func (o *omissions) add(l *lineLimit, g *grant.Grant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[*lineLimit]*grant.Grant{}
	}
	o.of[l] = g
}

// take returns the counts that are at least so old, and forgets them.
func (o *omissions) take(now time.Time, age time.Duration) map[*grant.Grant]map[Reason]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := map[*grant.Grant]map[Reason]int{}
	for l, g := range o.of {
		if omitted := l.take(now, age); omitted != nil {
			counts[g] = omitted
			delete(o.of, l)
		}
	}
	return counts
}

// writeOmitted writes a line for each run and reason of which lines were omitted.
func (s *Server) writeOmitted(age time.Duration) {
	for g, omitted := range s.omitted.take(s.now(), age) {
		log := s.log
		if g != nil {
			log = log.With(slog.String("run", g.Run), slog.String("namespace", g.Namespace), slog.String("pod", g.PodName), slog.String("uid", g.RunUID))
		}
		for _, why := range slices.Sorted(maps.Keys(omitted)) {
			log.Info("egress", slog.String("verdict", "deny"), slog.String("reason", string(why)), slog.Int("omitted", omitted[why]))
		}
	}
}
