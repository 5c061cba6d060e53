// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxListedFiles is how many provided files the prompt names; the model can list the others.
const maxListedFiles = 100

//go:embed prompt.tmpl
var promptText string

var promptTemplate = template.Must(template.New("prompt").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(promptText))

// SystemPrompt tells the model who it is and by which rules it works. It depends on cfg only, and not on the task,
// which is the first user message. File names are quoted: they come from whoever created the run.
func SystemPrompt(cfg Config) string {
	offered := cfg.offered(catalogOf(cfg))
	view := struct {
		Tools         string
		Domains       []string
		Credentials   []string
		Servers       []promptServer
		RequestDomain string
		Files         []string
		MoreFiles     int
		// AskUser is "" if nobody can be asked.
		AskUser       string
		MaxCalls      int
		MaxIterations int32
		// AttemptNumber counts from 1.
		AttemptNumber   int32
		RecoveryContext string
		// Skill is nil if there is none.
		Skill        *promptSkill
		WritesSkills bool
		Review       bool
		// Checked says that Accept demands something.
		Checked bool
		Accept  Acceptance
		// MaxFinishes is how many finish calls that do not hold end the attempt.
		MaxFinishes int
	}{
		Tools:         strings.Join(offered, ", "),
		Domains:       cfg.Domains,
		Credentials:   cfg.Credentials,
		Servers:       promptServers(cfg.MCPServers),
		Files:         cfg.Files[:min(len(cfg.Files), maxListedFiles)],
		MaxCalls:      toolapi.MaxCalls,
		MaxIterations: cfg.MaxIterations,

		AttemptNumber:   cfg.Attempt + 1,
		RecoveryContext: withoutMarks(cfg.RecoveryContext),

		Skill:        cfg.Skill.prompt(),
		WritesSkills: cfg.WritesSkills,
		Review:       cfg.Review,

		Checked:     cfg.Accept.any(),
		Accept:      cfg.Accept.shown(),
		MaxFinishes: maxRefusedFinishes,
	}
	if slices.Contains(offered, toolapi.ToolAskUser) {
		view.AskUser = toolapi.ToolAskUser
	}
	if slices.Contains(offered, toolapi.ToolRequestDomain) {
		view.RequestDomain = toolapi.ToolRequestDomain
	}
	view.MoreFiles = len(cfg.Files) - len(view.Files)
	var b strings.Builder
	if err := promptTemplate.Execute(&b, view); err != nil {
		// A strings.Builder does not fail and the template's fields are those of view, as every test of it shows.
		panic(err)
	}
	return b.String()
}

var mark = regexp.MustCompile(`(?i)<(\s*/?\s*(recovery_context|skill_instructions))`)

// withoutMarks makes a text that cannot end the block it is put into, nor begin another one: parts of it are outputs of
// tools or files, which would go on in the voice of the system prompt.
func withoutMarks(s string) string {
	return strings.TrimSpace(mark.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "&lt;$1"))
}
