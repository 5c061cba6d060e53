// SPDX-License-Identifier: Apache-2.0

// Package config is the configuration of an attempt: its task, the tools that it is offered, its limits, and the demands that must hold.
package config

import (
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

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
	// Peer describes the capabilities of the sandbox, nil if they are not known. What the sandbox reports replaces it.
	Peer *toolapi.Peer
	// Approvals is true if calls can need a person's approval; Policy decides which.
	Approvals bool
	// RequestDomain is true if request_domain is offered, also if Tools does not name it.
	RequestDomain bool
	// SettleEach records the result of each call before the next one is made. It is set if a permission is for one call only.
	SettleEach bool
	// Search is true if a searcher is configured: search_web is offered if Tools names it.
	Search bool
	// MCPServers are those whose tools are offered beside Tools. Those of the sandbox replace them once it is ready.
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

// DefaultWindow is the window of an unknown model: a model with a smaller one reports it.
const DefaultWindow = 128_000

// AnyWindow returns how many tokens a request and its answer may have together, also if that is not known.
func (c Config) AnyWindow() int64 {
	if c.Window <= 0 {
		return DefaultWindow
	}
	return c.Window
}
