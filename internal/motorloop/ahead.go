// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"slices"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Calls that read the workspace and stand one after the other in an answer are made side by side. Only the requests to the sandbox are: what
// is decided about a call, and its result, come in the order of the answer, as if it had been made then. A loop that goes on after a
// restart finds in the sandbox the results of those that were made.

// early is what came of a call that was made ahead.
type early struct {
	result toolapi.Result
	err    error
}

// onlyCallsThatRead reports whether all calls only read the workspace.
func onlyCallsThatRead(calls []Call) bool {
	return !slices.ContainsFunc(calls, func(c Call) bool { return !toolapi.OnlyReads(c.Tool) })
}

// readAhead begins the calls that read with which the open calls of a turn begin. What comes after a call that does more may depend on it. The
// function that it returns waits until all of them have ended.
func (r *run) readAhead(ctx context.Context, t *Turn) (wait func()) {
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

// errNoEnd says that a call neither returned nor panicked.
var errNoEnd = errors.New("the goroutine of the call ended before the call")

// callEarly makes a call and tells what came of it, also if it panics: nobody else could recover that here, and it would end the whole
// process with the runs of others. As the error of the call it ends the loop where a panic of a call that is made alone does.
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

// readsAhead are the calls that can be made ahead: nothing is to be decided about them any more.
func (r *run) readsAhead(t *Turn) []*Call {
	if t.Checks || r.cfg.SettleEach {
		return nil
	}
	var reads []*Call
	for i := range t.Calls {
		c := &t.Calls[i]
		if t.Results[i] != nil {
			continue
		}
		if !toolapi.OnlyReads(c.Tool) {
			break
		}
		_, asked := t.ask(AskApproval, c.ID)
		known := slices.ContainsFunc(t.Unknown, func(u Unknown) bool { return u.CallID == c.ID })
		if asked || known || r.refuse(i) != nil || r.policy != nil && (r.policy.Refuse(*c) != nil || r.policy.NeedsApproval(*c)) {
			continue
		}
		reads = append(reads, c)
	}
	return reads
}
