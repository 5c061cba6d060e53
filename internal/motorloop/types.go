// SPDX-License-Identifier: Apache-2.0

// Package motorloop is the loop of a run: ask a model what to do, do it, look at the result, until the task
// is done, has failed, or needs a person. It does not depend on Kubernetes: the model, the tools and the journal are
// interfaces. Its whole memory is the Turns in the journal.
package motorloop

import (
	"context"
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
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
}

// ErrStale reports that another loop carries this run on, so this one must stop without any further effect.
var ErrStale = errors.New("the run is carried on by another loop")

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

// Keep selects the files of the workspace that reach the person.
type Keep string

const (
	// KeepChanges: the changes in the workspace, beside the artifacts.
	KeepChanges Keep = "Changes"
	// KeepArtifacts: the artifacts.
	KeepArtifacts Keep = "Artifacts"
	// KeepNothing: no file.
	KeepNothing Keep = "Nothing"
)

// Artifacts reports whether files below artifacts/ and those that were saved by name reach the person.
func (k Keep) Artifacts() bool { return k != KeepNothing }

// Changes reports whether the changes in the workspace do.
func (k Keep) Changes() bool { return k == "" || k == KeepChanges }

// Config is the loop's configuration for a run's attempt.
type Config struct {
	// Attempt is the number of the attempt. The first one is 1.
	Attempt int32
	Task    string
	// Tools are the granted tools; finish is always offered, and ask_user but for a Review.
	Tools []string
	// Peer describes the capabilities of the sandbox, nil if they are not known. The result of Loop.Peer replaces it.
	Peer *toolapi.Peer
	// Approvals is true if calls can need a person's approval; Policy decides which.
	Approvals bool
	// RequestDomain is true if request_domain is offered, also if Tools does not name it.
	RequestDomain bool
	// SettleEach records the result of each call before the next one is made. It is set if a permission is for one call only.
	SettleEach bool
	// Search is true if a searcher is configured: search_web is offered if Tools names it.
	Search bool
	// MCPServers are those whose tools are offered beside Tools. The result of Loop.MCP replaces them.
	MCPServers []catalog.MCPServer
	// Domains are the domains that the sandbox may reach, as the model sees them. With one, results of tools may come from the web.
	Domains []string
	// Tainted is true if results of tools may come from the web also without one.
	Tainted bool
	// Credentials are the names of the credentials that the model sees.
	Credentials []string
	// TextEnds is true if a text without a tool call ends the attempt well, for a model that cannot call a tool at the end.
	TextEnds bool
	// MaxIterations is the most turns of the attempt.
	MaxIterations int32
	// MaxTokens is the most tokens of all model calls of the run together, 0 for no limit. UsedTokens is the usage of the model calls that
	// are no turns of this attempt.
	MaxTokens, UsedTokens int64
	// Window is how many tokens a request and its answer may have together, 0 if that is not known.
	Window int64
	// Files are the paths that were put into the workspace before the first turn, without those of Skill.
	Files []string
	// Skill is the skill of the task, nil if there is none.
	Skill *Skill
	// WritesSkills is true if the skills in the workspace at the end are stored, as proposals.
	WritesSkills bool
	// Keep selects the files of the workspace that reach the person: KeepChanges (also if empty), KeepArtifacts or KeepNothing.
	Keep Keep
	// Review is true if the task is to review the files of Skill, which are not trusted. No person can be asked.
	Review bool
	// Deadline is when the run's time is over, zero if it has no end. It moves while the run waits, so it is no part of the system prompt.
	Deadline time.Time
	// TimeLimit is how long the run may take in all, 0 for no limit.
	TimeLimit time.Duration
	// Date is the day on which the attempt began, "2026-03-04", "" if it is not known. It does not change during the attempt.
	Date string
	// RecoveryContext describes the earlier attempts to the model, in the system prompt. It is "" in the first.
	RecoveryContext string
	// Accept are the demands that must hold when the model claims success.
	Accept Acceptance
	// OnUnknown is who handles calls of unknown outcome that do more than read: UnknownPerson (also if empty) or UnknownModel.
	OnUnknown turn.UnknownPolicy
}
