// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a transport whose every answer is the same stream.
type watched struct{ body io.ReadCloser }

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: w.body, Request: r}, nil
}

// openWatch opens a watch through the faults. The data written to the pipe is the server's.
func openWatch(t *testing.T, f *Faults) (says *io.PipeWriter, body io.ReadCloser) {
	t.Helper()
	in, out := io.Pipe()
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/apis", RawQuery: "watch=true"}}
	resp, err := f.Wrap(watched{in}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	return out, resp.Body
}

func TestWatchIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(1, nil)
		f.Set(Settings{WatchDelay: 3 * time.Second})
		says, body := openWatch(t, f)
		lines := bufio.NewScanner(body)
		began := time.Now()
		go func() {
			_, _ = io.WriteString(says, "one\n")
			time.Sleep(time.Second) //nolint:forbidigo // The clock of the bubble: nobody waits.
			_, _ = io.WriteString(says, "two\n")
			_ = says.Close()
		}()
		for i, want := range []string{"one", "two"} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("got %q, want %q", lines.Text(), want)
			}
			if took := time.Since(began); took != time.Duration(3+i)*time.Second {
				t.Errorf("%q came after %s", want, took)
			}
		}
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("after its end the watch gave %q and %v", lines.Text(), lines.Err())
		}
	})
}

func TestWatchEndsBeforeItsTime(t *testing.T) {
	tests := map[string]struct {
		settings Settings
		after    func(*Faults, io.Closer)
		want     error
		kind     Kind
		took     time.Duration
	}{
		"its life is over":       {Settings{WatchLife: 4 * time.Second}, nil, io.EOF, Closed, 4 * time.Second},
		"and also when it waits": {Settings{WatchLife: 4 * time.Second, WatchDelay: time.Minute}, nil, io.EOF, Closed, 4 * time.Second},
		"the API server goes away": {
			Settings{}, func(f *Faults, _ io.Closer) { f.Set(Settings{Away: true}) }, syscall.ECONNRESET, Away, 2 * time.Second,
		},
		"the client closes it": {Settings{}, func(_ *Faults, c io.Closer) { _ = c.Close() }, errClosed, "", 2 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New(1, nil)
				f.Set(tt.settings)
				says, body := openWatch(t, f)
				if tt.after != nil {
					time.AfterFunc(2*time.Second, func() { tt.after(f, body) })
				}
				if tt.settings.WatchDelay > 0 {
					go func() { _, _ = io.WriteString(says, "late\n") }()
				}
				began := time.Now()
				n, err := body.Read(make([]byte, 10))
				if n != 0 || !errors.Is(err, tt.want) {
					t.Errorf("read %d bytes and %v, want %v", n, err, tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it ended after %s, want %s", took, tt.took)
				}
				if tt.kind != "" && f.Count(tt.kind) != 1 {
					t.Errorf("%d of kind %s were counted", f.Count(tt.kind), tt.kind)
				}
			})
		})
	}
}

// The client receives an event that it understands.
func TestExpiredWatchIsAnEvent(t *testing.T) {
	f := New(1, nil)
	f.Set(Settings{Expired: 1})
	_, body := openWatch(t, f)
	var event struct {
		Type   string
		Object struct {
			Kind, Reason string
			Code         int
		}
	}
	if err := json.NewDecoder(body).Decode(&event); err != nil {
		t.Fatal(err)
	}
	if event.Type != "ERROR" || event.Object.Kind != "Status" || event.Object.Reason != "Expired" || event.Object.Code != http.StatusGone {
		t.Errorf("the event is %+v", event)
	}
}
