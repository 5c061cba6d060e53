// SPDX-License-Identifier: Apache-2.0

// Package motorloop is the loop of a run: ask a model what to do, do it, look at what came back, until the task
// is done, has failed, or needs a person. It knows no Kubernetes: the model, the tools and the journal are
// interfaces, and everything it must remember is a Turn in the journal.
package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Turn is one turn of the loop: what the model decided and what came of it.
type Turn struct {
	// Index counts the turns of an attempt from 1, summaries included.
	Index int32
	// Through is set for a summary, which the model wrote without being asked for the next step: Content stands in the
	// conversation for every turn up to the one with this index. A summary has no calls and is not an iteration.
	Through int32
	// Model is the name of the model as the endpoint reported it.
	Model string
	// Content is what the model said beside its tool calls, and the result's summary if the turn closes the attempt.
	Content string
	// Closes says that the attempt has ended well with this turn. It has no calls: it records the end that a finish call asked for, or is
	// the closing text of a model that ends its runs with text.
	Closes bool
	// Value is the result as JSON if the turn closes the attempt and Acceptance asks for one, "" otherwise.
	Value string
	// Checks says that the turn is none of the model's: its calls are the commands of Acceptance, and the turn before has the finish call
	// that they decide about.
	Checks bool
	// Calls are in the order of the model's answer.
	Calls []Call
	Usage Usage
	// Failed is what tries of the same request cost that came to nothing.
	Failed Usage
	// ModelDuration is the time from the first try of the request to the answer.
	ModelDuration time.Duration
	// PromptDigest and RequestDigest are "sha256:…" of the system prompt and of the whole request.
	PromptDigest  string
	RequestDigest string
	// Results has one entry per call, nil until the call has a result.
	Results []*toolapi.Result
	// Asks are what a person was asked about its calls. Entries are only added, and get their outcome once.
	Asks []Ask
	// Notes are what the model is told beside the results: see ProgramNote.
	Notes []string
	// Left is what the run had left when all calls had results. The model is told of it.
	Left Left
	// Unknown has an entry for each execution of a call that was started and whose end nobody saw, in the order in which
	// they were found. Entries are only added.
	Unknown []Unknown
}

// Left is what a run has left of its limits. What is 0 is not known, or has no limit.
type Left struct {
	Time   time.Duration
	Tokens int64
}

// Unknown is an execution of a call that was started and whose end nobody saw.
type Unknown struct {
	// Execution is the id under which the sandbox ran it; see ExecutionID.
	Execution string
	// CallID is the ID of the call.
	CallID  string
	FoundAt time.Time
	Policy  UnknownPolicy
}

// UnknownPolicy is who deals with an execution of unknown outcome.
type UnknownPolicy string

const (
	// UnknownRedo: the call only reads, so it is made again.
	UnknownRedo UnknownPolicy = "Redo"
	// UnknownPerson: a person is asked.
	UnknownPerson UnknownPolicy = "Person"
	// UnknownModel: the model is told.
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
	// ID is ours: unique in the run and the same after a restart, "a0-s2-c0" (attempt, step, call).
	ID string
	// ModelID is the id that the model gave to the call; it names the call in the conversation.
	ModelID string
	Tool    string
	// Arguments is what the model wrote, JSON or not.
	Arguments string
}

// Usage is what a model call cost, in tokens.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	// CachedTokens is the part of PromptTokens that the endpoint served from its cache.
	CachedTokens int64
	// Estimated says that the endpoint did not tell all of them.
	Estimated bool
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens, u.CachedTokens + v.CachedTokens, u.Estimated || v.Estimated,
	}
}

// Total is how many tokens it was.
func (u Usage) Total() int64 { return u.PromptTokens + u.CompletionTokens }

// Journal keeps turns. It is the lock of the loop as well as its memory.
type Journal interface {
	// Append records what the model decided, before any of it is done. It fails with ErrStale if the journal
	// already has a turn of that index that somebody else wrote.
	Append(ctx context.Context, t *Turn) error
	// Settle records the results and the unknown executions that the turn has so far. What is recorded already stays, and
	// t is given what it lacks of it. It fails with ErrStale like Append.
	Settle(ctx context.Context, t *Turn) error
}

// ErrStale says that another loop carries this run on, so this one must stop without any further effect.
var ErrStale = errors.New("the run is carried on by another loop")

// Tools runs tool calls in the sandbox.
type Tools interface {
	// Call runs the call, or gives its stored result if it ran before. A tool that fails is a Result; an error
	// is a *Failure (the sandbox is gone) or ErrStale or the context's.
	Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error)
}

// DomainPolicy decides about the requests for domains. Both methods depend on the arguments, the decision and what the
// run is allowed; neither may take long.
type DomainPolicy interface {
	// Check reports whether a request_domain call with these arguments (as the model wrote them) is to be put to a person. A
	// non-nil result answers it without one.
	Check(arguments string) *toolapi.Result
	// Decided gives the result for a person's decision (the word of the API: AllowOnce, AllowRun, Deny), without the reason. It is not nil.
	Decided(arguments, decision string) *toolapi.Result
}

// CallPolicy judges calls before they are made. What it says depends on the call, what the run is allowed, and what is
// recorded of the run and its answers; nothing of it takes long.
type CallPolicy interface {
	// Refuse gives the envelope of a call that the run may not make, nil if it may.
	Refuse(c Call) *toolapi.Result
	// NeedsApproval reports whether a person must approve the call.
	NeedsApproval(c Call) bool
	// Key names the effect of a call that must not happen twice, "" for any other call. See toolapi.Call.
	Key(c Call) string
	// Done gives a result for a call that is not made because of one before it, in this attempt or an earlier one, nil if it is
	// to be made. What the turn has by then that decides about it is recorded.
	Done(c Call) *toolapi.Result
	// Risky reports whether the call may do what cannot be undone, so that it is not made again before somebody has decided.
	Risky(c Call) bool
}

// Searcher carries out searches of the web.
type Searcher interface {
	// Search serves a search_web call. A search that fails is a Result; an error is the context's. It may be called again
	// for the same call.
	Search(ctx context.Context, arguments string) (toolapi.Result, error)
}

// CredentialStore keeps what a task found as credentials.
type CredentialStore interface {
	// Save serves a save_credential call. A tool that fails is a Result; an error is like that of Tools.Call. It may be
	// called again for the same call.
	Save(ctx context.Context, arguments string) (toolapi.Result, error)
}

// Model is a chat model.
type Model interface {
	// Complete asks for the next turn. It tries again what passes within seconds. The error is an *Outage if the model cannot be
	// had now, a *TooLong if the request does not fit into its window, another *Failure, or the context's.
	Complete(ctx context.Context, r Request) (Answer, error)
}

// Request is one request to a model.
type Request struct {
	Messages []Message
	Tools    []ToolDefinition
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

// ToolDefinition is a tool as the model is told of it.
type ToolDefinition struct {
	Name        string
	Description string
	// Parameters is a JSON schema.
	Parameters json.RawMessage
}

// MCPServer is a server of the Model Context Protocol as the model is told of it.
type MCPServer struct {
	Name string
	// Tools are what it offers, under their full names (toolapi.MCPToolName). Description and Parameters are its own words.
	Tools []ToolDefinition
	// Problem says why the server, or a tool of it, cannot be used, "" if all can. A call of a tool that is missing for that
	// reason is not refused: Tools answers it, because it may have been made before the tool was missing.
	Problem string
}

// Outage says that a model cannot be had now. It decides nothing about the attempt: the same request may succeed later.
type Outage struct {
	// Reason is one of the ReasonModel constants, Message one or two plain sentences.
	Reason, Message string
	// MustAct says that the model is not expected back before somebody changes something.
	MustAct bool
	// RetryAfter is how long to wait before it is asked again.
	RetryAfter time.Duration
	// Usage is what tries that came to nothing cost, as far as the endpoint tells.
	Usage Usage
}

func (o *Outage) Error() string { return o.Reason + ": " + o.Message }

// TooLong says that a request and its answer do not fit into the model's window.
type TooLong struct {
	// Window is how many tokens the endpoint says fit, 0 if it does not say.
	Window int64
	// Failure is what this comes to if the request cannot be made shorter.
	Failure *Failure
	// Usage is what the tries cost.
	Usage Usage
}

func (e *TooLong) Error() string { return e.Failure.Error() }
func (e *TooLong) Unwrap() error { return e.Failure }

// Answer is a model's answer.
type Answer struct {
	Model   string
	Content string
	// Calls have no ID yet; the loop gives it.
	Calls []Call
	Usage Usage
	// Failed is what tries of the same request cost that came to nothing, as far as the endpoint tells.
	Failed Usage
	// Truncated says that the model stopped because its output limit was reached.
	Truncated bool
}

// Keep is what of the workspace reaches the person.
type Keep string

const (
	// KeepChanges: what changed in the workspace, beside the artifacts.
	KeepChanges Keep = "Changes"
	// KeepArtifacts: the artifacts.
	KeepArtifacts Keep = "Artifacts"
	// KeepNothing: no file.
	KeepNothing Keep = "Nothing"
)

// Artifacts reports whether files below artifacts/ and those that were saved by name reach the person.
func (k Keep) Artifacts() bool { return k != KeepNothing }

// Changes reports whether what changed in the workspace does.
func (k Keep) Changes() bool { return k == "" || k == KeepChanges }

// Config is what the loop is told about a run's attempt.
type Config struct {
	Attempt int32
	Task    string
	// Tools are the granted tools; finish is always offered, and ask_user but for a Review.
	Tools []string
	// Peer is what the sandbox has, nil if that is not known. What Loop.Peer gives takes its place.
	Peer *toolapi.Peer
	// Approvals says that calls can need a person's approval; Policy says which.
	Approvals bool
	// RequestDomain says that request_domain is offered, also if Tools does not name it.
	RequestDomain bool
	// SettleEach records the result of each call before the next one is made: something is allowed for one call only.
	SettleEach bool
	// Search says that there is somebody who carries out searches: search_web is offered if Tools names it.
	Search bool
	// MCPServers are those whose tools are offered beside Tools. What Loop.MCP gives takes their place.
	MCPServers []MCPServer
	// Domains are what the sandbox may reach, as the model is told. With one, what tools return may come from the web.
	Domains []string
	// Tainted says that what tools return may come from the web also without one.
	Tainted bool
	// Credentials are the names of the credentials that the model is told of.
	Credentials []string
	// TextEnds says that a text without a tool call ends the attempt well, for a model that cannot call a tool at the end.
	TextEnds bool
	// MaxIterations is the most turns of the attempt.
	MaxIterations int32
	// MaxTokens is the most tokens of all model calls of the run together, 0 for no limit. UsedTokens is what those took that are
	// no turns of this attempt.
	MaxTokens, UsedTokens int64
	// Window is how many tokens a request and its answer may have together, 0 if that is not known.
	Window int64
	// Files are the paths that were put into the workspace before the first turn, without those of Skill.
	Files []string
	// Skill is the one that the task is carried out with, nil if there is none.
	Skill *Skill
	// WritesSkills says that the skills which the workspace holds in the end are kept, as proposals.
	WritesSkills bool
	// Keep is what of the workspace reaches the person: KeepChanges (also if empty), KeepArtifacts or KeepNothing.
	Keep Keep
	// Review says that the task is to look at the files of Skill, which nobody has to trust. Nobody can be asked.
	Review bool
	// Deadline is when the run's time is over, zero if it has no end. It moves while the run waits, so it is no part of the system prompt.
	Deadline time.Time
	// TimeLimit is how long the run may take in all, 0 for no limit.
	TimeLimit time.Duration
	// Date is the day on which the attempt began, "2026-03-04", "" if it is not known. It does not change during the attempt.
	Date string
	// RecoveryContext is what the model is told of the attempts before this one, in the system prompt. "" in the first.
	RecoveryContext string
	// Accept is what must hold when the model says that it has succeeded.
	Accept Acceptance
	// OnUnknown is who deals with calls of unknown outcome that do more than read: UnknownPerson (also if empty) or UnknownModel.
	OnUnknown UnknownPolicy
}

// Outcome is how Run ended.
type Outcome struct {
	Kind OutcomeKind
	// Summary is the model's closing text if Kind is Completed.
	Summary string
	// Value is the result as JSON, "" if Acceptance asks for none.
	Value string
	// Waiting is the open ask that the loop waits with if Kind is Awaiting. It is recorded.
	Waiting *Ask
	// Failure is set if Kind is Failed.
	Failure *Failure
	// Partial is what the model had to show when its answers were used up, at most 4096 bytes; Hint a model's guess at
	// the cause of the failure and its cure, one line of at most 1024 bytes. Both may be empty, also because a model could
	// not be asked, and neither is to be believed.
	Partial, Hint string
	// Usage and ModelDuration are what the model calls for Partial and Hint took. No turn has them.
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
	// Message is one or two plain sentences: what happened, where, and what to do.
	Message string
	// Retryable says that another attempt may succeed without anything being changed.
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
	// Incomplete: the model, or a check of what it did, says that the task is not done.
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
	// ReasonModelAddress: the manager does not connect with the address of the endpoint.
	ReasonModelAddress = "ModelAddressRefused"
	// ReasonModelWindow: the conversation does not fit into the model's window, however short it is made.
	ReasonModelWindow = "ModelWindowExceeded"
	// ReasonModelNotFound: the endpoint has no such model, or no chat completions at that address.
	ReasonModelNotFound = "ModelNotFound"
	// ReasonModelRateLimited: the endpoint kept answering "too many requests".
	ReasonModelRateLimited = "ModelRateLimited"
	// ReasonModelUnavailable: the endpoint could not be reached or kept answering with server errors.
	ReasonModelUnavailable = "ModelUnavailable"
	// ReasonModelTimeout: the endpoint kept not answering in time.
	ReasonModelTimeout = "ModelTimeout"
	// ReasonModelMalformed: the endpoint kept answering what is no chat completion.
	ReasonModelMalformed = "ModelMalformedAnswer"
	// ReasonModelRefused: the endpoint refused the request itself (bad request, content filter).
	ReasonModelRefused = "ModelRefusedRequest"
	// ReasonEmptyAnswers: the model gave neither text nor tool calls, several times in a row.
	ReasonEmptyAnswers = "EmptyAnswers"
	// ReasonNotFinished: the model answered without a tool call, several times in a row, and did not call finish.
	ReasonNotFinished = "NotFinished"
	// ReasonPartial: the model says that it did a part of the task.
	ReasonPartial = "Partial"
	// ReasonFailed: the model says that it could not do the task.
	ReasonFailed = "Failed"
	// ReasonAcceptanceFailed: the model called finish again and again, and what must hold did not, or a check was not approved.
	ReasonAcceptanceFailed = "AcceptanceFailed"
	// ReasonRepeatedToolFailure: the calls of several turns in a row could not be carried out.
	ReasonRepeatedToolFailure = "RepeatedToolFailure"
	// ReasonStuck: the attempt made the same call with the same result again and again, or two calls in turn.
	ReasonStuck = "Stuck"
	// ReasonMaxIterations: the attempt used up its turns.
	ReasonMaxIterations = "MaxIterations"
	// ReasonMaxTokens: the attempt used up its tokens.
	ReasonMaxTokens = "MaxTokens"
	// ReasonSandboxLost: the sandbox Pod went away, its tool server cannot be reached any more, or it is of another time than the records
	// of the run.
	ReasonSandboxLost = "SandboxLost"
	// ReasonSandboxOutdated: the sandbox was made by another release, and does not know what the run needs of it.
	ReasonSandboxOutdated = "SandboxOutdated"
	// ReasonIsolationUnverified: the sandbox could reach what it must not.
	ReasonIsolationUnverified = "IsolationUnverified"
	// ReasonEgressUnavailable: the sandbox could not reach the egress proxy.
	ReasonEgressUnavailable = "EgressUnavailable"
	// ReasonInputFile: a file of the spec could not be put into the workspace.
	ReasonInputFile = "InputFile"
	// ReasonSkillFiles: the files of the run's skill are not there any more, are not those that the run was accepted with, or
	// could not be put into the workspace.
	ReasonSkillFiles = "SkillFiles"
	// ReasonInternalError: the manager cannot carry the run on, for no reason that lies in the task: its loop keeps
	// panicking, or the journal lacks a step or does not take one.
	ReasonInternalError = "InternalError"
)
