// SPDX-License-Identifier: Apache-2.0

// Package motorloop is the loop of a run: ask a model what to do, do it, look at the result, until the task
// is done, has failed, or needs a person. It does not depend on Kubernetes: the model, the tools and the journal are
// interfaces. Its whole memory is the Turns in the journal.
package motorloop

import (
	"context"
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Journal stores turns. It is the lock of the loop as well as its memory.
type Journal interface {
	// Append records the model's decision, before any of it is done. It fails with ErrStale if the journal
	// already has a turn of that index from another writer.
	Append(ctx context.Context, t *turn.Turn) error
	// Settle records the results and the unknown executions that the turn has so far. Recorded entries do not change, and
	// Settle adds those that t lacks to t. It fails with ErrStale like Append.
	Settle(ctx context.Context, t *turn.Turn) error
	// SettleLater is Settle, but for the write: it adds to t at once, and the returned function writes. Until that has returned, no other method
	// of the journal may be called, nor a call be made. The write fails also if the journal got other entries meanwhile, which t lacks then. It returns nil,
	// and does nothing, if the turn must be settled at once.
	SettleLater(t *turn.Turn) (write func(context.Context) error)
}

// ErrStale reports that another loop carries this run on, so this one must stop without any further effect.
var ErrStale = errors.New("the run is carried on by another loop")

// ErrGivenBack reports that the loop ended between two turns so that another run gets its slot.
var ErrGivenBack = errors.New("the loop gave its slot back")

// Tools runs tool calls in the sandbox.
type Tools interface {
	// Call runs the call, or returns its stored result if it ran before. A tool that fails is a Result; an error
	// is an *outcome.Failure (the sandbox is gone) or ErrStale or the context's.
	Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error)
}

// DomainPolicy decides about the requests for domains. Both methods depend on the arguments, the decision and the
// run's permissions; neither may take long.
type DomainPolicy interface {
	// Check decides about a request_domain call with these arguments (as the model wrote them). It returns nil if a person must be asked.
	// A non-nil result answers the call without a person.
	Check(arguments string) *toolapi.Result
	// Decided returns the result for a person's decision (the word of the API: AllowOnce, AllowRun, Deny), without the reason. It is not nil.
	Decided(arguments, decision string) *toolapi.Result
}

// CallPolicy judges calls before they are made. Its verdict depends on the call, the run's permissions, and the
// record of the run and its answers. Its methods must return soon.
type CallPolicy interface {
	// Refuse returns the envelope of a call that the run may not make, nil if it may.
	Refuse(c turn.Call) *toolapi.Result
	// NeedsApproval reports whether a person must approve the call.
	NeedsApproval(c turn.Call) bool
	// Key names the effect of a call that must not happen twice, "" for any other call. See toolapi.Call.
	Key(c turn.Call) string
	// Done returns a result for a call that is not made because of an earlier one, in this attempt or a previous one, nil if it must
	// be made. The entries of the turn that decide about it are recorded by then.
	Done(c turn.Call) *toolapi.Result
	// Risky reports whether the call may have an irreversible effect, so that it is not made again without a person's decision.
	Risky(c turn.Call) bool
}

// Searcher carries out searches of the web.
type Searcher interface {
	// Search serves a search_web call. A search that fails is a Result; an error is the context's. It may be called again
	// for the same call.
	Search(ctx context.Context, arguments string) (toolapi.Result, error)
}

// CredentialStore stores the credentials that a task found.
type CredentialStore interface {
	// Save serves a save_credential call. A tool that fails is a Result; an error is like that of Tools.Call. It may be
	// called again for the same call.
	Save(ctx context.Context, arguments string) (toolapi.Result, error)
}

// Observer is told how loops spend their time. Its methods must return at once. Many loops call them at the same time.
type Observer interface {
	// StepRecorded is told, of each record after the first one of a Run, how much time passed since the record before it in which the loop waited for
	// no model, no tool and no sandbox.
	StepRecorded(overhead time.Duration)
	// CallEnded is told of the result of a call. The code is "" for success. A model chooses the tool, and a sandbox the code: both can be any text.
	CallEnded(tool, code string, took time.Duration)
}

// unobserved is the Observer of a loop that has none.
type unobserved struct{}

func (unobserved) StepRecorded(time.Duration)              {}
func (unobserved) CallEnded(string, string, time.Duration) {}
