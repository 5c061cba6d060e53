// SPDX-License-Identifier: Apache-2.0

package timekeeper

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// server answers by a clock of its own, ahead of the process's by so much, and takes its time.
type server struct {
	now         *time.Time
	ahead, took time.Duration
	status      int
	err         error
	without     bool
}

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	*s.now = s.now.Add(s.took / 2)
	h := http.Header{"Date": {s.now.Add(s.ahead).UTC().Format(http.TimeFormat)}}
	*s.now = s.now.Add(s.took / 2)
	if s.without {
		h = nil
	}
	return &http.Response{StatusCode: s.status, Header: h, Body: http.NoBody}, s.err
}

// ask makes one request, whose answer the clock sees.
func ask(t *testing.T, c *Clock, s *server) error {
	t.Helper()
	resp, err := c.Wrap(s).RoundTrip(&http.Request{})
	if resp == nil {
		t.Fatal("the answer is lost")
	}
	return errors.Join(err, resp.Body.Close())
}

func TestClockIsTheAPIServers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		server  server
		answers int
		want    time.Duration
		told    bool
	}{
		"no answer":                       {server{ahead: time.Hour, err: errors.New("no")}, 5, 0, false},
		"they agree":                      {server{status: 200}, 5, 0, false},
		"a second is none":                {server{status: 200, ahead: 1500 * time.Millisecond}, 5, 0, false},
		"a second behind is none":         {server{status: 200, ahead: -1500 * time.Millisecond}, 5, 0, false},
		"an hour ahead":                   {server{status: 200, ahead: time.Hour}, 2, time.Hour, true},
		"an hour behind":                  {server{status: 200, ahead: -time.Hour}, 2, -time.Hour, true},
		"four seconds":                    {server{status: 201, ahead: 4 * time.Second}, 2, 4 * time.Second, false},
		"one answer alone":                {server{status: 200, ahead: time.Hour}, 1, 0, false},
		"slow answers":                    {server{status: 200, ahead: time.Hour, took: 2 * time.Second}, 2, time.Hour, true},
		"answers that say too little":     {server{status: 200, ahead: time.Hour, took: 10 * time.Second}, 5, 0, false},
		"something in between that fails": {server{status: 502, ahead: time.Hour}, 5, 0, false},
		"no date":                         {server{status: 200, ahead: time.Hour, without: true}, 5, 0, false},
	}
	for name, tt := range tests {
		now := noon
		var log bytes.Buffer
		c := NewClock(func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
		tt.server.now = &now
		for range tt.answers {
			now = now.Add(337 * time.Millisecond)
			if err := ask(t, c, &tt.server); !errors.Is(err, tt.server.err) {
				t.Fatalf("%s: the answer is %v", name, err)
			}
		}
		if off := (c.Offset() - tt.want).Abs(); off > 1500*time.Millisecond || tt.want == 0 && off != 0 {
			t.Errorf("%s: offset %s, want %s", name, c.Offset(), tt.want)
		}
		if got := c.Now(); !got.Equal(now.Add(c.Offset())) {
			t.Errorf("%s: it is %s", name, got)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 0 && !tt.told || lines != 1 && tt.told {
			t.Errorf("%s: the log has %q", name, log.String())
		}
	}
}

// Once it is known, the offset stays as it is until answers speak against it: no deadline moves to and fro.
func TestClockIsSteady(t *testing.T) {
	t.Parallel()
	now := noon
	c := NewClock(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	s := &server{now: &now, ahead: time.Hour, status: 200}
	offsets := map[time.Duration]bool{}
	for i := range 100 {
		now = now.Add(137 * time.Millisecond)
		s.took = time.Duration(i%7) * 300 * time.Millisecond
		if err := ask(t, c, s); err != nil {
			t.Fatal(err)
		}
		offsets[c.Offset()] = true
	}
	if len(offsets) > 2 {
		t.Errorf("offsets %v", offsets)
	}
	s.ahead = 0 // The machine's clock was set right.
	for range 2 {
		if err := ask(t, c, s); err != nil {
			t.Fatal(err)
		}
	}
	if c.Offset() != 0 {
		t.Errorf("offset %s", c.Offset())
	}
}
