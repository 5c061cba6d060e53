// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

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

// The ledger knows every call that this sandbox was ever asked for, and the highest epoch.
//
//	(Absent) ──begin──► Running ──finish──► Finished
//	                       │                          │
//	                       │                          └── what it left in the background: see programs.go
//	                       └── the process ends before finish, or ends the call ──► Unknown
//
// begin and finish return after their record is on disk. So a call whose start is not recorded had no effect, a result
// that was given out is given out again after a restart, and a call without an end is never run a second time.
//
// Results are kept in the file only: a sandbox that has just died for want of memory must come up with all of them.
type ledger struct {
	mu    sync.Mutex
	log   *ledgerLog
	calls map[string]*call
	epoch int64
	// fence is closed, and replaced, when the epoch rises.
	fence   chan struct{}
	running int
	// begun says that a call was started by this process.
	begun    bool
	maxCalls int
	maxBytes int64
}

// call is one entry of the ledger. All but done and cancel is guarded by the ledger's mutex.
type call struct {
	work
	// order is the number of calls before it.
	order int
	phase toolapi.CallPhase
	// ok says of a finished call that it succeeded.
	ok bool
	// result is what is not on disk yet, nil otherwise.
	result *toolapi.Result
	// at is where the record of the result is.
	at span
	// program is what it left in the background, nil for nothing.
	program *toolapi.Program
	// done is closed when the call has a result.
	done chan struct{}
	// cancel ends a running call.
	cancel context.CancelCauseFunc
}

// work is what a call does.
type work struct {
	id     string
	digest string
	// key names its effect, "" if that has no name, and then tool is its tool.
	key, tool string
}

// Errors of the ledger.
var (
	errStale    = errors.New("a newer claim on the run exists")
	errMismatch = errors.New("the call's id was used before for another tool or other arguments")
	errFull     = errors.New("the ledger is full: this sandbox takes no more calls")
)

// finishReserve is room for the record of one result: the longest output, escaped as JSON, and the rest of the record.
// Text without control characters grows to twice its size at most.
const finishReserve = 2*toolapi.MaxOutputBytes + 8<<10

// openLedger reads the ledger at path, or starts one.
func openLedger(path string, maxCalls int, maxBytes int64) (*ledger, error) {
	l := &ledger{
		calls:    make(map[string]*call),
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
			close(c.done)
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
		Output: "The tool server ended while this call ran, because it was stopped or the sandbox had no memory left. Nobody saw how " +
			"the call went: it may have done all of its work, a part, or nothing. It was not run again, and what it had started is " +
			"gone. Look at the workspace before you decide what to do.",
		Provenance: toolapi.ProvenanceInternal,
	}
}

// replay takes in one record of the file.
func (l *ledger) replay(r record, at span) error {
	c := l.calls[r.ID]
	switch {
	case r.Kind == recordEpoch && r.Epoch > l.epoch:
		l.epoch = r.Epoch
	case r.Kind == recordStarted && c == nil:
		l.calls[r.ID] = l.newCall(work{id: r.ID, digest: r.Digest, key: r.Key, tool: r.Tool})
	case r.Kind == recordFinished && c != nil && c.phase == toolapi.CallRunning && r.Result != nil:
		c.phase, c.ok, c.at = toolapi.CallFinished, r.Result.OK, at
		close(c.done)
	case c != nil && c.replayProgram(r):
	default:
		return errors.New("the record does not follow from those before it")
	}
	return nil
}

func (l *ledger) newCall(w work) *call {
	return &call{work: w, order: len(l.calls), phase: toolapi.CallRunning, done: make(chan struct{})}
}

// enter lets a request of the given epoch in. A new epoch is on disk before the request is served, so that no restart
// lets the former one back in. The channel is closed when the epoch is no longer the highest.
func (l *ledger) enter(epoch int64) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return nil, errStale
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

// begin finds the call or records its start; fresh says that the caller must run it and then finish it. The epoch is
// compared again here: since enter, a newer claim may have looked the call up and found it absent.
func (l *ledger) begin(epoch int64, w work, cancel context.CancelCauseFunc) (c *call, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return nil, false, errStale
	}
	if c := l.calls[w.id]; c != nil {
		if c.digest != w.digest {
			return nil, false, errMismatch
		}
		return c, false, nil
	}
	if len(l.calls) >= l.maxCalls || l.log.size+int64(l.running+1)*finishReserve > l.maxBytes {
		return nil, false, errFull
	}
	started := record{Kind: recordStarted, ID: w.id, Digest: w.digest, Key: w.key, Epoch: epoch, Time: time.Now()}
	if w.key != "" {
		started.Tool = w.tool
	}
	if _, err := l.log.append(started); err != nil {
		return nil, false, err
	}
	c = l.newCall(w)
	c.cancel = cancel
	l.calls[w.id] = c
	l.running++
	l.begun = true
	return c, true, nil
}

// finish stores the result of a call that begin returned as fresh. If it cannot be put on disk now, state tries again.
func (l *ledger) finish(c *call, result toolapi.Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.phase, c.ok, c.result = toolapi.CallFinished, result.OK, &result
	l.running--
	close(c.done)
	return l.save(c)
}

// leave ends a call that begin returned as fresh without a record, as the end of the process would.
func (l *ledger) leave(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.phase = toolapi.CallUnknown
	l.running--
	close(c.done)
}

// save puts a result on disk.
func (l *ledger) save(c *call) error {
	if c.result == nil {
		return nil
	}
	at, err := l.log.append(record{Kind: recordFinished, ID: c.id, Time: time.Now(), Result: c.result})
	if err == nil {
		c.at, c.result = at, nil
	}
	return err
}

// cancelAll ends every call that runs.
func (l *ledger) cancelAll(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.phase == toolapi.CallRunning && c.cancel != nil {
			c.cancel(cause)
		}
	}
}

// find gives a call, or nil.
func (l *ledger) find(id string) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// state says how far a call got; c may be nil. A result that is not on disk is an error and not given out: after a
// restart, the same question would have another answer.
func (l *ledger) state(epoch int64, id string, c *call) (toolapi.CallState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return toolapi.CallState{}, errStale
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

// resultOf gives the result of a finished call as it is on disk.
func (l *ledger) resultOf(c *call) (*toolapi.Result, error) {
	if err := l.save(c); err != nil {
		return nil, err
	}
	return l.log.result(c.at)
}

// wrap puts something before the file. It is for tests of what becomes of a server whose disk fails.
func (l *ledger) wrap(with func(ledgerFile) ledgerFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.file = with(l.log.file)
}

// used says whether any call was ever started in this sandbox.
func (l *ledger) used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// busy says whether this process has started a call.
func (l *ledger) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// highest is the highest epoch seen, 0 if none.
func (l *ledger) highest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// damaged is closed when nobody can say any more what the file holds. Another start finds out.
func (l *ledger) damaged() <-chan struct{} { return l.log.damaged }

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.close()
}

// digestOf identifies what a call does. Arguments are compared as JSON values: a client that has read its record
// back from storage may give them with other spaces or another order of keys.
func digestOf(tool string, args []byte) (string, error) {
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
