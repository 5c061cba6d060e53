// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The fixed part of a run with ten tools is small: it is in every request. A token is about four bytes.
func TestTheFixedPartIsSmall(t *testing.T) {
	t.Parallel()
	const maxPrompt, maxDefinitions = 1000 * chat.BytesPerToken, 1200 * chat.BytesPerToken
	cfg := Config{
		Tools: []string{"bash", "code", "read", "write", "edit", "patch", "glob", "grep"}, MaxIterations: 40, TimeLimit: time.Hour, MaxTokens: 1_000_000,
		Files: []string{"ISSUE.md", "src/app.py"}, Date: "2026-03-04", WritesSkills: true, Task: "Mend the bug that ISSUE.md describes.",
		Peer: toolapi.Hello{Tools: catalog.Builtin().Names(), Environment: sampleEnvironment(), Features: toolapi.Features()}.Peer(),
	}
	defs := cfg.definitions(catalog.Builtin())
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
	prompt := SystemPrompt(cfg)
	t.Logf("%d bytes of text, %d of definitions", len(prompt), size)
	if len(prompt) > maxPrompt || size > maxDefinitions {
		t.Errorf("%d bytes of text, at most %d; %d of definitions, at most %d", len(prompt), maxPrompt, size, maxDefinitions)
	}
}

// A section is in the prompt only if it applies.
func TestSectionsWhereTheyApply(t *testing.T) {
	t.Parallel()
	hello := toolapi.Hello{Tools: catalog.Builtin().Names(), Environment: sampleEnvironment(), Features: toolapi.Features()}
	repository := Config{Tools: []string{"bash"}, Files: []string{"a"}, Peer: hello.Peer()}
	hello.Features = slices.DeleteFunc(slices.Clone(hello.Features), func(f string) bool { return f == "POST "+toolapi.PathRepository })
	const commit, promise = "If git log shows a commit \"The files that were given\"", "are the first commit"
	const skills, web, work = "# Skills", "begin untrusted data", "# How to work"
	for name, tt := range map[string]struct {
		cfg      Config
		has, not []string
	}{
		"plain":                 {Config{Task: "Add the numbers."}, []string{work}, []string{skills, web, "tokens", "approval of"}},
		"a skill is asked for":  {Config{Task: "Write a skill that fetches mail.", WritesSkills: true}, []string{skills}, []string{web}},
		"skills are not kept":   {Config{Task: "Write a skill that fetches mail."}, nil, []string{skills}},
		"a skill is not likely": {Config{Task: "Add the numbers.", WritesSkills: true}, nil, []string{skills}},
		"a way out":             {Config{Domains: []string{"example.org"}}, []string{web}, nil},
		"one may be given":      {Config{RequestDomain: true}, []string{web}, nil},
		"a file from the web":   {Config{Tainted: true}, []string{web}, nil},
		"a search":              {Config{Tools: []string{"search_web"}, Search: true}, []string{web}, nil},
		"a server":              {Config{MCPServers: []catalog.MCPServer{{Name: "files"}}}, []string{web}, nil},
		"a repository":          {repository, []string{commit}, []string{promise}},
		"no files":              {Config{Tools: repository.Tools, Peer: repository.Peer}, nil, []string{commit}},
		"no shell":              {Config{Files: repository.Files, Peer: repository.Peer}, nil, []string{commit}},
		"an older sandbox":      {Config{Tools: repository.Tools, Files: repository.Files, Peer: hello.Peer()}, nil, []string{commit, promise}},
		"limits":                {Config{TimeLimit: time.Hour, MaxTokens: 30_000}, []string{"the run has 60 minutes and 30000 tokens"}, nil},
		"a review":              {Config{Review: true, Skill: &Skill{Name: "mail"}}, []string{"# Review"}, []string{work, "workspace.diff"}},
		"changes are kept":      {Config{}, []string{"workspace.diff"}, nil},
		"artifacts are kept":    {Config{Keep: KeepArtifacts}, []string{"artifacts/ and no others"}, []string{"workspace.diff"}},
		"only bash":             {Config{Tools: []string{"bash"}}, []string{"up to 8 tool calls. They"}, nil},
		"tools that read":       {Config{Tools: []string{"bash", "read", "list"}}, []string{"up to 16 if all of them are calls of read, list."}, nil},
		"approvals":             {Config{Approvals: true}, []string{"need the approval of a person"}, nil},
		"nothing is kept":       {Config{Keep: KeepNothing}, []string{"your summary and no files"}, []string{"workspace.diff", "artifacts/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := SystemPrompt(tt.cfg)
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
	cfg := Config{Task: "x", MaxIterations: 9, MaxTokens: 100, TimeLimit: time.Hour, Date: "2026-03-04"}
	before := SystemPrompt(cfg)
	cfg.Deadline, cfg.UsedTokens = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC), 50
	if after := SystemPrompt(cfg); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}
