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
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Turn is one turn of the loop: the model's decision and its results.
type Turn struct {
	// Index counts the turns of an attempt from 1, summaries included.
	Index int32
	// Through is set for a summary, which the model wrote without being asked for the next step. Content replaces every turn up to the one with
	// this index in the conversation. A summary has no calls and is not an iteration.
	Through int32
	// Model is the name of the model as the endpoint reported it.
	Model string
	// Content is the model's text beside its tool calls, and the result's summary if the turn closes the attempt.
	Content string
	// Closes is true if the attempt has ended well with this turn. It has no calls: it records the end that a finish call asked for, or is
	// the closing text of a model that ends its runs with text.
	Closes bool
	// Value is the result as JSON if the turn closes the attempt and Acceptance asks for one, "" otherwise.
	Value string
	// Checks is true if the loop made the turn, not the model: its calls are the commands of Acceptance. They decide about the finish call of
	// the turn before.
	Checks bool
	// Calls are in the order of the model's answer.
	Calls []Call
	Usage Usage
	// Failed is the cost of failed tries of the same request.
	Failed Usage
	// ModelDuration is the time from the first try of the request to the answer.
	ModelDuration time.Duration
	// PromptDigest and RequestDigest are "sha256:…" of the system prompt and of the whole request.
	PromptDigest  string
	RequestDigest string
	// Results has one entry per call, nil until the call has a result.
	Results []*toolapi.Result
	// Asks are the questions to a person about its calls. Entries are only added, and get their outcome once.
	Asks []Ask
	// Notes are texts for the model beside the results: see ProgramNote.
	Notes []string
	// Left is the remainder of the run's limits when all calls had results. The model sees it.
	Left Left
	// Unknown has an entry for each execution of a call that was started and whose end was not seen, in the order in which
	// they were found. Entries are only added.
	Unknown []Unknown
}

// Left is the remainder of a run's limits. A value of 0 is not known, or has no limit.
type Left struct {
	Time   time.Duration
	Tokens int64
}

// Unknown is an execution of a call that was started and whose end was not seen.
type Unknown struct {
	// Execution is the id under which the sandbox ran it; see ExecutionID.
	Execution string
	// CallID is the ID of the call.
	CallID  string
	FoundAt time.Time
	Policy  UnknownPolicy
}

// UnknownPolicy is who handles an execution of unknown outcome.
type UnknownPolicy string

const (
	// UnknownRedo: the call only reads, so it is made again.
	UnknownRedo UnknownPolicy = "Redo"
	// UnknownPerson: a person is asked.
	UnknownPerson UnknownPolicy = "Person"
	// UnknownModel: the model learns of it and decides.
	UnknownModel UnknownPolicy = "Model"
)

// Settled reports whether every call of the turn has a result.
func (t *Turn) Settled() bool {
	for _, r := range t.Results {
		if r == nil {
			return false
		}
	}
	return len(t.Results) == len(t.Calls)
}

// Call is one tool call of a turn.
type Call struct {
	// ID is ours: unique in the run and the same after a restart, "a2-s2-c0" (attempt, step, call).
	ID string
	// ModelID is the id of the call in the model's answer; it identifies the call in the conversation.
	ModelID string
	Tool    string
	// Arguments is the model's text, JSON or not.
	Arguments string
}

// Usage is the cost of a model call, in tokens.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	// CachedTokens is the part of PromptTokens that the endpoint served from its cache.
	CachedTokens int64
	// Estimated is true if the endpoint did not report all of them.
	Estimated bool
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens, u.CachedTokens + v.CachedTokens, u.Estimated || v.Estimated,
	}
}

// Total returns the number of tokens.
func (u Usage) Total() int64 { return u.PromptTokens + u.CompletionTokens }

// Journal stores turns. It is the lock of the loop as well as its memory.
type Journal interface {
	// Append records the model's decision, before any of it is done. It fails with ErrStale if the journal
	// already has a turn of that index from another writer.
	Append(ctx context.Context, t *Turn) error
	// Settle records the results and the unknown executions that the turn has so far. Recorded entries do not change, and
	// Settle adds those that t lacks to t. It fails with ErrStale like Append.
	Settle(ctx context.Context, t *Turn) error
}

// ErrStale reports that another loop carries this run on, so this one must stop without any further effect.
var ErrStale = errors.New("the run is carried on by another loop")

// Tools runs tool calls in the sandbox.
type Tools interface {
	// Call runs the call, or returns its stored result if it ran before. A tool that fails is a Result; an error
	// is a *Failure (the sandbox is gone) or ErrStale or the context's.
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
	Refuse(c Call) *toolapi.Result
	// NeedsApproval reports whether a person must approve the call.
	NeedsApproval(c Call) bool
	// Key names the effect of a call that must not happen twice, "" for any other call. See toolapi.Call.
	Key(c Call) string
	// Done returns a result for a call that is not made because of an earlier one, in this attempt or a previous one, nil if it must
	// be made. The entries of the turn that decide about it are recorded by then.
	Done(c Call) *toolapi.Result
	// Risky reports whether the call may have an irreversible effect, so that it is not made again without a person's decision.
	Risky(c Call) bool
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

// Model is a chat model.
type Model interface {
	// Complete asks for the next turn. It retries failures that pass within seconds. The error is an *Outage if the model is not available
	// now, a *TooLong if the request does not fit into its window, another *Failure, or the context's.
	Complete(ctx context.Context, r Request) (Answer, error)
}

// Request is one request to a model.
type Request struct {
	Messages []Message
	Tools    []catalog.ToolDefinition
}

// Message is one message of the conversation.
type Message struct {
	Role    Role
	Content string
	// Calls are the tool calls of an assistant message.
	Calls []Call
	// ToolCallID is the ModelID of the call that a tool message answers.
	ToolCallID string
}

// Role is who speaks in a Message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Outage reports that a model is not available now. It decides nothing about the attempt: the same request may succeed later.
type Outage struct {
	// Reason is one of the ReasonModel constants, Message one or two plain sentences.
	Reason, Message string
	// MustAct is true if the model is not expected back without a change by a person.
	MustAct bool
	// RetryAfter is how long to wait before it is asked again.
	RetryAfter time.Duration
	// Usage is the cost of failed tries, as far as the endpoint reports it.
	Usage Usage
}

func (o *Outage) Error() string { return o.Reason + ": " + o.Message }

// TooLong reports that a request and its answer do not fit into the model's window.
type TooLong struct {
	// Window is the endpoint's limit in tokens, 0 if it does not report one.
	Window int64
	// Failure is the failure of the attempt if the request cannot be made shorter.
	Failure *Failure
	// Usage is the cost of the tries.
	Usage Usage
}

func (e *TooLong) Error() string { return e.Failure.Error() }
func (e *TooLong) Unwrap() error { return e.Failure }

// Answer is a model's answer.
type Answer struct {
	Model   string
	Content string
	// Calls have no ID yet; the loop assigns it.
	Calls []Call
	Usage Usage
	// Failed is the cost of failed tries of the same request, as far as the endpoint reports it.
	Failed Usage
	// Truncated is true if the model stopped because its output limit was reached.
	Truncated bool
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
	OnUnknown UnknownPolicy
}

// Outcome is how Run ended.
type Outcome struct {
	Kind OutcomeKind
	// Summary is the model's closing text if Kind is Completed.
	Summary string
	// Value is the result as JSON, "" if Acceptance asks for none.
	Value string
	// Waiting is the open ask that the loop waits for if Kind is Awaiting. It is recorded.
	Waiting *Ask
	// Failure is set if Kind is Failed.
	Failure *Failure
	// Partial is the model's partial result when its answers were used up, at most 4096 bytes. Hint is a model's guess at
	// the cause of the failure and its cure, one line of at most 1024 bytes. Both may be empty, also because a model could
	// not be asked, and neither can be trusted.
	Partial, Hint string
	// Usage and ModelDuration are the cost of the model calls for Partial and Hint. No turn has them.
	Usage         Usage
	ModelDuration time.Duration
}

// OutcomeKind is one of the ways in which Run ends.
type OutcomeKind string

const (
	Completed OutcomeKind = "Completed"
	Awaiting  OutcomeKind = "Awaiting"
	Failed    OutcomeKind = "Failed"
)

// Failure ends an attempt. It is an error, so that models and tools can return it.
type Failure struct {
	Category Category
	// Reason is CamelCase, one of the Reason constants.
	Reason string
	// Message is one or two plain sentences: the cause, its location, and the remedy.
	Message string
	// Retryable is true if another attempt may succeed without any change.
	Retryable bool
}

func (f *Failure) Error() string { return f.Reason + ": " + f.Message }

// Category is the kind of a Failure.
type Category string

const (
	ToolFailure     Category = "ToolFailure"
	ModelFailure    Category = "ModelFailure"
	InfraFailure    Category = "InfraFailure"
	BudgetExhausted Category = "BudgetExhausted"
	InvalidTask     Category = "InvalidTask"
	// Incomplete: the model, or a check of its work, reports that the task is not done.
	Incomplete Category = "Incomplete"
)

// Reasons of a Failure.
const (
	// ReasonModelUnauthorized: the endpoint refused the API key.
	ReasonModelUnauthorized = "ModelUnauthorized"
	// ReasonModelQuota: the account has no credit or quota left.
	ReasonModelQuota = "ModelQuotaExceeded"
	// ReasonModelCertificate: the certificate of the endpoint is not trusted.
	ReasonModelCertificate = "ModelCertificateInvalid"
	// ReasonModelAddress: the manager refuses to connect to the address of the endpoint.
	ReasonModelAddress = "ModelAddressRefused"
	// ReasonModelWindow: the conversation does not fit into the model's window, however short it is made.
	ReasonModelWindow = "ModelWindowExceeded"
	// ReasonModelNotFound: the endpoint has no such model, or no chat completions at that address.
	ReasonModelNotFound = "ModelNotFound"
	// ReasonModelRateLimited: the endpoint repeatedly answered "too many requests".
	ReasonModelRateLimited = "ModelRateLimited"
	// ReasonModelUnavailable: the endpoint could not be reached or repeatedly answered with server errors.
	ReasonModelUnavailable = "ModelUnavailable"
	// ReasonModelTimeout: the endpoint repeatedly did not answer in time.
	ReasonModelTimeout = "ModelTimeout"
	// ReasonModelMalformed: the answers of the endpoint were repeatedly no chat completions.
	ReasonModelMalformed = "ModelMalformedAnswer"
	// ReasonModelRefused: the endpoint refused the request itself (bad request, content filter).
	ReasonModelRefused = "ModelRefusedRequest"
	// ReasonEmptyAnswers: the model returned neither text nor tool calls, several times in a row.
	ReasonEmptyAnswers = "EmptyAnswers"
	// ReasonNotFinished: the model answered without a tool call, several times in a row, and did not call finish.
	ReasonNotFinished = "NotFinished"
	// ReasonPartial: the model reports that it did a part of the task.
	ReasonPartial = "Partial"
	// ReasonFailed: the model reports that it could not do the task.
	ReasonFailed = "Failed"
	// ReasonAcceptanceFailed: the model called finish again and again and the demands did not hold, or a check was not approved.
	ReasonAcceptanceFailed = "AcceptanceFailed"
	// ReasonRepeatedToolFailure: the calls of several turns in a row could not be carried out.
	ReasonRepeatedToolFailure = "RepeatedToolFailure"
	// ReasonStuck: the attempt made the same call with the same result again and again, or two calls in turn.
	ReasonStuck = "Stuck"
	// ReasonMaxIterations: the attempt used up its turns.
	ReasonMaxIterations = "MaxIterations"
	// ReasonMaxTokens: the attempt used up its tokens.
	ReasonMaxTokens = "MaxTokens"
	// ReasonSandboxLost: the sandbox Pod is gone, its tool server cannot be reached any more, or it dates from another time than the records
	// of the run.
	ReasonSandboxLost = "SandboxLost"
	// ReasonSandboxOutdated: the sandbox was made by another release, and lacks a feature that the run needs.
	ReasonSandboxOutdated = "SandboxOutdated"
	// ReasonIsolationUnverified: the sandbox could reach a forbidden address.
	ReasonIsolationUnverified = "IsolationUnverified"
	// ReasonEgressUnavailable: the sandbox could not reach the egress proxy.
	ReasonEgressUnavailable = "EgressUnavailable"
	// ReasonInputFile: a file of the spec could not be put into the workspace.
	ReasonInputFile = "InputFile"
	// ReasonSkillFiles: the files of the run's skill are not there any more, are not those that the run was accepted with, or
	// could not be put into the workspace.
	ReasonSkillFiles = "SkillFiles"
	// ReasonInternalError: the manager cannot carry the run on, for a reason outside of the task: its loop panics
	// repeatedly, or the journal lacks a step or does not accept one.
	ReasonInternalError = "InternalError"
)
