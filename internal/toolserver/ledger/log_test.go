// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// faultyFile fails on demand, as a full or broken disk does.
type faultyFile struct {
	File
	write, sync, truncate error
	// most is the most bytes that a write may have, if it is positive.
	most int
}

func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	failed := f.write
	if f.most > 0 && len(p) > f.most {
		failed = syscall.ENOSPC
	}
	if failed != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], at) // A full disk writes a part.
		return n, failed
	}
	return f.File.WriteAt(p, at)
}

func (f *faultyFile) SyncData() error {
	if f.sync != nil {
		return f.sync
	}
	return f.File.SyncData()
}

func (f *faultyFile) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.File.Truncate(size)
}

func faultyLedger(t *testing.T) (*Ledger, *faultyFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	l := mustOpen(t, path)
	f := &faultyFile{File: l.log.file}
	l.log.file = f
	return l, f, path
}

func TestLedgerOnAFullDisk(t *testing.T) {
	l, f, path := faultyLedger(t)
	result := toolapi.Result{OK: true, Output: "done"}
	a := mustBegin(t, l, 0, "a")

	f.write = syscall.ENOSPC
	if _, fresh, err := l.Begin(0, Work{ID: "b", Digest: "digest of b"}, nil); fresh || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("begin: fresh %v, %v", fresh, err)
	}
	if _, err := l.Enter(5); !errors.Is(err, syscall.ENOSPC) || l.Highest() != 0 {
		t.Errorf("enter: %v, epoch %d", err, l.Highest())
	}
	if err := l.Finish(a, result); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("finish: %v", err)
	}
	if state, err := l.State(0, "a", a); err == nil {
		t.Errorf("a result that is not on disk was given out: %+v", state)
	}

	f.write = nil
	if state := stateOf(t, l, "a"); state.Phase != toolapi.CallFinished || state.Result.Output != "done" {
		t.Errorf("with room again: %+v", state)
	}
	mustBegin(t, l, 0, "b")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(t, mustOpen(t, path), "a"); state.Phase != toolapi.CallFinished {
		t.Errorf("after another start: %+v", state)
	}
}

// A disk that is nearly full has no room for the zeros behind a record, and takes the record.
func TestLedgerOnADiskThatIsNearlyFull(t *testing.T) {
	l, f, path := faultyLedger(t)
	f.most = ahead
	a := mustBegin(t, l, 0, "a")
	if err := l.Finish(a, toolapi.Result{OK: true, Output: "done"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(t, mustOpen(t, path), "a"); state.Phase != toolapi.CallFinished || state.Result.Output != "done" {
		t.Errorf("after another start: %+v", state)
	}
}

// The power may fail while a record is written over zeros: any part of it may be there, its end without its beginning, too. One that is not the last is
// damage.
func TestLedgerSurvivesAnyPartOfARecordOverZeros(t *testing.T) {
	const first, torn = `{"kind":"epoch","epoch":3}` + "\n", `{"kind":"started","id":"a","digest":"d"}` + "\n"
	zeros := strings.Repeat("\x00", ahead)
	open := func(content string) error {
		path := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, 4096, 64<<20)
		if err != nil {
			return err
		}
		if n := len(l.calls); l.Highest() != 3 || n != 0 {
			t.Errorf("epoch %d, %d calls of %.80q", l.Highest(), n, content)
		}
		mustBegin(t, l, 3, "b")
		return l.Close()
	}
	for at := 1; at < len(torn); at++ {
		for _, part := range []string{torn[:at] + zeros, zeros[:at] + torn[at:] + zeros, torn[:at/2] + zeros[:at-at/2] + torn[at:] + zeros} {
			if err := open(first + part); err != nil {
				t.Errorf("%.80q: %v", part, err)
			}
		}
	}
	if err := open(first + zeros[:8] + torn[8:] + torn + zeros); err == nil {
		t.Error("a damaged record before another one is no damage")
	}
}

// Most records are on disk without growth of the file, which takes longer.
func TestRecordsAreWrittenOverZeros(t *testing.T) {
	l, f, _ := faultyLedger(t)
	mustBegin(t, l, 0, "a")
	f.File = noGrowth{f.File}
	for i := range 100 {
		c := mustBegin(t, l, 0, fmt.Sprintf("b%d", i))
		if err := l.Finish(c, toolapi.Result{OK: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// noGrowth is a file that cannot grow.
type noGrowth struct{ File }

func (noGrowth) Sync() error { return syscall.EIO }

func TestLedgerOnABrokenDisk(t *testing.T) {
	for name, fault := range map[string]faultyFile{
		"sync":     {sync: syscall.EIO},
		"truncate": {write: syscall.EIO, truncate: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			l, f, _ := faultyLedger(t)
			f.write, f.sync, f.truncate = fault.write, fault.sync, fault.truncate
			for range 2 {
				if _, fresh, err := l.Begin(0, Work{ID: "a", Digest: "digest of a"}, nil); fresh || err == nil {
					t.Fatalf("begin: fresh %v, %v", fresh, err)
				}
				// The disk works again, but its content is unknown.
				f.write, f.sync, f.truncate = nil, nil, nil
			}
		})
	}
}
