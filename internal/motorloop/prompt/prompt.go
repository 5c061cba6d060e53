// SPDX-License-Identifier: Apache-2.0

// Package prompt is the system prompt of an attempt.
package prompt

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxListedFiles is how many provided files the prompt names; the model can list the others.
const maxListedFiles = 100

// System describes the model's role and its rules to it. It is the same in every request of an attempt, so that endpoints read
// it once. Names of files are quoted: they come from the creator of the run.
func System(cfg config.Config) string {
	offered := cfg.Offered(catalog.With(cfg.MCPServers))
	files := cfg.Files[:min(len(cfg.Files), maxListedFiles)]
	v := &view{
		Domains:     cfg.Domains,
		Credentials: cfg.Credentials,
		Servers:     serversOf(cfg.MCPServers),
		Files:       files,
		MoreFiles:   len(cfg.Files) - len(files),
		FirstCommit: firstCommit(cfg, offered),
		Environment: environmentOf(cfg.Peer.Environment()),
		Date:        cfg.Date,

		KeepsArtifacts: cfg.Keep.Artifacts(),
		KeepsChanges:   cfg.Keep.Changes(),

		MaxCalls:      toolapi.MaxCalls,
		MaxReads:      toolapi.MaxReads,
		Reads:         readers(offered),
		MaxIterations: cfg.MaxIterations,
		Limits:        limits(cfg),

		Attempt:         cfg.Attempt,
		RecoveryContext: withoutMarks(cfg.RecoveryContext),

		Skill:        skillOf(cfg.Skill),
		WritesSkills: cfg.WritesSkills && (cfg.Skill != nil || aboutSkills.MatchString(cfg.Task)),
		Review:       cfg.Review,
		Web:          mayHoldWeb(cfg, offered),

		Approvals:   cfg.Approvals && !cfg.Review,
		Checked:     cfg.Accept.Any(),
		Accept:      shownDemands(cfg.Accept),
		MaxFinishes: config.MaxRefusedFinishes,
	}
	if slices.Contains(offered, toolapi.ToolAskUser) {
		v.AskUser = toolapi.ToolAskUser
	}
	if slices.Contains(offered, toolapi.ToolRequestDomain) {
		v.RequestDomain = toolapi.ToolRequestDomain
	}
	return v.text()
}

// firstCommit returns how the model can find out whether the input files are in a repository. It is no promise. The prompt is made while the
// sandbox starts, and must not change later; a secret in a file, a volume that was used before or many files prevent the repository.
func firstCommit(cfg config.Config, offered []string) string {
	if len(cfg.Files) == 0 || !slices.Contains(offered, toolapi.ToolBash) || !hasGit(cfg.Peer.Environment()) ||
		!cfg.Peer.Serves(http.MethodPost, toolapi.PathRepository) {
		return ""
	}
	return toolapi.FirstCommit
}

// view is the data of the prompt.
type view struct {
	Domains       []string
	Credentials   []string
	Servers       []server
	RequestDomain string
	Files         []string
	MoreFiles     int
	// FirstCommit is the message of the commit with the input files if the sandbox could make it, "" if it makes none.
	FirstCommit string
	// Environment is nil if the sandbox has not reported its environment, Date "" if the date is not known.
	Environment *environment
	Date        string
	// KeepsArtifacts and KeepsChanges report which files reach the person.
	KeepsArtifacts, KeepsChanges bool
	// AskUser is "" if there is no person to ask.
	AskUser            string
	MaxCalls, MaxReads int
	// Reads names the tools that only read, "" if none is offered.
	Reads         string
	MaxIterations int32
	// Limits are those of the run in words, "" for none.
	Limits string
	// Attempt counts from 1, as in the status of the run.
	Attempt         int32
	RecoveryContext string
	// Skill is nil if there is none.
	Skill        *skill
	WritesSkills bool
	Review       bool
	// Web is true if results can be marked as data from the web.
	Web bool
	// Approvals is true if calls can need a person's approval.
	Approvals bool
	// Checked is true if Accept has demands.
	Checked bool
	Accept  config.Acceptance
	// MaxFinishes is how many finish calls that do not hold end the attempt.
	MaxFinishes int
}

// aboutSkills matches tasks that are likely to end with a skill.
var aboutSkills = regexp.MustCompile(`(?i)\bskills?\b|SKILL\.md|\blearn\b`)

// readers returns the names of the offered tools that only read.
func readers(offered []string) string {
	var names []string
	for _, name := range offered {
		if catalog.OnlyReads(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// mayHoldWeb reports whether a result of the run can be marked as data from the web.
func mayHoldWeb(cfg config.Config, offered []string) bool {
	return len(cfg.Domains) > 0 || cfg.Tainted || cfg.RequestDomain || len(cfg.MCPServers) > 0 ||
		slices.ContainsFunc(offered, toolapi.AlwaysWeb) || slices.Contains(offered, toolapi.ToolRequestDomain)
}

var mark = regexp.MustCompile(`(?i)<(\s*/?\s*(recovery_context|skill_instructions))`)

// withoutMarks makes a text that cannot end the block that contains it, nor begin another one. Parts of it are outputs of
// tools or files, which would go on in the voice of the system prompt.
func withoutMarks(s string) string {
	return strings.TrimSpace(mark.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "&lt;$1"))
}

// maxProblem is how many bytes of a server's problem the prompt repeats.
const maxProblem = 300

// server is an MCP server in the prompt.
type server struct{ Name, Tools, Problem string }

// serversOf returns the servers in the order of their names.
func serversOf(servers []catalog.MCPServer) []server {
	list := make([]server, 0, len(servers))
	for _, s := range servers {
		var tools []string
		for _, t := range s.Tools {
			tools = append(tools, t.Name)
		}
		slices.Sort(tools)
		problem := strings.Join(strings.Fields(strings.ToValidUTF8(s.Problem, "\uFFFD")), " ")
		list = append(list, server{s.Name, strings.Join(tools, ", "), text.Cut(problem, maxProblem, maxProblem, "…")})
	}
	slices.SortFunc(list, func(a, b server) int { return strings.Compare(a.Name, b.Name) })
	return list
}
