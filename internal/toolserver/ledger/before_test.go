// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A ledger of a former version has no keys.
func TestLedgerWithoutKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	old := `{"kind":"started","id":"a","digest":"d","epoch":1,"time":"2026-01-01T00:00:00Z"}` + "\n" +
		`{"kind":"finished","id":"a","time":"2026-01-01T00:00:00Z","result":{"ok":true,"output":"x","provenance":"Internal","durationMs":0}}` + "\n"
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, path)
	if state := stateOf(t, l, "a"); state.Result.Output != "x" {
		t.Errorf("%+v", state)
	}
	c, _, err := l.Begin(0, Work{ID: "b", Digest: "d", Key: "k", Tool: "bash"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, state, err := l.Before(c); id != "" || state.Phase != toolapi.CallAbsent || err != nil {
		t.Errorf("%s %+v %v", id, state, err)
	}
}

// The order of calls is that of their starts, also when they began in the same moment.
func TestLedgerBefore(t *testing.T) {
	l := mustOpen(t, filepath.Join(t.TempDir(), "ledger"))
	begin := func(id, key string) *Call {
		c, _, err := l.Begin(0, Work{ID: id, Digest: id, Key: key, Tool: "bash"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := func(c *Call, id string, phase toolapi.CallPhase) {
		t.Helper()
		if got, state, err := l.Before(c); got != id || state.Phase != phase || err != nil {
			t.Errorf("before %s: %s %s %v, want %s %s", c.ID, got, state.Phase, err, id, phase)
		}
	}
	a, b, other, c := begin("a", "k"), begin("b", "k"), begin("other", "l"), begin("c", "k")
	want(a, "", toolapi.CallAbsent)
	want(b, "a", toolapi.CallRunning)
	want(other, "", toolapi.CallAbsent)
	for _, end := range []struct {
		c  *Call
		ok bool
	}{{a, false}, {c, true}} {
		if err := l.Finish(end.c, toolapi.Result{OK: end.ok}); err != nil {
			t.Fatal(err)
		}
	}
	want(b, "", toolapi.CallAbsent) // A later call does not count, or two calls would wait for each other.
	want(c, "b", toolapi.CallRunning)
	want(begin("d", "k"), "c", toolapi.CallFinished)
}

// Of several calls under one key, the first one decides: its id and its result are returned.
func TestLedgerBeforeIsTheFirst(t *testing.T) {
	const calls = 12 // The calls are kept in a map: with one order or another of it, a test of few could pass by chance.
	for name, tt := range map[string]struct {
		id    string
		phase toolapi.CallPhase
		end   func(*Ledger, *Call) error
	}{
		"run":      {"last", toolapi.CallRunning, func(*Ledger, *Call) error { return nil }},
		"are lost": {"last", toolapi.CallUnknown, func(l *Ledger, c *Call) error { l.Leave(c); return nil }},
		"succeed":  {"last", toolapi.CallFinished, func(l *Ledger, c *Call) error { return l.Finish(c, toolapi.Result{OK: true}) }},
		"have programs that run, of a call made again": {"a-r1", toolapi.CallUnknown, func(l *Ledger, c *Call) error {
			return errors.Join(l.LeaveProgram(c.ID, time.Now()), l.Finish(c, toolapi.Result{OK: true}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustOpen(t, filepath.Join(t.TempDir(), "ledger"))
			begin := func(id string) *Call {
				c, _, err := l.Begin(0, Work{ID: id, Digest: id, Key: "k", Tool: "bash"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			for i := range calls {
				if err := tt.end(l, begin(string(rune('a'+i)))); err != nil {
					t.Fatal(err)
				}
			}
			if id, state, err := l.Before(begin(tt.id)); id != "a" || state.Phase != tt.phase || err != nil {
				t.Errorf("%s %s %v", id, state.Phase, err)
			}
		})
	}
}

// A call is repeated under the id of the first one and the number of the former attempts whose end was not seen. No other id counts as one.
func TestMadeAgain(t *testing.T) {
	for id, want := range map[string]bool{
		"a1-s1-c0-r1": true, "a1-s1-c0-r9": true, "a1-s1-c0-r10": true,
		"a1-s1-c0": false, "a1-s1-c0-r": false, "a1-s1-c0-r0": false, "a1-s1-c0-r01": false, "a1-s1-c0-r1x": false, "a0-r1-c0": false,
		"a1-s1-cr1": false, "a1-s1-c0-x1": false,
	} {
		if got := madeAgain.MatchString(id); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}
