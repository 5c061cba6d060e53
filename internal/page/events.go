// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"motorcortex.dev/motorcortex/internal/page/live"
)

// sendTimeout is how long a browser may take to read a change. One that sleeps reads nothing, and connects again when it wakes.
const sendTimeout = 20 * time.Second

// events streams what changes (server-sent events). An event has a list of changes, and names of objects alone: the page reads what it shows.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	person, err := p.access(r)
	if err != nil {
		send(w, statusOf(err), map[string]string{"error": words(err)})
		return
	}
	s, err := p.hub.Subscribe(person.Key, person.Client, r.URL.Query().Get("namespace")) //nolint:contextcheck // The watches are for further windows too.
	if errors.Is(err, live.ErrFull) {
		w.Header().Set("Retry-After", "30")
		send(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
		return
	}
	if err != nil {
		send(w, http.StatusInternalServerError, map[string]string{"error": words(err)})
		return
	}
	defer s.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	for {
		text, err := p.next(r.Context(), s)
		if err != nil {
			return
		}
		// The server bounds the time of a whole answer, and this one has no end.
		if err := out.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// next is the next event, or a comment that the stream is there.
func (p *Page) next(ctx context.Context, s *live.Subscription) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, p.beat)
	defer cancel()
	changes, err := s.Next(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return ": quiet\n\n", nil
	}
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(changes)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("data: %s\n\n", body), nil
}
