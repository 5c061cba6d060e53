// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The fixed part of a run with ten tools is small: it is in every request. A token is about four bytes.
func TestTheFixedPartIsSmall(t *testing.T) {
	t.Parallel()
	const maxPrompt, maxDefinitions = 1000 * chat.BytesPerToken, 1200 * chat.BytesPerToken
	cfg := config.Config{
		Tools: []string{"bash", "code", "read", "write", "edit", "patch", "glob", "grep"}, MaxIterations: 40, TimeLimit: time.Hour, MaxTokens: 1_000_000,
		Files: []string{"ISSUE.md", "src/app.py"}, Date: "2026-03-04", WritesSkills: true, Task: "Mend the bug that ISSUE.md describes.",
		Peer: toolapi.Hello{Tools: catalog.Builtin().Names(), Environment: sampleEnvironment(), Features: toolapi.Features()}.Peer(),
	}
	defs := cfg.Definitions(catalog.Builtin())
	if len(defs) != 10 {
		t.Fatalf("%d tools", len(defs))
	}
	size := 0
	for _, d := range defs {
		// The form that it has in a request.
		b, err := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": d.Name, "description": d.Description, "parameters": d.Parameters}})
		if err != nil {
			t.Fatal(err)
		}
		size += len(b)
	}
	prompt := System(cfg)
	t.Logf("%d bytes of text, %d of definitions", len(prompt), size)
	if len(prompt) > maxPrompt || size > maxDefinitions {
		t.Errorf("%d bytes of text, at most %d; %d of definitions, at most %d", len(prompt), maxPrompt, size, maxDefinitions)
	}
}

// A section is in the prompt only if it applies.
func TestSectionsWhereTheyApply(t *testing.T) {
	t.Parallel()
	hello := toolapi.Hello{Tools: catalog.Builtin().Names(), Environment: sampleEnvironment(), Features: toolapi.Features()}
	repository := config.Config{Tools: []string{"bash"}, Files: []string{"a"}, Peer: hello.Peer()}
	hello.Features = slices.DeleteFunc(slices.Clone(hello.Features), func(f string) bool { return f == "POST "+toolapi.PathRepository })
	const commit, promise = "If git log shows a commit \"The files that were given\"", "are the first commit"
	const skills, web, work = "# Skills", "begin untrusted data", "# How to work"
	for name, tt := range map[string]struct {
		cfg      config.Config
		has, not []string
	}{
		"plain":                 {config.Config{Task: "Add the numbers."}, []string{work}, []string{skills, web, "tokens", "approval of"}},
		"a skill is asked for":  {config.Config{Task: "Write a skill that fetches mail.", WritesSkills: true}, []string{skills}, []string{web}},
		"skills are not kept":   {config.Config{Task: "Write a skill that fetches mail."}, nil, []string{skills}},
		"a skill is not likely": {config.Config{Task: "Add the numbers.", WritesSkills: true}, nil, []string{skills}},
		"a way out":             {config.Config{Domains: []string{"example.org"}}, []string{web}, nil},
		"one may be given":      {config.Config{RequestDomain: true}, []string{web}, nil},
		"a file from the web":   {config.Config{Tainted: true}, []string{web}, nil},
		"a search":              {config.Config{Tools: []string{"search_web"}, Search: true}, []string{web}, nil},
		"a server":              {config.Config{MCPServers: []catalog.MCPServer{{Name: "files"}}}, []string{web}, nil},
		"a repository":          {repository, []string{commit}, []string{promise}},
		"no files":              {config.Config{Tools: repository.Tools, Peer: repository.Peer}, nil, []string{commit}},
		"no shell":              {config.Config{Files: repository.Files, Peer: repository.Peer}, nil, []string{commit}},
		"an older sandbox":      {config.Config{Tools: repository.Tools, Files: repository.Files, Peer: hello.Peer()}, nil, []string{commit, promise}},
		"limits":                {config.Config{TimeLimit: time.Hour, MaxTokens: 30_000}, []string{"the run has 60 minutes and 30000 tokens"}, nil},
		"a review":              {config.Config{Review: true, Skill: &config.Skill{Name: "mail"}}, []string{"# Review"}, []string{work, "workspace.diff"}},
		"changes are kept":      {config.Config{}, []string{"workspace.diff"}, nil},
		"artifacts are kept":    {config.Config{Keep: config.KeepArtifacts}, []string{"artifacts/ and no others"}, []string{"workspace.diff"}},
		"only bash":             {config.Config{Tools: []string{"bash"}}, []string{"up to 8 tool calls. They"}, nil},
		"tools that read":       {config.Config{Tools: []string{"bash", "read", "list"}}, []string{"up to 16 if all of them are calls of read, list."}, nil},
		"approvals":             {config.Config{Approvals: true}, []string{"need the approval of a person"}, nil},
		"nothing is kept":       {config.Config{Keep: config.KeepNothing}, []string{"your summary and no files"}, []string{"workspace.diff", "artifacts/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := System(tt.cfg)
			for _, s := range tt.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q is missing in\n%s", s, got)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(got, s) {
					t.Errorf("%q is in\n%s", s, got)
				}
			}
		})
	}
}

// The fixed part is the same in every request of an attempt.
func TestTheFixedPartDoesNotChange(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Task: "x", MaxIterations: 9, MaxTokens: 100, TimeLimit: time.Hour, Date: "2026-03-04"}
	before := System(cfg)
	cfg.Deadline, cfg.UsedTokens = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC), 50
	if after := System(cfg); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}
