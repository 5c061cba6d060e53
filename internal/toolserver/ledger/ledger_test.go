// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func mustOpen(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(path, 4096, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustBegin(t *testing.T, l *Ledger, epoch int64, id string) *Call {
	t.Helper()
	c, fresh, err := l.Begin(epoch, Work{ID: id, Digest: "digest of " + id}, nil)
	if err != nil || !fresh {
		t.Fatalf("begin %s: fresh %v, %v", id, fresh, err)
	}
	return c
}

func stateOf(t *testing.T, l *Ledger, id string) toolapi.CallState {
	t.Helper()
	state, err := l.State(l.Highest(), id, l.Find(id))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// The power may fail while any byte is written. With every resulting file, the ledger opens, knows everything that it acknowledged before,
// and takes new calls.
func TestLedgerSurvivesATornRecordAtEveryByte(t *testing.T) {
	result := toolapi.Result{OK: true, Output: "line 1\n\"é\" \u2028", Provenance: toolapi.ProvenanceInternal, DurationMs: 7}
	path := filepath.Join(t.TempDir(), "ledger")
	l := mustOpen(t, path)
	if _, err := l.Enter(3); err != nil {
		t.Fatal(err)
	}
	a := mustBegin(t, l, 3, "a")
	if err := l.Finish(a, result); err != nil {
		t.Fatal(err)
	}
	beforeStart := l.log.size
	b := mustBegin(t, l, 3, "b")
	beforeFinish := l.log.size
	if err := l.Finish(b, result); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole = whole[:l.log.size]
	for size := beforeStart; size <= int64(len(whole)); size++ {
		torn := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(torn, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, torn)
		if l.Highest() != 3 {
			t.Fatalf("cut at %d: epoch %d", size, l.Highest())
		}
		if diff := cmp.Diff(&result, stateOf(t, l, "a").Result); diff != "" {
			t.Fatalf("cut at %d: result of a:\n%s", size, diff)
		}
		want := toolapi.CallAbsent
		switch {
		case size == int64(len(whole)):
			want = toolapi.CallFinished
		case size >= beforeFinish:
			want = toolapi.CallUnknown
		}
		state := stateOf(t, l, "b")
		if state.Phase != want {
			t.Fatalf("cut at %d: b is %s, want %s", size, state.Phase, want)
		}
		if want == toolapi.CallUnknown && state.Result.ErrorCode != toolapi.CodeOutcomeUnknown {
			t.Fatalf("cut at %d: result of b: %+v", size, state.Result)
		}
		if size%8 != 0 && size != int64(len(whole)) {
			continue // The rest syncs to the disk, which takes its time.
		}
		// The next record must not run into the remainder of the torn one.
		if err := l.Finish(mustBegin(t, l, 3, "c"), result); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if again := stateOf(t, mustOpen(t, torn), "c"); again.Phase != toolapi.CallFinished {
			t.Fatalf("cut at %d: c is %s after another start", size, again.Phase)
		}
	}
}

func TestLedgerRefusesDamage(t *testing.T) {
	good := `{"kind":"started","id":"a","digest":"d","time":"2026-01-01T00:00:00Z"}` + "\n"
	finished := `{"kind":"finished","id":"a","time":"2026-01-01T00:00:00Z","result":{"ok":true,"output":"","provenance":"Internal","durationMs":0}}` + "\n"
	for name, content := range map[string]string{
		"damaged line in the middle":   good + "{]\n" + finished,
		"the same start twice":         good + good + finished,
		"an end without a start":       finished + good,
		"two ends":                     good + finished + finished + good,
		"a kind that nobody knows":     `{"kind":"other"}` + "\n" + good,
		"an epoch that does not rise":  `{"kind":"epoch","epoch":2}` + "\n" + `{"kind":"epoch","epoch":2}` + "\n",
		"an end without its result":    good + `{"kind":"finished","id":"a"}` + "\n",
		"zeros before a good last one": "\x00\x00\x00\n" + good,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if l, err := Open(path, 10, 1<<20); err == nil {
				_ = l.Close()
				t.Error("the ledger was opened")
			}
		})
	}
}

func TestLedgerIsHeldByOneServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	l := mustOpen(t, path)
	if second, err := Open(path, 10, 1<<20); err == nil {
		_ = second.Close()
		t.Error("a second server has the ledger")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
}

func TestLedgerIsBounded(t *testing.T) {
	t.Run("calls", func(t *testing.T) {
		l, err := Open(filepath.Join(t.TempDir(), "ledger"), 2, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		mustBegin(t, l, 0, "a")
		mustBegin(t, l, 0, "b")
		if _, _, err := l.Begin(0, Work{ID: "c", Digest: "d"}, nil); !errors.Is(err, ErrFull) {
			t.Errorf("third call: %v", err)
		}
		if _, fresh, err := l.Begin(0, Work{ID: "a", Digest: "digest of a"}, nil); fresh || err != nil {
			t.Errorf("a known call of a full ledger: fresh %v, %v", fresh, err)
		}
		if _, err := l.Enter(9); err != nil {
			t.Errorf("a new epoch of a full ledger: %v", err)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		const most = 3 * finishReserve
		l, err := Open(filepath.Join(t.TempDir(), "ledger"), 1000, most)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		worst := toolapi.Result{Output: strings.Repeat("\n", toolapi.MaxOutputBytes)}
		n := 0
		for ; ; n++ {
			c, _, err := l.Begin(0, Work{ID: string(rune('a' + n)), Digest: "d"}, nil)
			if errors.Is(err, ErrFull) {
				break
			}
			if err == nil {
				err = l.Finish(c, worst)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 || l.log.size > most {
			t.Errorf("%d calls in %d bytes", n, l.log.size)
		}
	})
}

func TestDigest(t *testing.T) {
	digest := func(tool, args string) string {
		d, err := DigestOf(tool, []byte(args))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := digest("bash", `{"command":"ls <x>","timeoutSeconds":5}`)
	if digest("bash", "{ \"timeoutSeconds\" : 5,\n\"command\":\"ls \\u003cx\\u003e\" }") != same {
		t.Error("other spelling of the same arguments, another digest")
	}
	for _, other := range []string{digest("code", `{"command":"ls <x>","timeoutSeconds":5}`), digest("bash", `{"command":"ls <x>"}`),
		digest("bash", `{"command":"ls <x>","timeoutSeconds":5.0}`), digest("bash", `["ls <x>",5]`)} {
		if other == same {
			t.Error("another call, the same digest")
		}
	}
	if digest("t", `9007199254740993`) == digest("t", `9007199254740992`) {
		t.Error("large numbers are confused")
	}
}

func FuzzReadLedger(f *testing.F) {
	f.Add([]byte(`{"kind":"epoch","epoch":1}` + "\n" + `{"kind":"started","id":"a","digest":"d"}` + "\n"))
	f.Add([]byte("{\n{}\n"))
	f.Add([]byte{0, '\n', 0})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, 100, 1<<20)
		if err != nil {
			return
		}
		size, calls := l.log.size, len(l.calls)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(path)
		if err != nil || int64(len(kept)) != size || !bytes.HasPrefix(content, kept) {
			t.Fatalf("%d bytes are kept, the ledger says %d: %v", len(kept), size, err)
		}
		if again := mustOpen(t, path); len(again.calls) != calls {
			t.Fatalf("%d calls, then %d", calls, len(again.calls))
		}
	})
}

// A request of an older claim may have been let in before the newer one came. It must neither start a call that its successor
// found absent, nor learn anything.
func TestLedgerOfAClaimThatWasOvertaken(t *testing.T) {
	l := mustOpen(t, filepath.Join(t.TempDir(), "ledger"))
	if _, err := l.Enter(1); err != nil {
		t.Fatal(err)
	}
	mustBegin(t, l, 1, "before")
	if _, err := l.Enter(2); err != nil {
		t.Fatal(err)
	}
	if c, fresh, err := l.Begin(1, Work{ID: "late", Digest: "digest"}, nil); !errors.Is(err, ErrStale) || c != nil || fresh || l.Find("late") != nil {
		t.Errorf("a call of the older claim: fresh %t, %v, and the ledger has %+v", fresh, err, l.Find("late"))
	}
	for _, id := range []string{"before", "late"} {
		if state, err := l.State(1, id, l.Find(id)); !errors.Is(err, ErrStale) || state != (toolapi.CallState{}) {
			t.Errorf("the older claim is told of %s: %+v, %v", id, state, err)
		}
	}
	mustBegin(t, l, 2, "late")
}

// A call that the end of the process cuts off ends for its caller, its outcome is unknown, and no space is reserved for its result.
func TestLedgerLeave(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "ledger"), 10, finishReserve+1<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := mustBegin(t, l, 0, "a")
	if _, _, err := l.Begin(0, Work{ID: "b", Digest: "digest of b"}, nil); !errors.Is(err, ErrFull) {
		t.Fatalf("beside a call that runs: %v", err)
	}
	l.Leave(c)
	select {
	case <-c.Done:
	default:
		t.Error("who waits for the call waits on")
	}
	if state := stateOf(t, l, "a"); state.Phase != toolapi.CallUnknown || state.Result == nil || state.Result.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("%+v", state)
	}
	mustBegin(t, l, 0, "b")
}

// Results do not add up in memory, or a small sandbox would die of its own ledger, again at every start.
func TestLedgerKeepsResultsOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	l := mustOpen(t, path)
	for _, id := range []string{"a", "b"} {
		if err := l.Finish(mustBegin(t, l, 0, id), toolapi.Result{OK: true, Output: strings.Repeat(id, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(l *Ledger) {
		t.Helper()
		for _, id := range []string{"a", "b"} {
			if l.Find(id).result != nil {
				t.Errorf("the result of %s is in memory", id)
			}
			if state := stateOf(t, l, id); state.Result.Output != strings.Repeat(id, 100) {
				t.Errorf("%s: %+v", id, state.Result)
			}
		}
	}
	check(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(mustOpen(t, path))
}
