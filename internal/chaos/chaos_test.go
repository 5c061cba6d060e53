// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server counts what arrives and answers everything with 201.
func server(t *testing.T) (url string, arrived *atomic.Int32) {
	t.Helper()
	arrived = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "made")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, arrived
}

// ask sends a request and returns its result.
func ask(t *testing.T, c *http.Client, method, url string) (status int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, nil
}

func TestWhatHappensToARequest(t *testing.T) {
	tests := map[string]struct {
		settings Settings
		method   string
		query    string
		arrives  bool
		kind     Kind
		// One of these for each way in which it may fail.
		failures []error
		statuses []int
	}{
		"nothing":                    {Settings{}, "POST", "", true, "", nil, []int{201}},
		"a write that is not sent":   {Settings{Unsent: 1}, "PATCH", "", false, Unsent, []error{syscall.ECONNREFUSED}, []int{500}},
		"a write without an answer":  {Settings{Unanswered: 1}, "PUT", "", true, Unanswered, []error{syscall.ECONNRESET}, []int{504}},
		"a read while writes fail":   {Settings{Unsent: 1}, "GET", "", true, "", nil, []int{201}},
		"a watch while writes fail":  {Settings{Unsent: 1}, "GET", "?watch=true", true, "", nil, []int{201}},
		"a read while away":          {Settings{Away: true}, "GET", "", false, Away, []error{syscall.ECONNREFUSED}, nil},
		"a write while away":         {Settings{Away: true, Unanswered: 1}, "DELETE", "", false, Away, []error{syscall.ECONNREFUSED}, nil},
		"a watch that is too old":    {Settings{Expired: 1}, "GET", "?watch=1", false, Expired, nil, []int{200}},
		"a read while watches fail":  {Settings{Expired: 1}, "GET", "?watch=false", true, "", nil, []int{201}},
		"a write while watches fail": {Settings{Expired: 1}, "POST", "", true, "", nil, []int{201}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url, arrived := server(t)
			var reported []Kind
			f := New(1, func(kind Kind, _ *http.Request) { reported = append(reported, kind) })
			f.Set(tt.settings)
			client := &http.Client{Transport: f.Wrap(http.DefaultTransport)}
			const times = 20
			var statuses []int
			for range times {
				status, err := ask(t, client, tt.method, url+tt.query)
				switch {
				case err == nil && !slices.Contains(tt.statuses, status):
					t.Errorf("answered with %d", status)
				case err == nil:
					statuses = append(statuses, status)
				case !slices.ContainsFunc(tt.failures, func(want error) bool { return errors.Is(err, want) }):
					t.Errorf("failed with %v", err)
				}
			}
			if both := len(tt.statuses) > 0 && len(tt.failures) > 0; both && (len(statuses) == 0 || len(statuses) == times) {
				t.Errorf("%d of %d failures came as an answer; both ways have to be seen", len(statuses), times)
			}
			if want := map[bool]int32{true: times}[tt.arrives]; arrived.Load() != want {
				t.Errorf("%d of %d requests arrived, want %d", arrived.Load(), times, want)
			}
			if want := map[bool]int{true: times}[tt.kind != ""]; len(reported) != want || f.Count(tt.kind) != want {
				t.Errorf("reported %v, counted %d of kind %q", reported, f.Count(tt.kind), tt.kind)
			}
		})
	}
}

func TestTheSeedDecides(t *testing.T) {
	url, arrived := server(t)
	pattern := func(seed uint64) (failed []bool) {
		f := New(seed, nil)
		f.Set(Settings{Unsent: 0.15, Unanswered: 0.15})
		client := &http.Client{Transport: f.Wrap(http.DefaultTransport)}
		for range 200 {
			status, err := ask(t, client, "POST", url)
			failed = append(failed, err != nil || status != http.StatusCreated)
		}
		return failed
	}
	first := pattern(7)
	if diff := cmp.Diff(first, pattern(7)); diff != "" {
		t.Errorf("the same seed twice (-first +second):\n%s", diff)
	}
	if slices.Equal(first, pattern(8)) {
		t.Error("another seed made the same requests fail")
	}
	failed := 0
	for _, f := range first {
		if f {
			failed++
		}
	}
	if failed < 40 || failed > 80 {
		t.Errorf("%d of 200 writes failed, want about 60", failed)
	}
	if n := arrived.Load(); n < 480 || n > 540 {
		t.Errorf("%d of 600 writes arrived, want about 510", n)
	}
}

func TestSettingsCanBeChanged(t *testing.T) {
	url, _ := server(t)
	f := New(1, nil)
	client := &http.Client{Transport: f.Wrap(http.DefaultTransport)}
	for _, away := range []bool{false, true, false, true, true, false} {
		f.Set(Settings{Away: away})
		if _, err := ask(t, client, "GET", url); (err != nil) != away {
			t.Errorf("away is %t, and the request failed with %v", away, err)
		}
	}
}

func TestKills(t *testing.T) {
	tests := map[string]struct {
		value       string
		want, later bool
	}{
		"this step":       {"AfterIntent:2", true, false},
		"each time":       {"AfterIntent:2:always", true, true},
		"another step":    {"AfterIntent:3", false, false},
		"another point":   {"BeforeIntent:2", false, false},
		"no number":       {"AfterIntent", false, false},
		"no number ever":  {"AfterIntent:always", false, false},
		"a broken number": {"AfterIntent:2x", false, false},
		"too large":       {"AfterIntent:4294967298", false, false},
		"nothing":         {"", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Kills(tt.value, "AfterIntent", 2, true); got != tt.want {
				t.Errorf("Kills(%q) = %t", tt.value, got)
			}
			if got := Kills(tt.value, "AfterIntent", 2, false); got != tt.later {
				t.Errorf("Kills(%q) of a later worker = %t", tt.value, got)
			}
		})
	}
}
