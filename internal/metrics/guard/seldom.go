// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// seldom returns a logger that writes an error once a minute at most, with the number of those before that were not written. The rest of the log would
// be lost between them.
func seldom(log logr.Logger, now func() time.Time) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	return log.WithSink(&sink{LogSink: log.GetSink(), now: now})
}

type sink struct {
	logr.LogSink
	now func() time.Time

	mu      sync.Mutex
	last    time.Time
	skipped int
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, keysAndValues ...any) {
	skipped, ok := s.take()
	if ok {
		s.LogSink.Error(err, message, append(keysAndValues, "notLogged", skipped)...)
	}
}

// take reports whether an error is written now, and how many before it were not.
func (s *sink) take() (skipped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.last.IsZero() && now.Sub(s.last) < logPause {
		s.skipped++
		return 0, false
	}
	skipped, s.skipped, s.last = s.skipped, 0, now
	return skipped, true
}
