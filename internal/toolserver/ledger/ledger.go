// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package ledger records the calls of a sandbox before and after they are made.
package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Ledger knows every call that this sandbox was ever asked for, and the highest epoch.
//
//	(Absent) ──begin──► Running ──finish──► Finished
//	                       │                          │
//	                       │                          └── what it left in the background: see programs.go
//	                       └── the process ends before finish, or ends the call ──► Unknown
//
// Begin and finish return after their record is on disk. So a call whose start is not recorded had no effect. A result that was returned
// once is returned again after a restart, and a call without an end is never run a second time.
//
// Results are kept in the file only: a sandbox that has just died for want of memory must come up with all of them.
type Ledger struct {
	mu    sync.Mutex
	log   *log
	calls map[string]*Call
	epoch int64
	// fence is closed, and replaced, when the epoch rises.
	fence   chan struct{}
	running int
	// begun is true if this process started the call.
	begun    bool
	maxCalls int
	maxBytes int64
}

// Call is one entry of the ledger. All but done and cancel is guarded by the ledger's mutex.
type Call struct {
	Work
	// order is the number of calls before it.
	order int
	phase toolapi.CallPhase
	// ok is true if a finished call succeeded.
	ok bool
	// result is the result that is not on disk yet, nil otherwise.
	result *toolapi.Result
	// at is where the record of the result is.
	at span
	// program is the program that it left in the background, nil for none.
	program *toolapi.Program
	// Done is closed when the call has a result.
	Done chan struct{}
	// Cancel ends a running call.
	Cancel context.CancelCauseFunc
}

// Work is the work of a call.
type Work struct {
	// ID is the call's.
	ID string
	// Digest is of the tool and the arguments; see DigestOf.
	Digest string
	// Key names its effect, "" if that has no name, and then Tool is its tool.
	Key, Tool string
}

// Errors of the ledger.
var (
	// ErrStale refuses a client whose claim on the run is not the newest one.
	ErrStale = errors.New("a newer claim on the run exists")
	// ErrMismatch refuses a call that has the id of another one.
	ErrMismatch = errors.New("the call's id was used before for another tool or other arguments")
	// ErrFull refuses a call of a sandbox that had as many as it may have.
	ErrFull = errors.New("the ledger is full: this sandbox takes no more calls")
)

// finishReserve is reserved for the record of one result: the longest output, escaped as JSON, and the remainder of the record. Text
// without control characters grows to twice its size at most.
const finishReserve = 2*toolapi.MaxOutputBytes + 8<<10

// Open reads the ledger at path, or starts one.
func Open(path string, maxCalls int, maxBytes int64) (*Ledger, error) {
	l := &Ledger{
		calls:    make(map[string]*Call),
		fence:    make(chan struct{}),
		maxCalls: maxCalls,
		maxBytes: maxBytes,
	}
	log, err := openLedgerLog(path, l.replay)
	if err != nil {
		return nil, err
	}
	l.log = log
	for _, c := range l.calls {
		if c.phase == toolapi.CallRunning {
			c.phase = toolapi.CallUnknown
			close(c.Done)
		}
		if c.program != nil && c.program.State == toolapi.ProgramRunning {
			c.program.State = toolapi.ProgramLost
		}
	}
	return l, nil
}

func outcomeUnknown() *toolapi.Result {
	return &toolapi.Result{
		ErrorCode: toolapi.CodeOutcomeUnknown,
		Output: "The tool server ended while this call ran, because it was stopped or the sandbox had no memory left. It is unknown how " +
			"the call went: it may have done all of its work, a part, or nothing. It was not run again, and what it had started is " +
			"gone. Look at the workspace before you decide what to do.",
		Provenance: toolapi.ProvenanceInternal,
	}
}

// replay takes in one record of the file.
func (l *Ledger) replay(r record, at span) error {
	c := l.calls[r.ID]
	switch {
	case r.Kind == recordEpoch && r.Epoch > l.epoch:
		l.epoch = r.Epoch
	case r.Kind == recordStarted && c == nil:
		l.calls[r.ID] = l.newCall(Work{ID: r.ID, Digest: r.Digest, Key: r.Key, Tool: r.Tool})
	case r.Kind == recordFinished && c != nil && c.phase == toolapi.CallRunning && r.Result != nil:
		c.phase, c.ok, c.at = toolapi.CallFinished, r.Result.OK, at
		close(c.Done)
	case c != nil && c.replayProgram(r):
	default:
		return errors.New("the record does not follow from those before it")
	}
	return nil
}

func (l *Ledger) newCall(w Work) *Call {
	return &Call{Work: w, order: len(l.calls), phase: toolapi.CallRunning, Done: make(chan struct{})}
}

// Enter lets a request of the given epoch in. A new epoch is on disk before the request is served, so that no restart
// lets the former one back in. The channel is closed when the epoch is no longer the highest.
func (l *Ledger) Enter(epoch int64) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return nil, ErrStale
	}
	if epoch > l.epoch {
		if _, err := l.log.append(record{Kind: recordEpoch, Epoch: epoch, Time: time.Now()}); err != nil {
			return nil, err
		}
		l.epoch = epoch
		close(l.fence)
		l.fence = make(chan struct{})
	}
	return l.fence, nil
}

// Begin finds the call or records its start; if fresh is true, the caller must run it and then finish it. The epoch is compared again here:
// since enter, a newer claim may have looked the call up and found it absent.
func (l *Ledger) Begin(epoch int64, w Work, cancel context.CancelCauseFunc) (c *Call, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return nil, false, ErrStale
	}
	if c := l.calls[w.ID]; c != nil {
		if c.Digest != w.Digest {
			return nil, false, ErrMismatch
		}
		return c, false, nil
	}
	if len(l.calls) >= l.maxCalls || l.log.size+int64(l.running+1)*finishReserve > l.maxBytes {
		return nil, false, ErrFull
	}
	started := record{Kind: recordStarted, ID: w.ID, Digest: w.Digest, Key: w.Key, Epoch: epoch, Time: time.Now()}
	if w.Key != "" {
		started.Tool = w.Tool
	}
	if _, err := l.log.append(started); err != nil {
		return nil, false, err
	}
	c = l.newCall(w)
	c.Cancel = cancel
	l.calls[w.ID] = c
	l.running++
	l.begun = true
	return c, true, nil
}

// Finish stores the result of a call that begin returned as fresh. If it cannot be put on disk now, state tries again.
func (l *Ledger) Finish(c *Call, result toolapi.Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.phase, c.ok, c.result = toolapi.CallFinished, result.OK, &result
	l.running--
	close(c.Done)
	return l.save(c)
}

// Leave ends a call that begin returned as fresh without a record, as the end of the process would.
func (l *Ledger) Leave(c *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.phase = toolapi.CallUnknown
	l.running--
	close(c.Done)
}

// save puts a result on disk.
func (l *Ledger) save(c *Call) error {
	if c.result == nil {
		return nil
	}
	at, err := l.log.append(record{Kind: recordFinished, ID: c.ID, Time: time.Now(), Result: c.result})
	if err == nil {
		c.at, c.result = at, nil
	}
	return err
}

// CancelAll ends every call that runs.
func (l *Ledger) CancelAll(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.phase == toolapi.CallRunning && c.Cancel != nil {
			c.Cancel(cause)
		}
	}
}

// Find returns a call, or nil.
func (l *Ledger) Find(id string) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// State returns how far a call got; c may be nil. A result that is not on disk is an error and not returned: after a restart, the same
// question would have another answer.
func (l *Ledger) State(epoch int64, id string, c *Call) (toolapi.CallState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return toolapi.CallState{}, ErrStale
	}
	state := toolapi.CallState{ID: id, Phase: toolapi.CallAbsent}
	if c == nil {
		return state, nil
	}
	state.Phase = c.phase
	switch c.phase {
	case toolapi.CallRunning:
		return state, nil
	case toolapi.CallUnknown:
		state.Result = outcomeUnknown()
		return state, nil
	default:
	}
	var err error
	if state.Result, err = l.resultOf(c); err != nil {
		return toolapi.CallState{}, err
	}
	return state, nil
}

// resultOf returns the result of a finished call as it is on disk.
func (l *Ledger) resultOf(c *Call) (*toolapi.Result, error) {
	if err := l.save(c); err != nil {
		return nil, err
	}
	return l.log.result(c.at)
}

// Wrap puts another File in front of the file. It is for tests of a server whose disk fails.
func (l *Ledger) Wrap(with func(File) File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.file = with(l.log.file)
}

// Used reports whether any call was ever started in this sandbox.
func (l *Ledger) Used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// Busy reports whether this process has started a call.
func (l *Ledger) Busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// Highest is the highest epoch seen, 0 if none.
func (l *Ledger) Highest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// Damaged is closed when it is unknown what the file holds. The next start finds out.
func (l *Ledger) Damaged() <-chan struct{} { return l.log.damaged }

// Close closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.close()
}

// DigestOf identifies the work of a call. Arguments are compared as JSON values: a client that has read its record back from storage may
// send them with other spaces or another order of keys.
func DigestOf(tool string, args []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber() // A float64 would make different large numbers equal.
	var value any
	if err := dec.Decode(&value); err != nil {
		return "", err
	}
	canonical, err := json.Marshal([]any{tool, value})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
