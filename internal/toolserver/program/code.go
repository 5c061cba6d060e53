// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	codeUsage   = `"language" (javascript or python) and "source", and optionally "timeoutSeconds"`
	codeTimeout = 30 * time.Second
)

// code runs a program. Its result is the program's output and the value of its last expression, separately.
func (p *Runner) code(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.CodeArgs
	if bad := tool.Decode(j.Args, &args, codeUsage); bad != nil {
		return *bad
	}
	timeout, bad := timeoutOf(args.TimeoutSeconds, codeTimeout)
	if bad != nil {
		return *bad
	}
	prog, clear, bad := p.sourceProgram(j, args.Language, args.Source)
	if bad != nil {
		return *bad
	}
	defer clear()
	prog.Timeout = timeout
	return p.run(ctx, j, prog)
}

// sourceProgram makes a program of its source, and a function that cleans up after it.
//
// JavaScript is passed to Node.js (20.19 or newer) on standard input. It is then CommonJS, or an ES module if it uses import, export or
// await at the top level, and both import and require look from its folder. Python runs from a file, because its error messages quote lines
// of files only; PYTHONPATH makes imports look in the workspace.
func (p *Runner) sourceProgram(j tool.Job, language, source string) (prog Program, clear func(), bad *toolapi.Result) {
	refuse := func(r toolapi.Result) (Program, func(), *toolapi.Result) { return Program{}, nil, &r }
	if strings.TrimSpace(source) == "" {
		return refuse(tool.Failure(toolapi.CodeInvalidArguments, "The source is empty. Give the whole program."))
	}
	base := workspace.CodeDir + "/" + j.ID
	inDir := func(local string) string { return filepath.Join(p.Workspace.Dir, local) }
	switch language {
	case toolapi.LanguageJavaScript:
		file, clear, bad := p.scratch(base+".js", source)
		if bad != nil {
			return Program{}, nil, bad
		}
		_, clearToo, bad := p.scratch(base+".cjs", javascriptHarness)
		if bad != nil {
			clear()
			return Program{}, nil, bad
		}
		// The harness takes the program apart with the parser of Node.js itself, which is among its internals.
		args := []string{"--expose-internals", "--require=" + inDir(base+".cjs"), "-"}
		return Program{Name: "node", Args: args, stdin: file, tells: true}, func() { clear(); clearToo() }, nil
	case toolapi.LanguagePython:
		_, clear, bad := p.scratch(base+".py", source)
		return Program{Name: "python3", Args: []string{"-c", pythonHarness, inDir(base + ".py")}, tells: true}, clear, bad
	default:
		return refuse(tool.Failure(toolapi.CodeInvalidArguments, "The language %q is not known. It is javascript or python.",
			plaintext.Bound(language, 64)))
	}
}

// scratch makes a file in the workspace, opened at its beginning, that lasts as long as the call, and a function that removes it.
func (p *Runner) scratch(local, content string) (*os.File, func(), *toolapi.Result) {
	file, err := p.Workspace.Create(local)
	if err != nil {
		bad := p.Workspace.Failure("write the program to", local, err)
		return nil, nil, &bad
	}
	clear := func() {
		_ = file.Close()
		_ = p.Workspace.Root.Remove(local) // It may be gone: the program runs in the same folder.
	}
	if _, err = io.WriteString(file, content); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		clear()
		bad := p.Workspace.Failure("write the program to", local, err)
		return nil, nil, &bad
	}
	return file, clear, nil
}
