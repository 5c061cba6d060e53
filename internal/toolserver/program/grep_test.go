// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/traps"
)

// withStandIn is a sandbox in which rg is a program that writes down its arguments, prints the file reply, and ends with
// the status in the file status.
func withStandIn(t *testing.T) *sandbox {
	t.Helper()
	s := stoppedSandbox(t)
	bin := t.TempDir()
	const script = "#!/bin/bash\nprintf '%s\\n' \"$@\" >arguments\ncat reply\nexit $(cat status)\n"
	if err := os.WriteFile(bin+"/rg", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s.path = bin + ":/usr/bin:/bin"
	s.start()
	return s
}

func TestGrepArguments(t *testing.T) {
	s := withStandIn(t)
	s.write("src/a.go", "x")
	s.write("-e", "x")
	s.write("reply", "")
	s.write("status", "0")
	const always = "--no-config --color=never --no-heading --with-filename --sort=path --no-messages "
	const content = always + "--line-number --max-columns=400 --max-columns-preview "
	for name, test := range map[string]struct {
		args toolapi.GrepArgs
		want string
	}{
		"pattern alone":  {toolapi.GrepArgs{Pattern: "a b"}, content + "--context=0 --regexp=a b"},
		"like an option": {toolapi.GrepArgs{Pattern: "--pre=sh", Path: "-e", Glob: "--follow"}, content + "--context=0 --glob=--follow --regexp=--pre=sh -- -e"},
		"everything": {
			toolapi.GrepArgs{Pattern: "x", Path: s.workspace + "/src/", Glob: "*.go", IgnoreCase: true, Literal: true, Context: 20},
			content + "--context=20 --ignore-case --fixed-strings --glob=*.go --regexp=x -- src",
		},
		"the workspace": {toolapi.GrepArgs{Pattern: "x", Path: s.workspace}, content + "--context=0 --regexp=x"},
		"files":         {toolapi.GrepArgs{Pattern: "x", Output: toolapi.GrepFiles}, always + "--files-with-matches --regexp=x"},
		"count":         {toolapi.GrepArgs{Pattern: "x", Output: toolapi.GrepCount, Context: 3}, always + "--count --regexp=x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolGrep, test.args)
			if got := strings.TrimSuffix(strings.ReplaceAll(s.content("arguments"), "\n", " "), " "); !r.OK || got != test.want {
				t.Errorf("%+v\n%s\nwant\n%s", r, got, test.want)
			}
		})
	}
}

func TestGrepResults(t *testing.T) {
	s := withStandIn(t)
	for name, test := range map[string]struct{ reply, status, code, output string }{
		"found":             {"a:1:x\n", "0", "", "a:1:x\n"},
		"escapes":           {"a:1:\x1b[2J\xff\x00\n", "0", "", "a:1:\uFFFD\uFFFD\n"},
		"nothing":           {"", "1", "", "[no matches]\n"},
		"a bad expression":  {"rg: regex parse error:\n    (?:a()\n", "2", toolapi.CodeInvalidArguments, "ripgrep cannot search for this: regex parse error:\n    (?:a()\n"},
		"of ripgrep 13":     {"regex parse error:\n    a(\n", "2", toolapi.CodeInvalidArguments, "ripgrep cannot search for this: regex parse error:\n    a(\n"},
		"a glob, of 13":     {"error parsing glob '[': unclosed\n", "2", toolapi.CodeInvalidArguments, "ripgrep cannot search for this: error parsing glob '[': unclosed\n"},
		"a file was closed": {"a:1:x\n", "2", "", "a:1:x\n[some files could not be read]\n"},
		"only such files":   {"", "2", "", "[no matches]\n[some files could not be read]\n"},
		"something else":    {"odd", "101", "exit_101", "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			s.write("reply", test.reply)
			s.write("status", test.status)
			r := s.run(toolapi.ToolGrep, toolapi.GrepArgs{Pattern: "x"})
			if r.ErrorCode != test.code || r.OK != (test.code == "") || r.Output != test.output {
				t.Errorf("%+v", r)
			}
		})
	}
	s.write("reply", strings.Repeat("a:1:some text\n", 10_000))
	s.write("status", "0")
	r := s.run(toolapi.ToolGrep, toolapi.GrepArgs{Pattern: "x"})
	if !r.OK || len(r.Output) > toolapi.MaxOutputBytes || !strings.Contains(r.Output, r.OutputFile) || s.content(r.OutputFile) != s.content("reply") {
		t.Errorf("%+v", r)
	}
}

func TestGrepIsRefused(t *testing.T) {
	s := withStandIn(t)
	traps.Fill(t, s.workspace)
	for name, test := range map[string]struct {
		args toolapi.GrepArgs
		code string
	}{
		"no pattern":     {toolapi.GrepArgs{}, toolapi.CodeInvalidArguments},
		"NUL":            {toolapi.GrepArgs{Pattern: "a\x00"}, toolapi.CodeInvalidArguments},
		"NUL in glob":    {toolapi.GrepArgs{Pattern: "a", Glob: "\x00"}, toolapi.CodeInvalidArguments},
		"much context":   {toolapi.GrepArgs{Pattern: "a", Context: 21}, toolapi.CodeInvalidArguments},
		"negative":       {toolapi.GrepArgs{Pattern: "a", Context: -1}, toolapi.CodeInvalidArguments},
		"unknown output": {toolapi.GrepArgs{Pattern: "a", Output: "json"}, toolapi.CodeInvalidArguments},
		"nothing there":  {toolapi.GrepArgs{Pattern: "a", Path: "no"}, toolapi.CodeNotFound},
		"outside":        {toolapi.GrepArgs{Pattern: "a", Path: "/proc"}, toolapi.CodeOutsideWorkspace},
		"a link out":     {toolapi.GrepArgs{Pattern: "a", Path: "abs"}, toolapi.CodeOutsideWorkspace},
		"a pipe":         {toolapi.GrepArgs{Pattern: "a", Path: "pipe"}, toolapi.CodeInvalidArguments},
	} {
		t.Run(name, func(t *testing.T) {
			if r := s.run(toolapi.ToolGrep, test.args); r.ErrorCode != test.code {
				t.Errorf("%+v", r)
			}
		})
	}
	if s.content("arguments") != "" {
		t.Error("the program was started")
	}
}

func TestGrepWithoutRipgrep(t *testing.T) {
	s := stoppedSandbox(t)
	s.path = t.TempDir()
	s.start()
	if r := s.run(toolapi.ToolGrep, toolapi.GrepArgs{Pattern: "x"}); r.ErrorCode != toolapi.CodeNotFound || !strings.Contains(r.Output, "not in this sandbox's image") {
		t.Errorf("%+v", r)
	}
}

func TestGrepWithRipgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("this needs ripgrep (rg), which the sandbox image has: the tests in the cluster run it there")
	}
	s := newSandbox(t)
	traps.Fill(t, s.workspace)
	for name, content := range map[string]string{
		"src/a.go": "package a\n\nfunc One() {}\n\nfunc Two() {}\n", "src/b.go": "package b\n\nfunc one() {}\n", "doc.txt": "a (b) [c]\r\nfunc\n",
		".git/x": "func", ".gitignore": "ignored\n", "ignored": "func", "binary": "func\x00func", "latin": "func caf\xe9\n", ".hidden": "func",
		"long": strings.Repeat("x", 10<<20) + "func", "two\nlines": "func", "red\x1b[31m": "func",
	} {
		s.write(name, content)
	}
	for name, test := range map[string]struct {
		args         toolapi.GrepArgs
		code, output string
	}{
		"content":       {toolapi.GrepArgs{Pattern: `func \w+`, Glob: "*.go"}, "", "src/a.go:3:func One() {}\nsrc/a.go:5:func Two() {}\nsrc/b.go:3:func one() {}\n"},
		"context":       {toolapi.GrepArgs{Pattern: "One", Path: "src", Context: 1}, "", "src/a.go-2-\nsrc/a.go:3:func One() {}\nsrc/a.go-4-\n"},
		"one file":      {toolapi.GrepArgs{Pattern: "One", Path: "src/a.go"}, "", "src/a.go:3:func One() {}\n"},
		"ignoring case": {toolapi.GrepArgs{Pattern: "ONE", Path: "src", IgnoreCase: true, Output: toolapi.GrepFiles}, "", "src/a.go\nsrc/b.go\n"},
		"literal":       {toolapi.GrepArgs{Pattern: "(b) [c]", Literal: true}, "", "doc.txt:1:a (b) [c]\r\n"},
		"count":         {toolapi.GrepArgs{Pattern: "func", Glob: "*.go", Output: toolapi.GrepCount}, "", "src/a.go:2\nsrc/b.go:1\n"},
		"nothing":       {toolapi.GrepArgs{Pattern: "nowhere"}, "", "[no matches]\n"},
		"bad":           {toolapi.GrepArgs{Pattern: "a("}, toolapi.CodeInvalidArguments, badGroup(s)},
		"bad glob":      {toolapi.GrepArgs{Pattern: "a", Glob: "["}, toolapi.CodeInvalidArguments, "ripgrep cannot search for this: error parsing glob '[': unclosed character class; missing ']'\n"},
		"a dash":        {toolapi.GrepArgs{Pattern: "--files"}, "", "[no matches]\n"},
		"odd names":     {toolapi.GrepArgs{Pattern: "^func$", Glob: "[rt]*"}, "", "red:1:func\ntwo\nlines:1:func\n"},
		"latin":         {toolapi.GrepArgs{Pattern: "func caf", Path: "latin"}, "", "latin:1:func caf\uFFFD\n"},
		"links":         {toolapi.GrepArgs{Pattern: "secret|inside"}, "", "dir/file:1:inside\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolGrep, test.args)
			if r.ErrorCode != test.code || r.OK != (test.code == "") || r.Output != test.output {
				t.Errorf("%+v\nwant %q", r, test.output)
			}
		})
	}
	r := s.run(toolapi.ToolGrep, toolapi.GrepArgs{Pattern: "func"})
	for _, left := range []string{".git/x", ".hidden", s.workspace} {
		if strings.Contains(r.Output, left) {
			t.Errorf("%s: %s", left, r.Output)
		}
	}
	if r := s.run(toolapi.ToolGrep, toolapi.GrepArgs{Pattern: "func", Path: "long"}); !r.OK || len(r.Output) > 600 {
		t.Errorf("a line of 10 MiB: %d bytes, %s", len(r.Output), r.ErrorCode)
	}
}

// badGroup returns the result of a search for "a(". Ripgrep shows the expression as it was given before version 14, and in a group of its own since.
func badGroup(s *sandbox) string {
	s.t.Helper()
	said, err := s.program(exec.CommandContext(s.t.Context(), "rg", "--version"))
	if err != nil {
		s.t.Fatal(err)
	}
	shown := "(?:a()\n    ^"
	if strings.HasPrefix(string(said), "ripgrep 13.") {
		shown = "a(\n     ^"
	}
	return "ripgrep cannot search for this: regex parse error:\n    " + shown + "\nerror: unclosed group\n"
}
