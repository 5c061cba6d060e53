// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"slices"
	"sync"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Consecutive calls of an answer that read the workspace run concurrently. Only the requests to the sandbox do: decisions about a call, and its
// result, come in the order of the answer, as if the call had run then. A loop that resumes after a restart finds the results of those calls in the
// sandbox.

// early is the outcome of a call that was made ahead.
type early struct {
	result toolapi.Result
	err    error
}

// readAhead starts the leading open calls of a turn that only read. Calls after one that does more may depend on it.
// The returned function waits until all of them have ended.
func (r *run) readAhead(ctx context.Context, t *turn.Turn) (wait func()) {
	reads := r.readsAhead(t)
	if len(reads) < 2 || r.gate.wait(ctx) != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	r.ahead = map[string]chan early{}
	for _, c := range reads {
		request, ended := r.request(t, c, c.ID), make(chan early, 1)
		r.ahead[c.ID] = ended
		running.Go(func() { callEarly(ctx, r.tools, request, ended) })
	}
	return func() {
		cancel()
		running.Wait()
		r.ahead = nil
	}
}

// errNoEnd reports that a call neither returned nor panicked.
var errNoEnd = errors.New("the goroutine of the call ended before the call")

// callEarly makes a call and sends its outcome, also if the call panics. No other code could recover that panic here, and it would end the
// whole process with the runs of others. As the error of the call it ends the loop where a panic of a call that is made alone does.
func callEarly(ctx context.Context, tools Tools, c toolapi.Call, ended chan<- early) {
	e := early{err: errNoEnd}
	defer func() {
		if v := recover(); v != nil {
			e.err = NewPanic(v)
		}
		ended <- e
	}()
	e.result, e.err = tools.Call(ctx, c)
}

// readsAhead returns the calls that can be made ahead: no decision about them is pending.
func (r *run) readsAhead(t *turn.Turn) []*turn.Call {
	if t.Checks || r.cfg.SettleEach {
		return nil
	}
	var reads []*turn.Call
	for i := range t.Calls {
		c := &t.Calls[i]
		if t.Results[i] != nil {
			continue
		}
		if !toolapi.OnlyReads(c.Tool) {
			break
		}
		_, asked := t.Ask(turn.AskApproval, c.ID)
		known := slices.ContainsFunc(t.Unknown, func(u turn.Unknown) bool { return u.CallID == c.ID })
		if asked || known || r.refuse(i) != nil || r.policy != nil && (r.policy.Refuse(*c) != nil || r.policy.NeedsApproval(*c)) {
			continue
		}
		reads = append(reads, c)
	}
	return reads
}
